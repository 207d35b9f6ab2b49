"""Multiple choice: SWAG (section 4.4 of the paper), HellaSwag, CODAH and custom files.

Input: questions with choices (`bert_tf/tasks/multiple_choice/data.py`). Output: a run directory, by
way of `bert_tf/runs/run.py`, with metrics and predictions for programs, for SWAG's leaderboard and
for people.
"""

import csv
import functools
import os

import numpy as np

from bert_common import files, json_files
from bert_tf.evaluation.classification import softmax
from bert_tf.runs import run as driver
from bert_tf.runs.evaluation import (
    Evaluation,
    constant_predictions,
    shortest,
    write_test_results,
)
from bert_tf.runs.fine_tuning import FineTuningTask
from bert_tf.runs.task import Run
from bert_tf.tasks.multiple_choice.data import KIND, read_data
from bert_tf.tasks.multiple_choice.options import MultipleChoiceOptions
from bert_tf.training.examples import Dataset
from data_gen.labeled.multiple_choice import ChoiceQuestions
from modeling.checkpoints.weights import HEADS
from modeling.fine_tuning import MULTIPLE_CHOICE_LOSS, BertForMultipleChoice

# Largest difference of logits at which all choices count as equally probable: the probabilities
# then differ by a hundredth at most.
_MAX_TIE = 0.04
_PRETRAINING_HEADS = ("masked_lm", "next_sentence")


class MultipleChoiceTask(FineTuningTask):
    """Questions and their choices."""

    options: MultipleChoiceOptions

    def __init__(self, options: MultipleChoiceOptions):
        super().__init__(options, read_data)
        heads = self.checkpoint.heads
        other_heads = [name for name in heads if name not in (KIND, *_PRETRAINING_HEADS)]
        # Every pre-trained model has the heads of pre-training: they show no other task.
        if other_heads and KIND not in heads:
            self.head_mismatch = f"that of the checkpoint is a {HEADS[other_heads[0]].title}"

    def make_model(self, dtype: str) -> BertForMultipleChoice:
        return BertForMultipleChoice(
            self.config,
            seed=self.options.seed,
            dtype=dtype,
        )

    def outputs(self, model: BertForMultipleChoice, features: dict) -> dict:
        """Returns "scores" float32 [B], of choices one by one."""
        return {"scores": model.scores(features)}

    def answer(self, trainer: Run, split: Dataset) -> np.ndarray:
        """Returns logits, float32 [E, K]."""
        # The score of a choice does not depend on the others, so they are batched by length.
        return split.examples.by_question(trainer.predict(split.examples.sequences)["scores"])

    def score(self, split: Dataset, answers: np.ndarray) -> dict[str, float]:
        scores = MULTIPLE_CHOICE_LOSS.score(answers, split.source.labels)
        return {"accuracy": scores["accuracy"], "loss": scores["loss"]}

    def constant_predictions(self, name: str, split: Dataset, answers: np.ndarray) -> str | None:
        labels = split.source.labels.tolist()
        return constant_predictions(name, describe_choices(answers), labels, "questions")

    def write_evaluation(self, trainer: Run, evaluation: Evaluation) -> None:
        super().write_evaluation(trainer, evaluation)
        if self.options.hardest_questions:
            split, logits = self.data.first(evaluation.details)
            path = os.path.join(self.options.output_dir, "hardest_questions.jsonl")
            self._write_hardest(path, split.source, softmax(logits))
            trainer.log(f"the questions that it finds hardest: {path}")

    def _write_hardest(
        self, path: str, questions: ChoiceQuestions, probabilities: np.ndarray
    ) -> None:
        """Writes the questions whose right choice is the least probable."""
        right = probabilities[np.arange(len(probabilities)), questions.labels]
        # Stable: equal probabilities keep the order of the file, so results can be compared.
        order = np.argsort(right, kind="stable")
        with files.atomic_write(path) as file:
            for index in order[: self.options.hardest_questions]:
                record = _record(questions, index, probabilities[index])
                record["label"] = int(questions.labels[index])
                file.write(json_files.line_of(record))

    def write_predictions(self, name: str, split: Dataset, answers: np.ndarray) -> list[str]:
        """Writes three files, with one question per line each.

        `test_results.tsv` has the probabilities of the choices, `predictions.csv` the id and the
        number of the chosen ending, as SWAG's own code writes it, `predictions.jsonl` the texts.
        """
        directory = self.options.output_dir
        questions = split.source
        probabilities = np.asarray(softmax(answers), np.float32)
        results_path = os.path.join(directory, "test_results.tsv")
        table_path = os.path.join(directory, "predictions.csv")
        predictions_path = os.path.join(directory, "predictions.jsonl")
        # Questions with fewer choices are padded; the file has the real ones only.
        rows = zip(probabilities, questions.num_choices, strict=True)
        write_test_results(results_path, [row[:count] for row, count in rows])
        with files.atomic_write(table_path) as file:
            table = csv.writer(file, lineterminator="\n")
            # pandas wrote SWAG's file, with an unnamed column for its index.
            table.writerow(["", "pred"])
            for id, row in zip(questions.ids, probabilities, strict=True):
                table.writerow([id, int(row.argmax())])
        with files.atomic_write(predictions_path) as file:
            for index, row in enumerate(probabilities):
                file.write(json_files.line_of(_record(questions, index, row)))
        return [results_path, table_path, predictions_path]


# The command `run_swag.py`; see `bert_tf/runs/run.py`.
run = functools.partial(driver.run, MultipleChoiceTask)


def describe_choices(logits: np.ndarray) -> list[str]:
    """Returns the choice of each question in words: "any choice" if all are as probable.

    Args:
      logits: float [E, K], -inf for missing choices.
    """
    # A missing choice must not count as the least probable one.
    lowest = np.where(np.isneginf(logits), np.inf, logits).min(axis=-1)
    is_tie = logits.max(axis=-1) - lowest <= _MAX_TIE
    choices = []
    for choice, tie in zip(logits.argmax(axis=-1), is_tie, strict=True):
        choices.append("any choice" if tie else f"choice {choice}")
    return choices


def _record(questions: ChoiceQuestions, index: int, probabilities: np.ndarray) -> dict:
    """Returns a question with its predictions, for JSON lines."""
    choices = list(questions.choices[index])
    row = np.asarray(probabilities, np.float32)[: len(choices)]
    record: dict = {"id": questions.ids[index]}
    # Some sets have a context or a question only.
    if questions.contexts[index]:
        record["context"] = questions.contexts[index]
    if questions.questions[index]:
        record["question"] = questions.questions[index]
    record["choices"] = choices
    record["probabilities"] = [shortest(number) for number in row]
    record["prediction"] = int(row.argmax())
    return record
