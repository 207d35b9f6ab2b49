"""Which of several choices is right: SWAG (section 4.4 of the paper), HellaSwag, CODAH and custom
files.

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
from bert_tf.runs.evaluation import Evaluation, Predicted, shortest, write_test_results
from bert_tf.runs.fine_tuning import FineTuningTask
from bert_tf.runs.task import RunningModel
from bert_tf.tasks.multiple_choice.data import KIND, read_data
from bert_tf.tasks.multiple_choice.options import MultipleChoiceOptions
from bert_tf.training.examples import Split
from bert_tf.training.step import Objective
from data_gen.labelled.multiple_choice import ChoiceQuestions
from modeling.checkpoints.weights import HEADS
from modeling.fine_tuning import CHOICE, BertForMultipleChoice

# Of the logits of choices among which nothing is chosen: their probabilities differ by a hundredth
# at most.
_LARGEST_TIE = 0.04


class MultipleChoiceTask(FineTuningTask):
    """Questions and their choices."""

    options: MultipleChoiceOptions

    def __init__(self, options: MultipleChoiceOptions):
        super().__init__(options, read_data)
        heads = self.checkpoint.heads
        # What is trained on the encoder beside the heads of pre-training is no other task.
        others = [
            HEADS[name].title for name in heads if name not in (KIND, "masked_lm", "next_sentence")
        ]
        self.start.head_mismatch = (
            f"that of the checkpoint is a {others[0]}" if others and KIND not in heads else None
        )

    def make_model(self, dtype: str) -> BertForMultipleChoice:
        return BertForMultipleChoice(
            self.config,
            seed=self.options.seed,
            dtype=dtype,
            head_dropout=self.options.classifier_dropout,
        )

    def objective(self, model: BertForMultipleChoice) -> Objective:
        return Objective.of(model, skip_missing=not self.is_compiled)

    def outputs(self, model: BertForMultipleChoice, features: dict) -> dict:
        """float32 "scores" [B], of choices one by one."""
        return {"scores": model.scores(features)}

    def answer(self, run: RunningModel, split: Split) -> np.ndarray:
        """float32 [E, K], logits; a score needs no other choice."""
        return split.examples.by_question(run.predict(split.examples.sequences)["scores"])

    def score(self, split: Split, answers: np.ndarray) -> dict[str, float]:
        scores = CHOICE.score(answers, split.source.labels)
        return {name: scores[name] for name in ("accuracy", "loss")}

    def predicted(self, split: Split, answers: np.ndarray) -> Predicted:
        return Predicted(describe_choices(answers), split.source.labels.tolist(), "questions")

    def write_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
        super().write_evaluation(run, evaluation)
        if self.options.hardest_questions:
            split, logits = self.data.first(evaluation.details)
            questions, probabilities = split.source, softmax(logits)
            right = probabilities[np.arange(len(split)), questions.labels]
            numbers = np.argsort(right, kind="stable")[: self.options.hardest_questions]
            path = os.path.join(self.options.output_dir, "hardest_questions.jsonl")
            with files.atomic_write(path) as file:
                file.writelines(
                    json_files.line_of(
                        {
                            **_record(questions, number, probabilities[number]),
                            "label": int(questions.labels[number]),
                        }
                    )
                    for number in numbers
                )
            run.log(f"the questions that it finds hardest: {path}")

    def write_predictions(self, name: str, split: Split, answers: np.ndarray) -> list[str]:
        """`test_results.tsv` has a line for each question: the probabilities of its choices.
        `predictions.csv` has the id and the number of the chosen ending, as SWAG's own code writes
        it. `predictions.jsonl` has the texts, too."""
        paths = [
            os.path.join(self.options.output_dir, name)
            for name in ("test_results.tsv", "predictions.csv", "predictions.jsonl")
        ]
        questions, probabilities = split.source, np.asarray(softmax(answers), np.float32)
        write_test_results(
            paths[0],
            [row[:count] for row, count in zip(probabilities, questions.num_choices, strict=True)],
        )
        with files.atomic_write(paths[1]) as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["", "pred"])
            table.writerows(
                [id, int(row.argmax())]
                for id, row in zip(questions.ids, probabilities, strict=True)
            )
        with files.atomic_write(paths[2]) as file:
            file.writelines(
                json_files.line_of(_record(questions, number, row))
                for number, row in enumerate(probabilities)
            )
        return paths


# What `run_swag.py` does; see `bert_tf/runs/run.py`.
run = functools.partial(driver.run, MultipleChoiceTask)


def describe_choices(logits: np.ndarray) -> list[str]:
    """The choice of each question, of logits as of `answer`, as messages name it: "any choice"
    where all are as probable."""
    lowest = np.where(np.isneginf(logits), np.inf, logits).min(axis=-1)
    return [
        "any choice" if highest - low <= _LARGEST_TIE else f"choice {choice}"
        for choice, highest, low in zip(
            logits.argmax(axis=-1), logits.max(axis=-1), lowest, strict=True
        )
    ]


def _record(questions: ChoiceQuestions, number: int, probabilities: np.ndarray) -> dict:
    """A question with its predictions, for JSON lines."""
    texts = {"context": questions.contexts[number], "question": questions.questions[number]}
    choices = list(questions.choices[number])
    row = np.asarray(probabilities, np.float32)[: len(choices)]
    return {
        "id": questions.ids[number],
        **{name: text for name, text in texts.items() if text},
        "choices": choices,
        "probabilities": list(map(shortest, row)),
        "prediction": int(row.argmax()),
    }
