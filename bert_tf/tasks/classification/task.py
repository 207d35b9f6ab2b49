"""Classification and regression of texts and pairs: GLUE and custom data (paper, section 4.1).

Input: labeled texts (`bert_tf/tasks/classification/data.py`). Output: a run directory, by way of
`bert_tf/runs/run.py`, with metrics and predictions.
"""

import dataclasses
import functools
import os
from collections.abc import Iterator

import numpy as np

from bert_common import files, json_files
from bert_tf.evaluation import classification as scores
from bert_tf.evaluation.glue_submission import submission_name, write_submission_file
from bert_tf.runs import run as driver
from bert_tf.runs.evaluation import (
    Evaluation,
    constant_predictions,
    shortest,
    write_eval_results,
    write_test_results,
)
from bert_tf.runs.fine_tuning import FineTuningTask
from bert_tf.runs.options import TEACHERS
from bert_tf.runs.task import Run
from bert_tf.tasks.classification.checkpoint_classes import CLASSES
from bert_tf.tasks.classification.data import (
    ClassificationData,
    LazyValues,
    TextSplit,
    check_head,
    named_probabilities,
    predicted_labels,
    read_data,
)
from bert_tf.tasks.classification.long_texts import pool
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.training.examples import Examples, concatenated
from data_gen.labeled.labeled_texts import LabeledTexts, UnusableRow
from modeling.checkpoints.load import Checkpoint
from modeling.config import with_label_names
from modeling.fine_tuning import (
    CLASSIFICATION_LOSS,
    MULTI_LABEL_LOSS,
    REGRESSION_LOSS,
    BertForClassification,
)
from modeling.losses import HeadLoss


class ClassificationTask(FineTuningTask):
    """Texts or pairs and their labels."""

    options: ClassificationOptions
    data: ClassificationData

    def __init__(self, options: ClassificationOptions):
        self.teachers = None
        # Teachers come before the data, as they decide the order of the classes.
        if options.teacher_checkpoint and options.do_train:
            self.teachers = TEACHERS.load("classification")(options)
        super().__init__(options, self._read)
        if self.teachers:
            self.teachers.check_fit(self.data)
        if self.data.transfer is not None:
            self.train_examples = self._without_labels()
        # Other libraries read the kind of labels from the configuration; classes are their default.
        if self.data.kind != CLASSES:
            problem_type = self.data.kind
        else:
            problem_type = None
        self.config = with_label_names(self.config, self.data.labels or ("LABEL_0",), problem_type)
        self.head_mismatch = check_head(self.checkpoint, self.data, options.do_train)

    def _read(self, options: ClassificationOptions, checkpoint: Checkpoint) -> ClassificationData:
        if self.teachers:
            labels: list[str] = self.teachers.labels
        else:
            labels = []
        return read_data(options, checkpoint, labels)

    def _without_labels(self) -> Examples:
        """Returns training set and transfer text; their soft labels come with the training."""
        parts = []
        # Transfer text has no labels, and only sets with the same values can be concatenated.
        for split in (self.data.train, self.data.transfer):
            if split is not None:
                parts.append(dataclasses.replace(split.examples, values={}))
        return concatenated(parts)

    def make_model(self, dtype: str) -> BertForClassification:
        return BertForClassification(
            self.config,
            1 if self.data.regression else len(self.data.labels),
            seed=self.options.seed,
            dtype=dtype,
        )

    def loss(self, model: BertForClassification) -> HeadLoss:
        return self.options.distilled(self._label_loss(self.data.positive_weights))

    def _label_loss(self, positive_weights: tuple[float, ...] | None = None) -> HeadLoss:
        if self.data.multi_label:
            return dataclasses.replace(MULTI_LABEL_LOSS, positive_weights=positive_weights)
        return REGRESSION_LOSS if self.data.regression else CLASSIFICATION_LOSS

    def examples_to_train_on(self, trainer: Run) -> Examples:
        if self.teachers is None:
            return self.train_examples
        # The teachers' outputs are computed now, when the devices are set up, or read from a cache.
        temperature = self.options.temperature
        return self.teachers.examples_with_soft_labels(
            self.data, self._label_loss(), temperature, trainer
        )

    def outputs(self, model: BertForClassification, features: dict) -> dict:
        return {"logits": model(features)}

    def answer(self, trainer: Run, split: TextSplit) -> np.ndarray:
        """Returns logits, float32 [E, C]; of a text in several windows the mean."""
        return pool(trainer.predict(split.examples)["logits"], split.window_counts)

    def score(self, split: TextSplit, answers: np.ndarray) -> dict[str, float]:
        """Returns the task's metrics and the loss."""
        data = self.data
        labels = split.source.labels
        predictions = data.predictions(answers)
        if data.multi_label:
            metrics = scores.score_multi_label(predictions, labels)
        else:
            # A regression has no labels to average over.
            num_labels = len(data.labels) or None
            metrics = scores.score(
                data.metrics, data.official(predictions), data.official(labels), num_labels
            )
        # The loss without class weights and teachers can be compared between runs.
        return {**metrics, "loss": self._label_loss().score(answers, labels)["loss"]}

    def constant_predictions(self, name: str, split: TextSplit, answers: np.ndarray) -> str | None:
        predictions = self.data.predictions(answers)
        return constant_predictions(
            name, self._label_values(predictions), self._label_values(split.source.labels)
        )

    def _label_values(self, values: np.ndarray) -> list:
        """Returns class names, tuples of the names that apply, or scores."""
        names = self.data.labels
        if self.data.regression:
            return values.tolist()
        if self.data.multi_label:
            return [tuple(names[index] for index in np.flatnonzero(row)) for row in values]
        return [names[index] for index in values]

    def write_evaluation(self, trainer: Run, evaluation: Evaluation) -> None:
        directory = self.options.output_dir
        data = self.data
        # The original's files have the loss under two names.
        extra = {}
        if "loss" in evaluation.metrics:
            extra["loss"] = evaluation.metrics["loss"]
        count = sum(len(split) for split in data.dev.values())
        trainer.log(write_eval_results(directory, evaluation, count, "eval_", extra))
        for number, (name, split) in enumerate(data.dev.items()):
            # MNLI's second set goes to `eval_predictions_mismatched.jsonl`.
            if number:
                suffix = f"_{name.removeprefix('dev_')}"
            else:
                suffix = ""
            write_predictions(
                os.path.join(directory, f"eval_predictions{suffix}.jsonl"),
                data,
                split.source,
                LazyValues(data, evaluation.details[name]),
                with_truth=True,
            )
        # Tables for people are about the set that chooses the weights.
        split, logits = data.first(evaluation.details)
        predictions = data.predictions(logits)
        labels = split.source.labels
        if not data.regression:
            trainer.log(scores.per_class_table(predictions, labels, data.labels))
        if data.kind == CLASSES:
            trainer.log("\n" + scores.confusions_of(predictions, labels, data.labels))

    def write_predictions(self, name: str, split: TextSplit, answers: np.ndarray) -> list[str]:
        """Writes the original's `test_results.tsv`, `predictions.jsonl`, and GLUE's submission."""
        directory = self.options.output_dir
        data = self.data
        values = LazyValues(data, answers)
        set_name = name.removeprefix("test").removeprefix("_")
        # The usual test set has the file names of the original.
        if set_name:
            suffix = f"_{set_name}"
        else:
            suffix = ""
        results_path = os.path.join(directory, f"test_results{suffix}.tsv")
        predictions_path = os.path.join(directory, f"predictions{suffix}.jsonl")
        write_test_results(results_path, _with_gaps(values, split.source))
        write_predictions(predictions_path, data, split.source, values)
        paths = [results_path, predictions_path]
        if data.glue is not None:
            path = os.path.join(directory, submission_name(data.glue.folder, name))
            # GLUE's server takes names of classes, or scores for STS-B.
            predictions = data.values(answers)
            if not data.regression:
                predictions = [data.labels[index] for index in predictions.argmax(axis=-1)]
            write_submission_file(path, split.source.ids, predictions, data.regression)
            paths.append(path)
        return paths


# The command `run_classifier.py`; see `bert_tf/runs/run.py`.
run = functools.partial(driver.run, ClassificationTask)


def _with_gaps(values: np.ndarray | LazyValues, texts: LabeledTexts) -> Iterator[np.ndarray]:
    """Yields the values of each row of the file, empty texts for one that is not predicted."""
    # The lines of the original's file have no ids: their numbers say which rows they belong to.
    gap = np.full(values.shape[1:], "")
    for row in texts.in_file_order():
        yield gap if isinstance(row, UnusableRow) else values[row]


def write_predictions(
    path: str,
    data: ClassificationData,
    texts: LabeledTexts,
    values: np.ndarray | LazyValues,
    with_truth: bool = False,
) -> None:
    """Writes `predictions.jsonl`: a JSON object for each example, with its text.

    The three forms, of a class, of several classes and of a score:

        {"id": 0, "text_a": "…", "label": "good", "probabilities": {"good": 0.9, "bad": 0.1}}
        {"id": 0, "text_a": "…", "labels": ["new"], "probabilities": {"new": 0.7, "good": 0.3}}
        {"id": 0, "text_a": "…", "text_b": "…", "score": 3.2}

    A row that can't be predicted has an empty label, and the reason:

        {"id": 0, "label": "", "reason": "line 7: the text is empty…"}

    Args:
      values: probabilities [E, C], or scores [E] of a regression.
      with_truth: add the true labels as "true_label", "true_labels" or "true_score".
    """
    labels = data.labels
    with files.atomic_write(path) as file:
        for row in texts.in_file_order():
            if isinstance(row, UnusableRow):
                record = {"id": row.id, **data.no_answer, "reason": row.reason}
                file.write(json_files.line_of(record))
                continue
            value = values[row]
            record = {"id": texts.ids[row], "text_a": texts.text_a[row]}
            if texts.text_b is not None:
                record["text_b"] = texts.text_b[row]
            if labels:
                record.update(predicted_labels(labels, value, data.multi_label))
                # The digits of float32 suffice and halve the size of the file.
                record["probabilities"] = named_probabilities(labels, value, shortest)
            else:
                record["score"] = shortest(value)
            if with_truth:
                record.update(_true_label(data, texts.labels[row]))
            file.write(json_files.line_of(record))


def _true_label(data: ClassificationData, value: np.ndarray) -> dict:
    if not data.labels:
        return {"true_score": float(value)}
    if data.multi_label:
        return {"true_labels": predicted_labels(data.labels, value, True)["labels"]}
    return {"true_label": data.labels[int(value)]}
