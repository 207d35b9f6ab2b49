"""The files of a SQuAD run as windows for the model, with notes on them; the runs of an ensemble.

Input: SQuAD files (`data_gen/labelled/squad.py`). Output: windows
(`data_gen/labelled/squad_features.py`).
"""

import dataclasses
import os
import time
from collections.abc import Mapping, Sequence

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError
from bert_tf.tasks.question_answering import options as origins
from bert_tf.tasks.question_answering.options import (
    THRESHOLD,
    SquadOptions,
    SquadSettings,
    choose_settings,
)
from bert_tf.training.examples import Examples
from data_gen.labelled.squad import Question, SquadData, read_squad
from data_gen.labelled.squad_features import ContextTokens, Windows, make_windows
from data_gen.tokenization.tokenizer import Tokenizer
from modeling.checkpoints.load import Checkpoint, open_checkpoint

# In the output directory of an ensemble: whose threshold was tuned.
ENSEMBLE_FILE = "ensemble.json"


@dataclasses.dataclass(frozen=True)
class SquadSplit:
    """Questions and their windows; `is_labelled` where the file has the right answers, so
    predictions can be scored."""

    source: SquadData
    contexts: ContextTokens
    windows: Windows
    examples: Examples
    is_labelled: bool
    notes: tuple[str, ...]
    classes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    truncated = 0

    def __len__(self) -> int:
        return len(self.source.questions)


def read_questions(
    options: SquadOptions, settings: SquadSettings, tokenizer: Tokenizer, held_out: SquadData | None
) -> SquadSplit | None:
    """The questions to answer: of a file, of the training file's part `held_out`, or the single
    one; None for none."""
    if options.asks:
        context = (
            options.context
            if options.context_file is None
            else files.read_text(files.check_readable(options.context_file, "context_file"))
        )
        data = SquadData(
            "--question",
            [context],
            [Question("question", options.question, 0, (), False)],
            has_answers=False,
            has_impossible=False,
        )
        return make_split(data, settings, tokenizer)
    if not (options.predict_file or held_out) or not (
        options.do_predict or options.eval_steps != 0
    ):
        return None
    data = held_out or read_squad(options.predict_file, "predict_file")
    if data.has_impossible and not settings.version_2_with_negative:
        raise UserError(
            f"{data.path}: questions are marked is_impossible: this is SQuAD 2.0, give "
            "--version_2_with_negative"
        )
    return make_split(data.first(options.max_predict_examples), settings, tokenizer)


def window_examples(windows: Windows, training: bool = False) -> Examples:
    """Windows as training (with the answers) and prediction take them."""
    values = (
        {"start_positions": windows.start_positions, "end_positions": windows.end_positions}
        if training
        else {}
    )
    return Examples(
        {"input_ids": windows.input_ids, "segment_ids": windows.segment_ids},
        windows.row_lengths,
        values,
    )


def make_split(
    data: SquadData, settings: SquadSettings, tokenizer: Tokenizer, training: bool = False
) -> SquadSplit:
    """The windows of all questions."""
    began = time.perf_counter()
    contexts, windows = make_windows(data, tokenizer, **settings.lengths(), training=training)
    seconds = time.perf_counter() - began
    if training and not len(windows):
        raise UserError(f"{data.path}: no context has a token, nothing is left to train on")
    size = sum(
        array.nbytes
        for part in (contexts, windows)
        for array in vars(part).values()
        if isinstance(array, np.ndarray)
    )
    notes = [
        f"{data.path}: {len(data.questions):,} questions about {len(data.contexts):,} contexts, {len(windows):,} "
        f"windows of {len(windows.input_ids):,} tokens, made in {seconds:.1f} s, {size / 2**20:.1f} MiB"
    ]
    empty = [question.id for question in data.questions if not question.text.strip()]
    for count, what in (
        (
            windows.num_truncated_questions,
            f"questions were truncated to {settings.max_query_length} tokens",
        ),
        (
            windows.num_unanswerable_questions,
            "questions have an answer that no window holds: they are trained on as "
            "if there were none",
        ),
        (
            windows.num_cut_contexts,
            f"questions are about a context of which --max_windows={settings.max_windows} leaves "
            "the end unread",
        ),
        (windows.num_questions_without_window, "questions are about a context without a token"),
        (len(empty), f"questions are empty ({', '.join(empty[:5])})"),
    ):
        if count:
            notes.append(f"{data.path}: {count:,} of {len(data.questions):,} {what}")
    is_labelled = data.has_answers and (
        settings.version_2_with_negative or any(question.answers for question in data.questions)
    )
    answered = sum(
        bool(question.answers) and not question.is_impossible for question in data.questions
    )
    classes = (
        {"answer": answered, "no answer": len(data.questions) - answered}
        if (is_labelled and settings.version_2_with_negative)
        else {}
    )
    return SquadSplit(
        data,
        contexts,
        windows,
        window_examples(windows, training),
        is_labelled,
        tuple(notes),
        classes,
    )


def open_ensemble(
    directories: Sequence[str],
    given: Mapping[str, object],
    do_lower_case: bool | None,
    output_dir: str = "",
) -> tuple[list[Checkpoint], SquadSettings]:
    """Opens runs whose logits are averaged, and the settings that they share.

    The threshold is the one that is given, else the one that was tuned for these runs in the output
    directory, else the mean of theirs. Raises `UserError` where vocabulary or lengths of a run are
    not those of the first.
    """
    members = [open_checkpoint(directory, do_lower_case=do_lower_case) for directory in directories]
    each = [choose_settings(given, member.task) for member in members]
    first, settings = members[0], each[0]
    for directory, member, own in zip(directories, members, each, strict=True):
        if (
            member.tokenizer.vocabulary.tokens != first.tokenizer.vocabulary.tokens
            or member.tokenizer.do_lower_case != first.tokenizer.do_lower_case
        ):
            raise UserError(
                f"--ensemble: the vocabulary of {directory} is not that of {directories[0]}: only runs with the "
                "same vocabulary and casing can be averaged"
            )
        for name in (*settings.lengths(), "version_2_with_negative"):
            if getattr(own, name) != getattr(settings, name):
                raise UserError(
                    f"--ensemble: {name} is {getattr(own, name)} in {directory} and {getattr(settings, name)} in "
                    f"{directories[0]}: give --{name} for all of them"
                )
        settings.check_model(member.config)
    kept = (
        json_files.read_object(
            os.path.join(output_dir, ENSEMBLE_FILE),
            {"ensemble": list[str], THRESHOLD: float, f"{THRESHOLD}_is": str},
        )
        if output_dir and THRESHOLD not in given
        else {}
    )
    if kept and kept["ensemble"] == fingerprints(members):
        settings = settings.with_threshold(float(kept[THRESHOLD]), kept[f"{THRESHOLD}_is"])
    elif any(
        own.null_score_diff_threshold_is not in (origins.DEFAULT, origins.GIVEN) for own in each
    ):
        settings = settings.with_threshold(
            float(np.mean([own.null_score_diff_threshold for own in each])), origins.MEAN
        )
    return members, settings


def fingerprints(members: Sequence[Checkpoint]) -> list[str]:
    """Those of the weights, whatever the order of the runs."""
    return sorted(member.source.fingerprint() for member in members)
