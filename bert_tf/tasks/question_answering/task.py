"""Question answering, SQuAD v1.1 and v2.0 (sections 4.2 and 4.3 of the paper).

Input: windows (`bert_tf/tasks/question_answering/data.py`). Output: a run directory, by way of
`bert_tf/runs/run.py`, with scores and answers in the order of the questions, all in ASCII. The
original writes the first three files:

    predictions.json        id → text
    nbest_predictions.json  id → [{"text", "probability", "start_logit", "end_logit"}, ...]
    null_odds.json          id → score of "no answer" - score of the best span; version 2.0 only
    answers.jsonl           one question per line: {"id", "text", "start", "end", "probability"},
                            in version 2.0 also "null_odds"; text is context[start:end], or start
                            and end are null. Where right answers are known, also "question",
                            "right", "answerable", "exact", "f1", "span_exact" and "span_f1"
"""

import dataclasses
import json
import os
import types
from collections.abc import Iterable, Mapping, Sequence

import keras
import numpy as np

from bert_common import files, json_files
from bert_common.progress import Progress
from bert_tf.evaluation.squad_answers import (
    Candidate,
    QuestionAnswers,
    best_spans,
    collect_null_odds,
    find_answers,
)
from bert_tf.evaluation.squad_scores import (
    score,
    score_by_characters,
    score_each,
    score_officially,
    tune_threshold,
)
from bert_tf.runs import run as driver
from bert_tf.runs.evaluation import (
    Evaluation,
    constant_predictions,
    constant_predictions_warning,
    write_eval_results,
)
from bert_tf.runs.fine_tuning import InMemoryTask
from bert_tf.runs.options import TEACHERS
from bert_tf.runs.record import NoRecord, RunRecord
from bert_tf.runs.task import Run
from bert_tf.runs.trainer import Trainer
from bert_tf.tasks.question_answering.data import (
    ENSEMBLE_FILE,
    SquadSplit,
    fingerprints,
    make_split,
    open_ensemble,
    read_questions,
)
from bert_tf.tasks.question_answering.options import (
    DEFAULT,
    GIVEN,
    MEAN,
    THRESHOLD,
    TUNED_ON,
    SquadConfig,
    SquadOptions,
    merge_settings,
)
from bert_tf.training.examples import Datasets
from data_gen.labeled.squad import SquadData, check_training, read_squad
from modeling.checkpoints.companion_files import BEST_DIRECTORY, TASK_FILE, read_task_file
from modeling.checkpoints.load import Checkpoint, LoadReport, step_of
from modeling.fine_tuning import SPAN_LOSS, BertForQuestionAnswering
from modeling.losses import HeadLoss

OUTPUTS = ("start_logits", "end_logits")
# Answers that are printed for a single question if --n_best_size is not given.
_DEFAULT_NUM_ANSWERS = 5


@dataclasses.dataclass(frozen=True)
class SquadPredictions:
    """The answers to all questions of a file, chosen by the threshold of `settings`.

    Attributes:
      metrics: None if the true answers are unknown.
    """

    split: SquadSplit
    results: list[QuestionAnswers]
    settings: SquadConfig
    metrics: dict[str, float] | None

    @property
    def answers(self) -> dict[str, Candidate]:
        """id → the chosen answer."""
        threshold = self.settings.null_score_diff_threshold
        return {result.id: result.choose(threshold) for result in self.results}

    def evaluation(self, step: int) -> Evaluation:
        """Returns the evaluation of weights after `step` updates."""
        return Evaluation(
            step,
            {} if self.metrics is None else self.metrics,
            details=self,
            description=self.settings.to_task(),
            warning=constant_predictions_warning([self._constant_predictions()]),
        )

    def _constant_predictions(self) -> str | None:
        # A model that does not look at the questions begins all answers at the same character.
        positions = []
        for answer in self.answers.values():
            if answer.start is None:
                positions.append("no answer")
            else:
                positions.append(f"what begins at character {answer.start}")
        starts = None
        if self.split.is_labeled:
            starts = []
            for question in self.split.source.questions:
                starts.append(question.answers[0].start if question.answers else None)
        name = os.path.basename(self.split.source.path)
        return constant_predictions(name, positions, starts, "questions")


class SquadTask(InMemoryTask):
    """Questions, contexts and the settings of windows and answers.

    With --ensemble several runs answer together (the paper's section 4.2).

    Args:
      checkpoint, settings, prediction_split: of an ensemble's member.

    Attributes:
      settings: of windows and answers, at the begin of the run.
      prediction_split: the questions to answer; None if there are none.
      members: the runs of an ensemble, of which the driver loads the first; else none.
    """

    options: SquadOptions
    token_outputs = OUTPUTS

    def __init__(
        self,
        options: SquadOptions,
        checkpoint: Checkpoint | None = None,
        settings: SquadConfig | None = None,
        prediction_split: SquadSplit | None = None,
    ):
        self.settings = settings
        self.prediction_split = prediction_split
        self.members: list[Checkpoint] = []
        if options.ensemble:
            self.members, self.settings = open_ensemble(
                options.ensemble, options.chosen_settings, options.do_lower_case, options.output_dir
            )
            # The others are loaded one after the other when they predict.
            checkpoint = self.members[0]
        super().__init__(options, self._read, checkpoint)
        if self.members:
            # An ensemble has no step of its own.
            self.start_step = max(step_of(member.source) for member in self.members)
        self.teachers = None
        if options.teacher_checkpoint and options.do_train:
            self.teachers = TEACHERS.load("step")(
                options.teacher_checkpoint,
                "question_answering",
                lambda config, dtype: BertForQuestionAnswering(config, dtype=dtype),
                self.config,
                self.settings.max_seq_length,
            )
            self.teachers.check_vocabulary(self.checkpoint.tokenizer.vocabulary, self.do_lower_case)
        if options.original_batches and options.do_train:
            # The original computes the number of steps from questions, not from windows.
            self.num_train_examples = len(self.data.train)
        # Needed also if nothing is scored; no weights are chosen then.
        if not self.main_metric:
            self.main_metric = self.data.metrics[0]

    def _read(self, options: SquadOptions, checkpoint: Checkpoint) -> Datasets:
        """Settles the settings, and reads questions and contexts."""
        notes = self._settle_settings(options, checkpoint)
        if options.do_train or options.dev_fraction:
            parts = options.divided(read_squad(options.train_file, "train_file"))
        else:
            parts = {}
        train = None
        if options.do_train:
            train = self._make_training_split(options, checkpoint, parts["train"])
            notes += train.notes
        if self.prediction_split is None:
            self.prediction_split = read_questions(
                options, self.settings, checkpoint.tokenizer, parts.get("dev")
            )
        split = self.prediction_split
        dev = {}
        if split is not None:
            notes += split.notes
            if split.is_labeled:
                dev["predict"] = split
            elif options.do_train:
                notes.append(
                    f"{split.source.path} does not contain the right answers of every question: no "
                    "evaluation while training, the last weights are kept"
                )
        if self.settings.version_2_with_negative:
            metrics = ("best_f1", "best_exact", "f1", "exact")
        else:
            metrics = ("f1", "exact")
        # The answer to a single question comes without notes.
        return Datasets(
            train,
            dev,
            {},
            self.settings.to_task(),
            [] if options.is_interactive else notes,
            metrics=metrics,
        )

    def _settle_settings(self, options: SquadOptions, checkpoint: Checkpoint) -> list[str]:
        """Sets `settings` from flags and checkpoint; returns a note on what had to be adapted."""
        notes = []
        flags = options.chosen_settings
        if self.settings is None:
            # Predictions use the settings that the model was trained with, unless a flag says
            # otherwise.
            task = None if options.do_train else checkpoint.task
            wished = merge_settings(flags, task)
            num_positions = self.config.max_position_embeddings
            self.settings = wished.limit_lengths(num_positions, flags)
            if self.settings != wished:
                changed = []
                for name, value in self.settings.lengths().items():
                    if value != getattr(wished, name):
                        changed.append(f"--{name}={value}")
                notes.append(f"the model has {num_positions} positions: {', '.join(changed)}")
        if options.do_train and self.is_own_checkpoint:
            # When resuming, keep a threshold that was tuned. One that was given on the earlier
            # command line is not kept.
            stored = merge_settings(flags, checkpoint.task)
            origin = stored.null_score_diff_threshold_is
            if origin.startswith(TUNED_ON):
                self.settings = self.settings.with_threshold(
                    stored.null_score_diff_threshold, origin
                )
        self.settings.check_model(self.config)
        return notes

    def _make_training_split(
        self, options: SquadOptions, checkpoint: Checkpoint, data: SquadData
    ) -> SquadSplit:
        # A question whose answer is not in its context would train wrong positions.
        checked = check_training(
            data,
            version_2_with_negative=self.settings.version_2_with_negative,
            skip_bad_answers=options.skip_bad_answers,
        )
        questions = checked.first(options.max_train_examples)
        split = make_split(questions, self.settings, checkpoint.tokenizer, training=True)
        return dataclasses.replace(split, notes=(*checked.notes, *split.notes))

    def describe_data(self) -> list[str]:
        return [] if self.options.is_interactive else super().describe_data()

    def describe_start(self, report: LoadReport) -> list[str]:
        return [] if self.options.is_interactive else super().describe_start(report)

    def make_model(self, dtype: str) -> BertForQuestionAnswering:
        if self.teachers is not None:
            self.teachers.load(dtype)
        return BertForQuestionAnswering(self.config, seed=self.options.seed, dtype=dtype)

    def loss(self, model: BertForQuestionAnswering) -> HeadLoss:
        if self.teachers is None:
            return SPAN_LOSS
        return self.teachers.distilled(SPAN_LOSS, self.options)

    def outputs(self, model: BertForQuestionAnswering, features: dict) -> dict:
        start_logits, end_logits = model(features)
        return {"start_logits": start_logits, "end_logits": end_logits}

    def evaluate(self, trainer: Run) -> Evaluation:
        # The same pass serves both; without true answers there is nothing to evaluate.
        title = "evaluating" if self.can_evaluate else "predicting"
        return self._answer(trainer, title).evaluation(trainer.weights.step)

    def predict(self, trainer: Run) -> None:
        """Writes the answers and, if the right ones are known, their scores.

        The answers to --question are only printed. No scores are returned, as the evaluation has
        the same.
        """
        options = self.options
        if options.is_interactive:
            trainer.log(self._describe_answers(self._answer(trainer, title="reading")))
            return
        # An evaluation of these weights has all answers; if there has been none, it is made here.
        evaluation = trainer.current_evaluation()
        predictions = evaluation.details
        settings = predictions.settings
        if options.verbose_logging:
            for line in _describe_choices(predictions):
                trainer.log(line)
        # All processes of a cluster compute; the chief writes.
        if not trainer.devices.is_chief:
            return
        self._keep_threshold(trainer, settings)
        directory = options.output_dir
        split = predictions.split
        if split.is_labeled:
            judgements: Mapping[str, dict] = _judge(predictions)
        else:
            judgements = {}
        threshold = settings.null_score_diff_threshold
        write_predictions(directory, predictions.results, threshold, judgements)
        trainer.log(
            f"predicted {len(split):,} questions in {len(split.windows):,} windows of "
            f"{split.source.path}: {os.path.join(directory, 'predictions.json')}"
        )
        if settings.version_2_with_negative:
            trainer.log(settings.describe_threshold())
        if evaluation.metrics:
            trainer.log(write_eval_results(directory, evaluation, len(predictions.results)))
            count = len(predictions.results)
            unscored = count - int(evaluation.metrics["total"])
            if unscored:
                trainer.log(f"{unscored:,} of {count:,} questions have no right answer: not scored")
        else:
            trainer.log(
                f"{split.source.path} does not contain the right answers of every question: not "
                "scored"
            )

    def _describe_answers(self, predictions: SquadPredictions) -> str:
        """Returns the best answers to a single question: rank, probability, text, characters."""
        result = predictions.results[0]
        if "n_best_size" in self.options.given:
            count = self.options.n_best_size
        else:
            count = _DEFAULT_NUM_ANSWERS
        lines = []
        for rank, candidate in enumerate(result.nbest[:count], 1):
            lines.append(f"{rank:>3}  {candidate.probability:.4f}  {_describe(candidate)}")
        if result.null_odds is not None:
            answer = predictions.answers[result.id]
            text = "(no answer)" if answer.start is None else answer.text
            lines.append(
                f"answer: {text}; null odds {result.null_odds:.4f}, "
                f"{predictions.settings.describe_threshold()}"
            )
        return "\n".join(lines)

    def _keep_threshold(self, trainer: Run, settings: SquadConfig) -> None:
        """Writes a threshold that was tuned, for later predictions into this directory.

        It goes into task.json, beside the last and the best weights, or for an ensemble into a file
        of its own; never into another run's directory.
        """
        if settings == merge_settings({}, trainer.weights.description):
            return
        directory = self.options.output_dir
        if self.members:
            record = {"ensemble": fingerprints(self.members), **settings.to_task()}
            json_files.write(os.path.join(directory, ENSEMBLE_FILE), record)
            return
        threshold = {}
        for name, value in settings.to_task().items():
            if name.startswith(THRESHOLD):
                threshold[name] = value
        for folder in (directory, os.path.join(directory, BEST_DIRECTORY)):
            path = os.path.join(folder, TASK_FILE)
            if files.exists(path):
                json_files.write(path, {**read_task_file(path), **threshold})

    def _answer(self, trainer: Run, title: str) -> SquadPredictions:
        """Finds and scores the answers to all questions.

        Args:
          title: of the progress bar.
        """
        settings = merge_settings({}, trainer.weights.description)
        split = self.prediction_split
        start_logits, end_logits = self._logits(trainer, title)
        results = find_answers(
            split.source, split.contexts, split.windows, start_logits, end_logits, settings
        )
        if not split.is_labeled:
            return SquadPredictions(split, results, settings, None)
        if settings.version_2_with_negative and self._tunes_threshold(settings):
            threshold = tune_threshold(
                split.source, best_spans(results), collect_null_odds(results)
            )
            origin = TUNED_ON + os.path.basename(split.source.path)
            settings = settings.with_threshold(threshold, origin)
        predictions = SquadPredictions(split, results, settings, None)
        return dataclasses.replace(predictions, metrics=self._score(predictions))

    def _tunes_threshold(self, settings: SquadConfig) -> bool:
        """Whether to choose the threshold with the best F1 (section 4.3 of the paper).

        A threshold that was tuned before is used on other files as it is: tuning on the file that
        is scored would flatter the model.
        """
        origin = settings.null_score_diff_threshold_is
        return origin in (DEFAULT, MEAN) or (self.options.do_train and origin != GIVEN)

    def _score(self, predictions: SquadPredictions) -> dict[str, float]:
        # The official script is slower; both give the same numbers.
        scorer = score_officially if self.options.official_scores else score
        source = predictions.split.source
        version_2 = predictions.settings.version_2_with_negative
        texts = {id: answer.text for id, answer in predictions.answers.items()}
        metrics = scorer(source, texts, None, version_2)
        if version_2:
            # The best threshold can only be found if every question has a span that a threshold can
            # turn into "no answer".
            spans = best_spans(predictions.results)
            null_odds = collect_null_odds(predictions.results)
            for name, value in scorer(source, spans, null_odds, version_2).items():
                if name.startswith("best_"):
                    metrics[name] = value
        # The official rules have no such score: it stands beside theirs.
        metrics.update(score_by_characters(source, texts))
        return metrics

    def _logits(self, trainer: Run, title: str) -> tuple[np.ndarray, np.ndarray]:
        """Returns the logits of starts and ends, float32 [T] each, of all windows in a row.

        For an ensemble they are the means.
        """
        split = self.prediction_split
        if not len(split.windows):
            return np.zeros(0, np.float32), np.zeros(0, np.float32)
        if not self.members:
            outputs = self._predict_windows(trainer, title)
            return outputs["start_logits"], outputs["end_logits"]
        # One model is in memory at a time, beside the first.
        count = len(self.members)
        all_outputs = [self._predict_windows(trainer, f"{title}, run 1 of {count}")]
        for index in range(1, count):
            all_outputs.append(
                self._predict_as_member(trainer, index, f"{title}, run {index + 1} of {count}")
            )
        means = []
        for name in OUTPUTS:
            # Added one by one: stacking an ensemble's logits would double the memory.
            total = np.zeros(all_outputs[0][name].shape, np.float64)
            for outputs in all_outputs:
                total += outputs[name]
            means.append((total / count).astype(np.float32))
        return means[0], means[1]

    def _predict_windows(self, trainer: Run, title: str) -> dict[str, np.ndarray]:
        split = self.prediction_split
        with Progress(title, len(split.windows), "windows") as progress:
            return trainer.predict(split.examples, progress.advance)

    def _predict_as_member(self, trainer: Run, index: int, title: str) -> dict[str, np.ndarray]:
        """Returns the outputs of an ensemble's member, whose model is dropped afterwards."""
        member_task = SquadTask(
            self.options.replace(output_dir="", ensemble=()),
            self.members[index],
            self.settings,
            self.prediction_split,
        )
        record = NoRecord(member_task.options)
        member = Trainer(member_task, trainer.devices, trainer.log, record)
        member.stop = trainer.stop
        outputs = self._predict_windows(member, title)
        # Its memory must be free before the next one is made.
        del member
        keras.backend.clear_session()
        return outputs


def write_predictions(
    directory: str,
    results: Sequence[QuestionAnswers],
    null_score_diff_threshold: float = 0.0,
    judgements: Mapping[str, dict] = types.MappingProxyType({}),
) -> None:
    """Writes the four files of answers (three in version 1.1).

    A question has no answer if its null odds are above the threshold.

    Args:
      judgements: id → further fields of a line of answers.jsonl, from `_judge`.
    """
    answers = [result.choose(null_score_diff_threshold) for result in results]
    texts = {}
    nbest = {}
    for result, answer in zip(results, answers, strict=True):
        texts[result.id] = answer.text
        nbest[result.id] = [_nbest_entry(candidate) for candidate in result.nbest]
    _write_object(os.path.join(directory, "predictions.json"), texts.items())
    _write_object(os.path.join(directory, "nbest_predictions.json"), nbest.items())
    null_odds = collect_null_odds(results)
    if null_odds is not None:
        _write_object(os.path.join(directory, "null_odds.json"), null_odds.items())
    with files.atomic_write(os.path.join(directory, "answers.jsonl")) as file:
        for result, answer in zip(results, answers, strict=True):
            record = {
                "id": result.id,
                "text": answer.text,
                "start": answer.start,
                "end": answer.end,
                "probability": answer.probability,
            }
            if null_odds is not None:
                record["null_odds"] = result.null_odds
            record.update(judgements.get(result.id, {}))
            file.write(json.dumps(record) + "\n")


def _judge(predictions: SquadPredictions) -> dict[str, dict]:
    """Returns id → question, right answer and scores, of the questions that can be scored.

    The scores "span_exact" and "span_f1" are those of the best answer that is not "no answer".
    """
    version_2 = predictions.settings.version_2_with_negative
    questions = []
    for question in predictions.split.source.questions:
        if question.answers or version_2:
            questions.append(question)
    texts = {id: answer.text for id, answer in predictions.answers.items()}
    scores = score_each(questions, texts, version_2)
    span_scores = score_each(questions, best_spans(predictions.results), version_2)
    judgements = {}
    for question in questions:
        right = question.answers[0].text if question.answers else ""
        judgements[question.id] = {
            "question": question.text,
            "right": right,
            "answerable": bool(question.answers),
            "exact": scores[question.id].exact,
            "f1": scores[question.id].f1,
            "span_exact": span_scores[question.id].exact,
            "span_f1": span_scores[question.id].f1,
        }
    return judgements


def _nbest_entry(candidate: Candidate) -> dict:
    return {
        "text": candidate.text,
        "probability": candidate.probability,
        "start_logit": candidate.start_logit,
        "end_logit": candidate.end_logit,
    }


def _describe_choices(predictions: SquadPredictions) -> Iterable[str]:
    """Yields a line for each question: the answer, and the best alternative to it."""
    answers = predictions.answers
    threshold = predictions.settings.null_score_diff_threshold
    for result in predictions.results:
        answer = answers[result.id]
        line = f"{result.id}: {_describe(answer)}, probability {answer.probability:.4f}"
        if result.null_odds is not None:
            line += f"; null odds {result.null_odds:.4f}, threshold {threshold:.4f}"
        alternative = next((candidate for candidate in result.nbest if candidate != answer), None)
        if alternative is not None:
            line += f"; else {_describe(alternative)}, probability {alternative.probability:.4f}"
        yield line


def _describe(candidate: Candidate) -> str:
    if candidate.start is None:
        return "(no answer)"
    return f"{candidate.text!r} (characters {candidate.start} to {candidate.end})"


def _write_object(path: str, items: Iterable[tuple[str, object]]) -> None:
    """Writes a JSON object with one entry per line, in which `grep` finds a question."""
    with files.atomic_write(path) as file:
        # Written entry by entry: json.dump with an indent takes many lines for each list.
        separator = "{\n"
        for key, value in items:
            file.write(f"{separator}  {json.dumps(key)}: {json.dumps(value)}")
            separator = ",\n"
        file.write("\n}\n")


def run(options: SquadOptions) -> int:
    """Carries out the command `run_squad.py`; the answer to a single question leaves no files."""
    return driver.run(SquadTask, options, NoRecord if options.is_interactive else RunRecord)
