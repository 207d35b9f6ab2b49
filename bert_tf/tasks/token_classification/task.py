"""Tags of words, such as named entities: section 5.3 of the paper, fine-tuned.

Input: windows of tagged sentences (`bert_tf/tasks/token_classification/data.py`). Output: a run
directory, by way of `bert_tf/runs/run.py`, with metrics, predictions in columns and a report.
"""

import dataclasses
import json
import os

import numpy as np
import tensorflow as tf

from bert_common import files, json_files
from bert_tf.evaluation import classification, conlleval
from bert_tf.evaluation.conlleval import ChunkCounts
from bert_tf.runs.evaluation import Evaluation, Predicted, write_eval_results
from bert_tf.runs.fine_tuning import FineTuningTask
from bert_tf.runs.options import TEACHERS
from bert_tf.runs.task import RunningModel
from bert_tf.tasks.token_classification.data import Split, TokenData, check_head, read_data
from bert_tf.tasks.token_classification.options import TokenClassificationOptions
from bert_tf.training.step import Objective
from data_gen.labelled.tag_schemes import IOB2, Chunks, find_chunks, write_tags
from modeling.config import with_label_names
from modeling.fine_tuning import TOKENS, BertForTokenClassification


@dataclasses.dataclass(frozen=True)
class Tagged:
    """The words of a split with the model's guesses; W words.

    Attributes:
      probabilities: float32 [W, C].
      guess_chunks: None for plain tags.
      gold_tags, guess_tags: W tags, of chunks in IOB2; the right ones None where the file has none.
      counts: of chunks; for plain tags, and without right tags, None.
    """

    split: Split
    probabilities: np.ndarray
    guess_chunks: Chunks | None
    gold_tags: list[str] | None
    guess_tags: list[str]
    counts: ChunkCounts | None


class TokenClassificationTask(FineTuningTask):
    """Sentences and the tags of their words."""

    options: TokenClassificationOptions
    token_outputs = ("probabilities",)
    data: TokenData

    def __init__(self, options: TokenClassificationOptions):
        super().__init__(options, read_data)
        self.config = with_label_names(self.config, self.data.labels)
        self.start.head_mismatch = check_head(self.checkpoint, self.data)
        self.teachers = None
        if options.teacher_checkpoint and options.do_train:
            count = len(self.data.labels)
            self.teachers = TEACHERS.load("step")(
                options.teacher_checkpoint,
                "token_classification",
                lambda config, dtype: BertForTokenClassification(config, count, dtype=dtype),
                self.config,
                options.max_seq_length,
            )
            self.teachers.check_vocabulary(
                self.checkpoint.tokenizer.vocabulary, self.start.do_lower_case
            )
            self.teachers.check_labels(self.data.labels)

    def make_model(self, dtype: str) -> BertForTokenClassification:
        if self.teachers is not None:
            self.teachers.load(dtype)
        return BertForTokenClassification(
            self.config,
            len(self.data.labels),
            seed=self.options.seed,
            dtype=dtype,
            head_dropout=self.options.classifier_dropout,
        )

    def objective(self, model: BertForTokenClassification) -> Objective:
        # Batches are padded with 0, which is a label.
        loss = dataclasses.replace(
            TOKENS,
            weights=lambda features: TOKENS.weights(
                {
                    **features,
                    "label_ids": tf.where(features["input_mask"] > 0, features["label_ids"], -1),
                }
            ),
        )
        return Objective.of(
            model, loss if self.teachers is None else self.teachers.distilled(loss, self.options)
        )

    def outputs(self, model: BertForTokenClassification, features: dict) -> dict:
        return {"probabilities": tf.nn.softmax(model(features))}

    def answer(self, run: RunningModel, split: Split) -> Tagged:
        """Labels of the words."""
        return tag_split(
            self.data, split, split.windows.of_words(run.predict(split.examples)["probabilities"])
        )

    def score(self, split: Split, answers: Tagged) -> dict[str, float]:
        """Of chunks "f1", "precision" and "recall" of the official scorer, "surface_f1" of WNUT-17;
        always "accuracy" of the words' tags, and "loss", of the words whose right label the model
        has.
        """
        right = np.array(
            [
                gold == guess
                for gold, guess in zip(answers.gold_tags, answers.guess_tags, strict=True)
            ]
        )
        known = np.flatnonzero(split.labels >= 0)
        # Logarithms of probabilities are logits, too.
        logits = np.log(np.maximum(answers.probabilities[known], np.finfo(np.float32).tiny))
        metrics = {
            "accuracy": float(right.mean()),
            "loss": TOKENS.score(logits, split.labels[known])["loss"],
        }
        if answers.counts is None:
            return metrics
        _, _, surface_f1 = conlleval.surface_scores(
            split.source.words, split.chunks, answers.guess_chunks
        )
        official = zip(("precision", "recall", "f1"), answers.counts.overall(), strict=True)
        return {
            **{name: value / 100 for name, value in official},
            "surface_f1": surface_f1 / 100,
            **metrics,
        }

    def predicted(self, split: Split, answers: Tagged) -> Predicted:
        return Predicted(answers.guess_tags, answers.gold_tags, "words")

    def show_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
        split, tagged = self.data.first(evaluation.details)
        if tagged.counts is not None:
            confusion = conlleval.type_confusion(split.chunks, tagged.guess_chunks)
            run.observers.notify(
                "picture",
                run.step,
                "quality/confusion",
                lambda: classification.confusion_picture(*confusion),
                "",
            )

    def write_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
        directory = self.options.output_dir
        split, tagged = self.data.first(evaluation.details)
        run.log(write_eval_results(directory, evaluation, len(split), "eval_"))
        for name, one in evaluation.details.items():
            suffix = "" if one is tagged else f"_{name}"
            write_columns(os.path.join(directory, f"dev_predictions{suffix}.txt"), one)
        if tagged.counts is None:
            return
        official = conlleval.report(tagged.counts)
        matrix, names = conlleval.type_confusion(split.chunks, tagged.guess_chunks)
        path = os.path.join(directory, "eval_report.txt")
        with files.atomic_write(path) as file:
            file.write(official)
        run.log(f"{official}\n{classification.confusion_text(matrix, names)}\nreport: {path}")

    def write_predictions(self, name: str, split: Split, answers: Tagged) -> list[str]:
        """Columns; of files of texts also JSON lines, one a text: {"text", "entities": [[start,
        end, label], …]}, as they are read."""
        sentences, chunks = split.source, answers.guess_chunks
        paths = [os.path.join(self.options.output_dir, "test_predictions.txt")]
        write_columns(paths[0], answers)
        if sentences.texts is not None and chunks is not None:
            paths.append(os.path.join(self.options.output_dir, "test_predictions.jsonl"))
            found: list[list] = [[] for _ in sentences.texts]
            ends = np.cumsum(sentences.row_lengths)
            for first, last, kind in chunks.spans().tolist():
                found[int(np.searchsorted(ends, first, side="right"))].append(
                    [
                        int(sentences.offsets[first, 0]),
                        int(sentences.offsets[last - 1, 1]),
                        chunks.type_names[kind],
                    ]
                )
            with files.atomic_write(paths[1]) as file:
                file.writelines(
                    json.dumps({"text": text, "entities": named}) + "\n"
                    for text, named in zip(sentences.texts, found, strict=True)
                )
        return paths

    def predict(self, run: RunningModel) -> dict[str, float] | None:
        metrics = super().predict(run)
        if metrics is not None:
            path = os.path.join(self.options.output_dir, "test_results.json")
            json_files.write(
                path,
                {
                    "global_step": run.weights_step,
                    **{
                        name.removeprefix("test_"): value for name, value in sorted(metrics.items())
                    },
                },
            )
            run.log(f"its labels are known: {path}")
        return metrics


def tag_split(data: TokenData, split: Split, probabilities: np.ndarray) -> Tagged:
    """Chooses the most probable labels; chunks of them are read as conlleval does."""
    sentences, guess = split.source, probabilities.argmax(axis=-1)
    gold_tags = counts = None
    if data.chunk_names is None:
        if sentences.tags is not None:
            gold_tags = [sentences.tag_names[tag] for tag in sentences.tags.tolist()]
        return Tagged(
            split,
            probabilities,
            None,
            gold_tags,
            [data.labels[label] for label in guess.tolist()],
            None,
        )
    guess_chunks = find_chunks(guess, data.chunk_names, sentences.row_lengths)
    guess_tags = _tags_of(guess_chunks)
    if split.chunks is not None:
        gold_tags = _tags_of(split.chunks)
        counts = conlleval.count_chunks(
            split.chunks, guess_chunks, sum(map(str.__eq__, gold_tags, guess_tags))
        )
    return Tagged(split, probabilities, guess_chunks, gold_tags, guess_tags, counts)


def write_columns(path: str, tagged: Tagged) -> None:
    """The official columns, which any scorer reads: word, right tag (where it is known), guess;
    chunks in IOB2.

    Blanks inside of words become underscores.
    """
    sentences = tagged.split.source
    ends = set((np.cumsum(sentences.row_lengths) - 1).tolist())
    columns = [["_".join(word.split()) or "_" for word in sentences.words]]
    columns += [tagged.gold_tags] if tagged.gold_tags is not None else []
    columns.append(tagged.guess_tags)
    with files.atomic_write(path) as file:
        for number, row in enumerate(zip(*columns, strict=True)):
            file.write(" ".join(row) + ("\n\n" if number in ends else "\n"))


def _tags_of(chunks: Chunks) -> list[str]:
    tags, names = write_tags(chunks, IOB2)
    return [names[tag] for tag in tags.tolist()]
