"""Classes and scores of sequences and pairs: GLUE's tasks and custom ones (section 4.1 of the
paper).

Input: labelled texts (`bert_tf/tasks/classification/data.py`). Output: a run directory, by way of
`bert_tf/runs/run.py`, with metrics, predictions and pictures.
"""

import dataclasses
import functools
import os

import numpy as np

from bert_common import files, json_files
from bert_tf.evaluation import classification as scores
from bert_tf.evaluation.glue_submission import submission_name, write_submission_file
from bert_tf.runs import run as driver
from bert_tf.runs.evaluation import (
    Evaluation,
    Predicted,
    shortest,
    write_eval_results,
    write_test_results,
)
from bert_tf.runs.fine_tuning import FineTuningTask
from bert_tf.runs.options import TEACHERS
from bert_tf.runs.task import RunningModel
from bert_tf.tasks.classification.data import (
    CLASSES,
    ClassificationData,
    TextSplit,
    check_head,
    pool,
    predicted_labels,
    read_data,
)
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.training.examples import Examples, concatenated
from bert_tf.training.step import Objective
from data_gen.labelled.tables import LabelledTexts
from modeling import fine_tuning as heads
from modeling.config import with_label_names
from modeling.losses import HeadLoss


class ClassificationTask(FineTuningTask):
    """Texts and their labels."""

    options: ClassificationOptions
    data: ClassificationData

    def __init__(self, options: ClassificationOptions):
        self.teachers = None
        if options.teacher_checkpoint and options.do_train:
            self.teachers = TEACHERS.load("classification")(options)
        names = self.teachers.labels if self.teachers else ()
        super().__init__(options, lambda options, checkpoint: read_data(options, checkpoint, names))
        if self.teachers:
            self.teachers.check_fit(self.data)
        if self.data.transfer is not None:
            self.train_examples = concatenated(
                [
                    dataclasses.replace(split.examples, values={})
                    for split in (self.data.train, self.data.transfer)
                    if split is not None
                ]
            )
        self.config = with_label_names(
            self.config,
            self.data.labels or ("LABEL_0",),
            None if self.data.kind == CLASSES else self.data.kind,
        )
        self.start.head_mismatch = check_head(self.checkpoint, self.data, options.do_train)

    def make_model(self, dtype: str) -> heads.BertForClassification:
        classes = 1 if self.data.regression else len(self.data.labels)
        return heads.BertForClassification(
            self.config,
            classes,
            seed=self.options.seed,
            dtype=dtype,
            head_dropout=self.options.classifier_dropout,
        )

    def objective(self, model: heads.BertForClassification) -> Objective:
        return Objective.of(model, self.options.distilled(self._loss(self.data.positive_weights)))

    def examples_to_train_on(self, run: RunningModel) -> Examples:
        if self.teachers is None:
            return self.train_examples
        return self.teachers.distilled(self.data, self._loss(), self.options.temperature, run)

    def outputs(self, model: heads.BertForClassification, features: dict) -> dict:
        return {"logits": model(features)}

    def answer(self, run: RunningModel, split: TextSplit) -> np.ndarray:
        """Logits, float32 [E, C]; of several windows the mean."""
        return pool(run.predict(split.examples)["logits"], split.window_counts)

    def _loss(self, positive_weights: tuple[float, ...] | None = None) -> HeadLoss:
        if self.data.multi_label:
            return dataclasses.replace(heads.SEVERAL_CLASSES, positive_weights=positive_weights)
        return heads.SCORES if self.data.regression else heads.CLASSES

    def score(self, split: TextSplit, answers: np.ndarray) -> dict[str, float]:
        """The task's metrics and the loss."""
        data, labels = self.data, split.source.labels
        predictions = data.predictions(answers)
        metrics = (
            scores.score_multi_label(predictions, labels)
            if data.multi_label
            else scores.score(
                data.metrics, predictions, labels, None if data.regression else len(data.labels)
            )
        )
        return {**metrics, "loss": self._loss().score(answers, labels)["loss"]}

    def predicted(self, split: TextSplit, answers: np.ndarray) -> Predicted:
        """Classes, tuples of the classes that apply, or scores."""
        data, values = self.data, (self.data.predictions(answers), split.source.labels)
        if data.regression:
            return Predicted(*(side.tolist() for side in values))
        if data.multi_label:
            return Predicted(
                *(
                    [tuple(data.labels[number] for number in np.flatnonzero(row)) for row in side]
                    for side in values
                )
            )
        return Predicted(*([data.labels[number] for number in side] for side in values))

    def show_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
        """Of one of several classes: the confusion matrix, and the most confident errors."""
        if self.data.kind != CLASSES:
            return
        split, logits = self.data.first(evaluation.details)
        names, texts, predicted = self.data.labels, split.source, self.data.predictions(logits)
        matrix = scores.confusion_matrix(predicted, texts.labels, len(names))
        run.observers.notify(
            "picture",
            run.step,
            "quality/confusion",
            lambda: scores.confusion_picture(matrix, names),
            "Rows are true "
            "classes, columns predicted ones; dark is a large share of the row. A click shows it in full size.",
        )
        pairs = [] if texts.text_b is None else [texts.text_b]

        def errors() -> list[tuple[str, ...]]:
            confidence, wrong = (
                self.data.values(logits).max(axis=-1),
                np.flatnonzero(predicted != texts.labels),
            )
            return [
                (
                    *(text[one] for text in (texts.text_a, *pairs)),
                    names[texts.labels[one]],
                    names[predicted[one]],
                    f"{confidence[one]:.1%}",
                )
                for one in wrong[np.argsort(-confidence[wrong], kind="stable")][:10]
            ]

        run.observers.notify(
            "table",
            run.step,
            "eval/errors",
            ("text", *("second text" for _ in pairs), "true", "predicted", "probability"),
            errors,
        )

    def write_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
        directory, data = self.options.output_dir, self.data
        # The original's files have the loss under two names.
        loss = {name: value for name, value in evaluation.metrics.items() if name == "loss"}
        run.log(
            write_eval_results(
                directory, evaluation, sum(map(len, data.dev.values())), "eval_", loss
            )
        )
        for number, (name, split) in enumerate(data.dev.items()):
            # Of MNLI's second one `eval_predictions_mismatched.jsonl`.
            suffix = f"_{name.removeprefix('dev').removeprefix('_')}" if number else ""
            write_predictions(
                os.path.join(directory, f"eval_predictions{suffix}.jsonl"),
                data,
                split.source,
                data.values(evaluation.details[name]),
                with_truth=True,
            )
        split, logits = self.data.first(evaluation.details)
        predictions, labels = data.predictions(logits), split.source.labels
        if not data.regression:
            run.log(scores.per_class_table(predictions, labels, data.labels))
        if data.kind == CLASSES:
            matrix = scores.confusion_matrix(predictions, labels, len(data.labels))
            run.log("\n" + scores.confusion_text(matrix, data.labels))

    def write_predictions(self, name: str, split: TextSplit, answers: np.ndarray) -> list[str]:
        directory, data, values = self.options.output_dir, self.data, self.data.values(answers)
        rest = name.removeprefix("test").removeprefix("_")
        suffix = f"_{rest}" if rest else ""
        paths = [
            os.path.join(directory, file)
            for file in (f"test_results{suffix}.tsv", f"predictions{suffix}.jsonl")
        ]
        write_test_results(paths[0], values)
        write_predictions(paths[1], data, split.source, values)
        if data.glue is not None:
            paths.append(os.path.join(directory, submission_name(data.glue.folder, name)))
            predictions = (
                values
                if data.regression
                else [data.labels[number] for number in values.argmax(axis=-1)]
            )
            write_submission_file(paths[-1], split.source.ids, predictions, data.regression)
        return paths


# What `run_classifier.py` does; see `bert_tf/runs/run.py`.
run = functools.partial(driver.run, ClassificationTask)


def write_predictions(
    path: str,
    data: ClassificationData,
    texts: LabelledTexts,
    values: np.ndarray,
    with_truth: bool = False,
) -> None:
    """`predictions.jsonl`: a JSON object for each example, with its text.

        {"id": 0, "text_a": "…", "text_b": "…", "label": "good", "probabilities": {"good": 0.9,
        "bad": 0.1}} {"id": 0, "text_a": "…", "labels": ["new", "good"], "probabilities": {"new":
        0.7, "good": 0.9, "bad": 0.1}} {"id": 0, "text_a": "…", "score": 3.2}

    Args:
      values: [E, C] probabilities; or [E] scores of a regression.
      with_truth: write the labels of the texts, too, as "true_label", "true_labels" or
        "true_score".
    """
    labels, columns = data.labels, {"id": texts.ids, "text_a": texts.text_a}
    columns |= {} if texts.text_b is None else {"text_b": texts.text_b}
    with files.atomic_write(path) as file:
        for number, (value, *given) in enumerate(zip(values, *columns.values(), strict=True)):
            record = dict(zip(columns, given, strict=True))
            if labels:
                record |= predicted_labels(labels, value, data.multi_label)
                record["probabilities"] = dict(zip(labels, map(shortest, value), strict=True))
            else:
                record["score"] = shortest(value)
            if with_truth:
                true = texts.labels[number]
                record |= (
                    {"true_score": float(true)}
                    if not labels
                    else {"true_labels": predicted_labels(labels, true, True)["labels"]}
                    if data.multi_label
                    else {"true_label": labels[int(true)]}
                )
            file.write(json_files.line_of(record))
