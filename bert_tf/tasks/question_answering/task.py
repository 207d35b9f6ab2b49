"""Answers to questions as parts of texts: SQuAD v1.1 and v2.0 (sections 4.2 and 4.3 of the paper).

Input: windows (`bert_tf/tasks/question_answering/data.py`). Output: a run directory, by way of
`bert_tf/runs/run.py`, with scores, and answers in the order of the questions, all in ASCII; the
first three files are those of the original:

    predictions.json        id → text
    nbest_predictions.json  id → [{"text", "probability", "start_logit", "end_logit"}, ...], the
    best first null_odds.json          id → score of "no answer" - score of the best span; version
    2.0 only answers.jsonl           {"id", "text", "start", "end", "probability"}, with "null_odds"
    in version 2.0: one question
                            per line; text is context[start:end], null and null where it is no part
                            of it
"""

import dataclasses
import functools
import json
import os
from collections.abc import Iterable, Sequence

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
from bert_tf.evaluation.squad_scores import score, score_officially, tune_threshold
from bert_tf.runs import run as driver
from bert_tf.runs.evaluation import Evaluation, Predicted, write_eval_results
from bert_tf.runs.fine_tuning import FineTuningTask
from bert_tf.runs.options import TEACHERS
from bert_tf.runs.task import RunningModel
from bert_tf.runs.trainer import Run
from bert_tf.tasks.question_answering import options as origins
from bert_tf.tasks.question_answering.data import (
    ENSEMBLE_FILE,
    SquadSplit,
    fingerprints,
    make_split,
    open_ensemble,
    read_questions,
)
from bert_tf.tasks.question_answering.options import (
    THRESHOLD,
    SquadOptions,
    SquadSettings,
    choose_settings,
)
from bert_tf.training.examples import TaskData
from bert_tf.training.step import Objective
from data_gen.labelled.squad import SquadData, check_training, read_squad
from modeling.checkpoints.companion_files import BEST_DIRECTORY, TASK_FILE, read_task_file
from modeling.checkpoints.load import Checkpoint, step_of
from modeling.fine_tuning import SPAN, BertForQuestionAnswering

OUTPUTS = ("start_logits", "end_logits")
# Answers shown to a single question where --n_best_size is not given, and questions in TensorBoard.
_SHOWN, _MOST_SHOWN = 5, 10


@dataclasses.dataclass(frozen=True)
class Answered:
    """The answers to all questions of a file, chosen by the threshold of `settings`; `metrics`
    where they are known."""

    split: SquadSplit
    results: list[QuestionAnswers]
    settings: SquadSettings
    metrics: dict[str, float] | None

    @property
    def answers(self) -> dict[str, Candidate]:
        """id → what is chosen."""
        return {
            result.id: result.choose(self.settings.null_score_diff_threshold)
            for result in self.results
        }

    def evaluation(self, step: int) -> Evaluation:
        """Of weights after `step` updates; a prediction is where the answer begins, the same for
        all questions if the model looks at no question."""
        places = [
            "no answer" if one.start is None else f"what begins at character {one.start}"
            for one in self.answers.values()
        ]
        starts = [
            one.answers[0].start if one.answers else None for one in self.split.source.questions
        ]
        predicted = Predicted(places, starts if self.split.is_labelled else None, "questions")
        return Evaluation(
            step,
            self.metrics or {},
            {os.path.basename(self.split.source.path): predicted},
            self,
            self.settings.to_task(),
        )


class SquadTask(FineTuningTask):
    """Questions, contexts and how they are read; with --ensemble by several runs together, the
    paper's section 4.2.

    Args:
      checkpoint, settings, prediction_split: of an ensemble's member.

    Attributes:
      settings: of windows and answers, as the run begins.
      prediction_split: the questions to answer; None where there are none.
      members: the runs of an ensemble, of which the driver loads the first; else none.
    """

    options: SquadOptions

    token_outputs = OUTPUTS

    def __init__(
        self,
        options: SquadOptions,
        checkpoint: Checkpoint | None = None,
        settings: SquadSettings | None = None,
        prediction_split: SquadSplit | None = None,
    ):
        self.settings, self.prediction_split = settings, prediction_split
        self.members: list[Checkpoint] = []
        if options.ensemble:
            self.members, self.settings = open_ensemble(
                options.ensemble, options.given_settings, options.do_lower_case, options.output_dir
            )
            checkpoint = self.members[0]
        super().__init__(options, self._read, checkpoint)
        if self.members:
            self.start.step = max(step_of(member.source) for member in self.members)
        self.teachers = None
        if options.teacher_checkpoint and options.do_train:
            tokenizer = self.checkpoint.tokenizer
            self.teachers = TEACHERS.load("step")(
                options.teacher_checkpoint,
                "question_answering",
                lambda config, dtype: BertForQuestionAnswering(config, dtype=dtype),
                self.config,
                self.settings.max_seq_length,
            )
            self.teachers.check_vocabulary(tokenizer.vocabulary, tokenizer.do_lower_case)
        if options.original_batches and options.do_train:
            self.num_train_examples = len(self.data.train)
        # Also where nothing is scored: weights are never chosen then.
        self.main_metric = self.main_metric or self.data.metrics[0]

    def _read(self, options: SquadOptions, checkpoint: Checkpoint) -> TaskData:
        given, adapted = options.given_settings, []
        if self.settings is None:
            chosen = choose_settings(given, None if options.do_train else checkpoint.task)
            self.settings = chosen.fitted(self.config.max_position_embeddings, given)
            if self.settings != chosen:
                adapted = [
                    f"the model has {self.config.max_position_embeddings} positions: "
                    + ", ".join(
                        f"--{name}={value}"
                        for name, value in self.settings.lengths().items()
                        if value != getattr(chosen, name)
                    )
                ]
        if options.do_train and self.start.is_own:
            # Of the run itself a threshold is kept that was tuned; what was given in an earlier
            # start is given again or not.
            kept = choose_settings(given, checkpoint.task)
            if kept.null_score_diff_threshold_is.startswith(origins.TUNED_ON):
                self.settings = self.settings.with_threshold(
                    kept.null_score_diff_threshold, kept.null_score_diff_threshold_is
                )
        self.settings.check_model(self.config)
        parts: dict[str, SquadData] = {}
        if options.do_train or options.dev_fraction:
            parts = options.divided(read_squad(options.train_file, "train_file"))
        tokenizer = checkpoint.tokenizer
        train = None
        if options.do_train:
            checked = check_training(
                parts["train"],
                version_2_with_negative=self.settings.version_2_with_negative,
                skip_bad_answers=options.skip_bad_answers,
            )
            train = make_split(
                checked.first(options.max_train_examples), self.settings, tokenizer, training=True
            )
            train = dataclasses.replace(train, notes=(*checked.notes, *train.notes))
        predicted = self.prediction_split = self.prediction_split or read_questions(
            options, self.settings, tokenizer, parts.get("dev")
        )
        notes = [*adapted] if not options.asks else []
        notes += [
            line
            for split in (train, predicted)
            if split is not None and not options.asks
            for line in split.notes
        ]
        is_labelled = predicted is not None and predicted.is_labelled
        if options.do_train and predicted is not None and not is_labelled:
            notes.append(
                f"{predicted.source.path} does not contain the right answers: no evaluation while training, the "
                "last weights are kept"
            )
        return TaskData(
            train,
            {"predict": predicted} if is_labelled else {},
            {},
            self.settings.to_task(),
            notes,
            metrics=(
                ("best_f1", "best_exact", "f1", "exact")
                if self.settings.version_2_with_negative
                else ("f1", "exact")
            ),
        )

    def make_model(self, dtype: str) -> BertForQuestionAnswering:
        if self.teachers is not None:
            self.teachers.load(dtype)
        return BertForQuestionAnswering(self.config, seed=self.options.seed, dtype=dtype)

    def objective(self, model: BertForQuestionAnswering) -> Objective:
        return Objective.of(
            model, None if self.teachers is None else self.teachers.distilled(SPAN, self.options)
        )

    def outputs(self, model: BertForQuestionAnswering, features: dict) -> dict:
        return dict(zip(OUTPUTS, model(features), strict=True))

    def evaluate(self, run: RunningModel) -> Evaluation:
        what = "evaluating" if self.can_evaluate else "predicting"
        return self._answer(run, what).evaluation(run.weights_step)

    def show_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
        """The first questions, with what is answered and what is right."""

        def rows() -> list[tuple[str, str, str]]:
            questions, answers = (
                evaluation.details.split.source.questions[:_MOST_SHOWN],
                evaluation.details.answers,
            )
            return [
                (
                    one.text,
                    answers[one.id].text or "(no answer)",
                    " / ".join(dict.fromkeys(right.text for right in one.answers)) or "(no answer)",
                )
                for one in questions
            ]

        run.observers.notify(
            "table", run.step, "eval/answers", ("question", "answer", "right answers"), rows
        )

    def predict(self, run: RunningModel) -> None:
        options = self.options
        if options.asks:
            answered = self._answer(run, "reading")
            (result,), shown = (
                answered.results,
                options.n_best_size if "n_best_size" in options.given else _SHOWN,
            )
            # A table: rank, probability, text, characters.
            lines = [
                f"{rank:>3}  {candidate.probability:.4f}  {_show(candidate)}"
                for rank, candidate in enumerate(result.nbest[:shown], 1)
            ]
            if result.null_odds is not None:
                chosen = answered.answers[result.id]
                lines.append(
                    f"answer: {chosen.text if chosen.start is not None else '(no answer)'}; null odds "
                    f"{result.null_odds:.4f}, {answered.settings.describe_threshold()}"
                )
            run.log("\n".join(lines))
            return
        evaluation = run.evaluation()
        answered = evaluation.details
        settings, directory = answered.settings, options.output_dir
        described = (
            zip(answered.results, answered.answers.values(), strict=True)
            if options.verbose_logging
            else ()
        )
        for result, answer in described:
            # What was chosen, where it stands and against what.
            odds = (
                ""
                if result.null_odds is None
                else (
                    f"; null odds {result.null_odds:.4f}, threshold {settings.null_score_diff_threshold:.4f}"
                )
            )
            others = [
                f"; else {_show(one)}, probability {one.probability:.4f}"
                for one in result.nbest
                if one != answer
            ]
            run.log(
                f"{result.id}: {_show(answer)}, probability {answer.probability:.4f}{odds}{''.join(others[:1])}"
            )
        if not run.devices.is_chief:
            return
        # A threshold that was tuned is kept in task.json, beside the last and the best weights, or
        # for an ensemble in a file of its own, for later predictions into this directory; in no
        # other run's directory.
        if settings != choose_settings({}, run.description) and self.members:
            json_files.write(
                os.path.join(directory, ENSEMBLE_FILE),
                {"ensemble": fingerprints(self.members), **settings.to_task()},
            )
        elif settings != choose_settings({}, run.description):
            threshold = {
                name: value
                for name, value in settings.to_task().items()
                if name.startswith(THRESHOLD)
            }
            for path in (
                os.path.join(directory, TASK_FILE),
                os.path.join(directory, BEST_DIRECTORY, TASK_FILE),
            ):
                if files.exists(path):
                    json_files.write(path, {**read_task_file(path), **threshold})
        write_predictions(directory, answered.results, settings.null_score_diff_threshold)
        split = answered.split
        run.log(
            f"predicted {len(split):,} questions in {len(split.windows):,} windows of {split.source.path}: "
            f"{os.path.join(directory, 'predictions.json')}"
        )
        if settings.version_2_with_negative:
            run.log(settings.describe_threshold())
        run.log(
            write_eval_results(directory, evaluation, len(answered.results))
            if evaluation.metrics
            else f"{split.source.path} does not contain the right answers: not scored"
        )

    def _answer(self, run: RunningModel, what: str) -> Answered:
        """Finds and scores the answers to all questions, with a progress line that begins with
        `what`."""
        settings, options, split = (
            choose_settings({}, run.description),
            self.options,
            self.prediction_split,
        )
        results = find_answers(
            split.source, split.contexts, split.windows, *self._logits(run, what), settings
        )
        if not split.is_labelled:
            return Answered(split, results, settings, None)
        version_2, scorer = (
            settings.version_2_with_negative,
            score_officially if options.official_scores else score,
        )
        spans, null_odds = best_spans(results), collect_null_odds(results)
        origin = settings.null_score_diff_threshold_is
        # The threshold with the best F1 (section 4.3). One that was tuned before is used on other
        # files as it is, which flatters none.
        if version_2 and (
            origin in (origins.DEFAULT, origins.MEAN)
            or (options.do_train and origin != origins.GIVEN)
        ):
            settings = settings.with_threshold(
                tune_threshold(split.source, spans, null_odds),
                origins.TUNED_ON + os.path.basename(split.source.path),
            )
        answered = Answered(split, results, settings, None)
        metrics = scorer(
            split.source,
            {id: answer.text for id, answer in answered.answers.items()},
            None,
            version_2,
        )
        if version_2:
            # The best thresholds are among all only if every question has an answer that one can
            # turn into "no answer".
            best = scorer(split.source, spans, null_odds, version_2)
            metrics |= {name: value for name, value in best.items() if name.startswith("best_")}
        return dataclasses.replace(answered, metrics=metrics)

    def _logits(self, run: RunningModel, what: str) -> tuple[np.ndarray, np.ndarray]:
        """Of the starts and the ends, float32 [T] each, the windows concatenated; of an ensemble
        the means."""
        split, count, found = self.prediction_split, len(self.members), []
        if not len(split.windows):
            return np.zeros(0, np.float32), np.zeros(0, np.float32)
        # One model is in memory at a time, beside the first.
        for number in range(max(count, 1)):
            one = run
            if number:
                one = Run(
                    SquadTask(
                        self.options.replace(output_dir="", ensemble=()),
                        self.members[number],
                        self.settings,
                        split,
                    ),
                    run.devices,
                    run.log,
                )
                one.stop = run.stop
            label = f"{what}, run {number + 1} of {count}" if count else what
            with Progress(label, len(split.windows), "windows") as progress:
                outputs = one.predict(split.examples, progress.advance)
            found.append([outputs[name] for name in OUTPUTS])
            if number:
                del one
                keras.backend.clear_session()
        if not count:
            return tuple(found[0])
        # One by one: stacking an ensemble's logits would double the memory.
        return tuple(
            (sum(logits.astype(np.float64) for logits in side) / count).astype(np.float32)
            for side in zip(*found, strict=True)
        )


def write_predictions(
    directory: str, results: Sequence[QuestionAnswers], null_score_diff_threshold: float = 0.0
) -> None:
    """Writes the four files (three in version 1.1); "no answer" where the null odds are above the
    threshold."""
    chosen = [(result, result.choose(null_score_diff_threshold)) for result in results]
    _write_object(
        os.path.join(directory, "predictions.json"),
        ((result.id, answer.text) for result, answer in chosen),
    )
    _write_object(
        os.path.join(directory, "nbest_predictions.json"),
        (
            (
                result.id,
                [
                    {
                        "text": candidate.text,
                        "probability": candidate.probability,
                        "start_logit": candidate.start_logit,
                        "end_logit": candidate.end_logit,
                    }
                    for candidate in result.nbest
                ],
            )
            for result in results
        ),
    )
    odds = collect_null_odds(results)
    if odds is not None:
        _write_object(os.path.join(directory, "null_odds.json"), odds.items())
    with files.atomic_write(os.path.join(directory, "answers.jsonl")) as file:
        for result, answer in chosen:
            fields = {
                "id": result.id,
                "text": answer.text,
                "start": answer.start,
                "end": answer.end,
                "probability": answer.probability,
            }
            file.write(
                json.dumps(fields if odds is None else fields | {"null_odds": result.null_odds})
                + "\n"
            )


def _show(candidate: Candidate) -> str:
    if candidate.start is None:
        return "(no answer)"
    return f"{candidate.text!r} (characters {candidate.start} to {candidate.end})"


def _write_object(path: str, items: Iterable[tuple[str, object]]) -> None:
    """A JSON object with one entry per line: quick to write for thousands of entries, and `grep`
    finds a question."""
    with files.atomic_write(path) as file:
        separator = "{\n"
        for key, value in items:
            file.write(f"{separator}  {json.dumps(key)}: {json.dumps(value)}")
            separator = ",\n"
        file.write("\n}\n")


# What `run_squad.py` does; see `bert_tf/runs/run.py`.
run = functools.partial(driver.run, SquadTask)
