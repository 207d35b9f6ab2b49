"""Windows of SQuAD files for the model, with notes on them; the members of an ensemble.

Input: SQuAD files (`data_gen/labeled/squad.py`). Output: windows
(`data_gen/labeled/squad_features.py`).
"""

import dataclasses
import os
import time
from collections.abc import Mapping, Sequence

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError
from bert_tf.evaluation.squad_scores import has_unspaced_answer
from bert_tf.tasks.question_answering.options import (
    DEFAULT,
    GIVEN,
    MEAN,
    THRESHOLD,
    SquadConfig,
    SquadOptions,
    merge_settings,
)
from bert_tf.training.examples import Examples
from data_gen.labeled.squad import Question, SquadData, read_squad
from data_gen.labeled.squad_features import ContextTokens, Windows, make_windows
from data_gen.tokenization.tokenizer import Tokenizer
from modeling.checkpoints.load import Checkpoint, open_checkpoint

# File in the output directory of an ensemble that keeps the threshold tuned for its members.
ENSEMBLE_FILE = "ensemble.json"


@dataclasses.dataclass(frozen=True)
class SquadSplit:
    """Questions and their windows.

    Attributes:
      is_labeled: whether the file has the right answers, so that predictions can be scored.
      notes: remarks on the file for the user.
      classes: number of questions with and without an answer, for version 2.0.
    """

    source: SquadData
    contexts: ContextTokens
    windows: Windows
    examples: Examples
    is_labeled: bool
    notes: tuple[str, ...]
    classes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    truncated = 0

    def __len__(self) -> int:
        return len(self.source.questions)


def read_questions(
    options: SquadOptions, settings: SquadConfig, tokenizer: Tokenizer, held_out: SquadData | None
) -> SquadSplit | None:
    """Reads the questions to answer, if there are any.

    They are --question alone, the held-out part of the training file, or all in --predict_file.
    """
    if options.is_interactive:
        return make_split(_single_question(options), settings, tokenizer)
    # Questions are read for the evaluations while training, too.
    evaluates = options.do_predict or options.eval_steps != 0
    if not evaluates or not (options.predict_file or held_out):
        return None
    data = held_out if held_out else read_squad(options.predict_file, "predict_file")
    if data.has_impossible and not settings.version_2_with_negative:
        raise UserError(
            f"{data.path}: questions are marked is_impossible: this is SQuAD 2.0, give "
            "--version_2_with_negative"
        )
    return make_split(data.first(options.max_predict_examples), settings, tokenizer)


def _single_question(options: SquadOptions) -> SquadData:
    """Returns --question with its context as a file of one question."""
    # A question and its context have no answer to compare with, and no id.
    if options.context_file is None:
        context = options.context
    else:
        context = files.read_text(files.check_readable(options.context_file, "context_file"))
    question = Question("question", options.question, 0, (), False)
    return SquadData("--question", [context], [question], has_answers=False, has_impossible=False)


def window_examples(windows: Windows, training: bool = False) -> Examples:
    """Returns windows as examples, for training with the positions of the answers."""
    # Windows of predictions have no answer positions: the labels of evaluation are texts.
    values = {}
    if training:
        values["start_positions"] = windows.start_positions
        values["end_positions"] = windows.end_positions
    tokens = {"input_ids": windows.input_ids, "segment_ids": windows.segment_ids}
    return Examples(tokens, windows.row_lengths, values)


def make_split(
    data: SquadData, settings: SquadConfig, tokenizer: Tokenizer, training: bool = False
) -> SquadSplit:
    """Cuts the contexts of all questions into windows."""
    start_time = time.perf_counter()
    # The slowest part of reading: the note tells the user how long it took.
    contexts, windows = make_windows(data, tokenizer, **settings.lengths(), training=training)
    seconds = time.perf_counter() - start_time
    if training and not len(windows):
        raise UserError(f"{data.path}: no context has a token, nothing is left to train on")
    # An impossible question may have plausible answers, which do not count.
    num_answered = 0
    has_any_answer = False
    for question in data.questions:
        if question.answers:
            has_any_answer = True
            if not question.is_impossible:
                num_answered += 1
    # Version 2.0 may have a file of unanswerable questions only; in version 1.1 a file without any
    # answer can't be scored.
    is_labeled = data.has_answers and (settings.version_2_with_negative or has_any_answer)
    if is_labeled and settings.version_2_with_negative:
        classes = {"answer": num_answered, "no answer": len(data.questions) - num_answered}
    else:
        classes = {}
    return SquadSplit(
        data,
        contexts,
        windows,
        window_examples(windows, training),
        is_labeled,
        tuple(_notes(data, windows, settings, seconds)),
        classes,
    )


def _notes(data: SquadData, windows: Windows, settings: SquadConfig, seconds: float) -> list[str]:
    """Returns remarks on a file: its size, and the questions that the model sees only in part."""
    notes = [
        f"{data.path}: {len(data.questions):,} questions about {len(data.contexts):,} contexts, "
        f"{len(windows):,} windows of {len(windows.input_ids):,} tokens, made in {seconds:.1f} s"
    ]
    num_unspaced = sum(has_unspaced_answer(question) for question in data.questions)
    if num_unspaced:
        notes.append(
            f"{data.path}: {num_unspaced:,} of {len(data.questions):,} questions have answers in a "
            "script without blanks, each of which the official F1 takes for one word: "
            "character_f1 is their F1 by characters"
        )
    # An empty question trains and predicts without complaint, so that the ids help to find it.
    empty = [question.id for question in data.questions if not question.text.strip()]
    problems = [
        (
            windows.num_truncated_questions,
            f"questions were truncated to {settings.max_query_length} tokens",
        ),
        (
            windows.num_unanswerable_questions,
            "questions have an answer that no window holds: they are trained on as if there were "
            "none",
        ),
        (
            windows.num_cut_contexts,
            f"questions are about a context of which --max_windows={settings.max_windows} leaves "
            "the end unread",
        ),
        (windows.num_questions_without_window, "questions are about a context without a token"),
        (len(empty), f"questions are empty ({', '.join(empty[:5])})"),
    ]
    for count, problem in problems:
        if count:
            notes.append(f"{data.path}: {count:,} of {len(data.questions):,} {problem}")
    return notes


def open_ensemble(
    directories: Sequence[str],
    options: Mapping[str, object],
    do_lower_case: bool | None,
    output_dir: str = "",
) -> tuple[list[Checkpoint], SquadConfig]:
    """Opens the runs of an ensemble, whose logits are averaged.

    The threshold is the one in the options, else the one that was tuned for these runs in the
    output directory, else the mean of theirs.

    Args:
      directories: of the runs.
      options: settings on the command line, by name.

    Returns:
      the checkpoints of the runs and the settings that they share.

    Raises:
      UserError: vocabulary or lengths of a run differ from the first.
    """
    members = []
    all_settings = []
    for directory in directories:
        member = open_checkpoint(directory, do_lower_case=do_lower_case)
        members.append(member)
        all_settings.append(merge_settings(options, member.task))
    # Logits can be averaged only if the windows of all runs are the same.
    settings = all_settings[0]
    for directory, member, member_settings in zip(directories, members, all_settings, strict=True):
        _check_tokenizer(directory, member, directories[0], members[0])
        for name in (*settings.lengths(), "version_2_with_negative"):
            value = getattr(member_settings, name)
            expected = getattr(settings, name)
            if value != expected:
                raise UserError(
                    f"--ensemble: {name} is {value} in {directory} and {expected} in "
                    f"{directories[0]}: give --{name} for all of them"
                )
        settings.check_model(member.config)
    if THRESHOLD in options:
        return members, settings
    if output_dir:
        record = json_files.read_object(
            os.path.join(output_dir, ENSEMBLE_FILE),
            {"ensemble": list[str], THRESHOLD: float, f"{THRESHOLD}_is": str},
        )
        # The record is ignored if it is from an ensemble of other weights.
        if record and record["ensemble"] == fingerprints(members):
            # JSON may hold the threshold as an integer.
            threshold = float(record[THRESHOLD])
            return members, settings.with_threshold(threshold, record[f"{THRESHOLD}_is"])
    # If no run tuned a threshold, the mean would only repeat the default.
    origins = {member.null_score_diff_threshold_is for member in all_settings}
    if not origins <= {DEFAULT, GIVEN}:
        thresholds = [member.null_score_diff_threshold for member in all_settings]
        settings = settings.with_threshold(float(np.mean(thresholds)), MEAN)
    return members, settings


def _check_tokenizer(
    directory: str, member: Checkpoint, first_directory: str, first: Checkpoint
) -> None:
    """Raises `UserError` if a member tokenizes in another way than the first."""
    same_casing = member.tokenizer.do_lower_case == first.tokenizer.do_lower_case
    if not same_casing or member.tokenizer.vocabulary.tokens != first.tokenizer.vocabulary.tokens:
        raise UserError(
            f"--ensemble: the vocabulary of {directory} is not that of {first_directory}: only "
            "runs with the same vocabulary and casing can be averaged"
        )


def fingerprints(members: Sequence[Checkpoint]) -> list[str]:
    """Returns the fingerprints of the weights, sorted: the order of the runs is irrelevant."""
    return sorted(member.source.fingerprint() for member in members)
