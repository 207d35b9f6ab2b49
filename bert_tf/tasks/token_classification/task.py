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
from bert_tf.runs.evaluation import Evaluation, constant_predictions, write_eval_results
from bert_tf.runs.fine_tuning import FineTuningTask
from bert_tf.runs.options import TEACHERS
from bert_tf.runs.task import Run
from bert_tf.tasks.token_classification.data import Split, TokenData, check_head, read_data
from bert_tf.tasks.token_classification.options import TokenClassificationOptions
from data_gen.labeled.tag_schemes import IOB2, Chunks, find_chunks, write_tags
from modeling.config import with_label_names
from modeling.fine_tuning import TOKEN_CLASSIFICATION_LOSS, BertForTokenClassification
from modeling.losses import HeadLoss


@dataclasses.dataclass(frozen=True)
class Tagged:
    """The words of a split with the model's predictions; W words.

    Attributes:
      probabilities: float32 [W, C].
      guess_chunks: None for plain tags.
      gold_tags, guess_tags: W tags each, of chunks in IOB2; the true ones are None if the file has
        none.
      counts: of chunks; None for plain tags, and without true tags.
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
        # The number of labels is only known after the data is read.
        self.config = with_label_names(self.config, self.data.labels)
        self.head_mismatch = check_head(self.checkpoint, self.data)
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
            self.teachers.check_vocabulary(self.checkpoint.tokenizer.vocabulary, self.do_lower_case)
            self.teachers.check_labels(self.data.labels)

    def make_model(self, dtype: str) -> BertForTokenClassification:
        # Teachers run in the student's training step, so they live on the same devices.
        if self.teachers is not None:
            self.teachers.load(dtype)
        return BertForTokenClassification(
            self.config,
            len(self.data.labels),
            seed=self.options.seed,
            dtype=dtype,
        )

    def loss(self, model: BertForTokenClassification) -> HeadLoss:
        loss = dataclasses.replace(TOKEN_CLASSIFICATION_LOSS, weights=_weights_of_words)
        if self.teachers is None:
            return loss
        return self.teachers.distilled(loss, self.options)

    def outputs(self, model: BertForTokenClassification, features: dict) -> dict:
        return {"probabilities": tf.nn.softmax(model(features))}

    def answer(self, trainer: Run, split: Split) -> Tagged:
        """Returns the labels of the words."""
        # A word that several windows score gets the mean of its probabilities.
        of_tokens = trainer.predict(split.examples)["probabilities"]
        return tag_split(self.data, split, split.windows.to_words(of_tokens))

    def score(self, split: Split, answers: Tagged) -> dict[str, float]:
        """Returns the metrics of a set.

        For chunks they are "f1", "precision" and "recall" of the official scorer and "surface_f1"
        of WNUT-17; always "accuracy" of the words' tags, and "loss" of the words whose true label
        the model has.
        """
        tags = zip(answers.gold_tags, answers.guess_tags, strict=True)
        accuracy = float(np.mean([gold == guess for gold, guess in tags]))
        has_label = np.flatnonzero(split.labels >= 0)
        # Logarithms of probabilities are logits, too. The bound keeps them finite.
        tiny = np.finfo(np.float32).tiny
        logits = np.log(np.maximum(answers.probabilities[has_label], tiny))
        loss = TOKEN_CLASSIFICATION_LOSS.score(logits, split.labels[has_label])["loss"]
        metrics = {"accuracy": accuracy, "loss": loss}
        # Plain tags, such as parts of speech, have no chunks.
        if answers.counts is None:
            return metrics
        precision, recall, f1 = answers.counts.overall()
        _, _, surface_f1 = conlleval.surface_scores(
            split.source.words, split.chunks, answers.guess_chunks
        )
        return {
            "precision": precision / 100,
            "recall": recall / 100,
            "f1": f1 / 100,
            "surface_f1": surface_f1 / 100,
            **metrics,
        }

    def constant_predictions(self, name: str, split: Split, answers: Tagged) -> str | None:
        return constant_predictions(name, answers.guess_tags, answers.gold_tags, "words")

    def write_evaluation(self, trainer: Run, evaluation: Evaluation) -> None:
        directory = self.options.output_dir
        split, tagged = self.data.first(evaluation.details)
        trainer.log(write_eval_results(directory, evaluation, len(split), "eval_"))
        for name, answers in evaluation.details.items():
            suffix = "" if answers is tagged else f"_{name.removeprefix('dev_')}"
            write_columns(os.path.join(directory, f"dev_predictions{suffix}.txt"), answers)
        if tagged.counts is None:
            return
        official = conlleval.report(tagged.counts)
        matrix, names = conlleval.type_confusion(split.chunks, tagged.guess_chunks)
        path = os.path.join(directory, "eval_report.txt")
        with files.atomic_write(path) as file:
            file.write(official)
        trainer.log(f"{official}\n{classification.confusion_text(matrix, names)}\nreport: {path}")

    def write_predictions(self, name: str, split: Split, answers: Tagged) -> list[str]:
        """Writes columns; for files of texts also JSON lines, one per text.

        A line is {"text", "entities": [[start, end, label], …]}, as such files are read.
        """
        path = os.path.join(self.options.output_dir, "test_predictions.txt")
        write_columns(path, answers)
        if split.source.texts is None or answers.guess_chunks is None:
            return [path]
        lines_path = os.path.join(self.options.output_dir, "test_predictions.jsonl")
        entities = _entities_of_texts(split, answers.guess_chunks)
        with files.atomic_write(lines_path) as file:
            for text, text_entities in zip(split.source.texts, entities, strict=True):
                file.write(json.dumps({"text": text, "entities": text_entities}) + "\n")
        return [path, lines_path]

    def predict(self, trainer: Run) -> dict[str, float] | None:
        metrics = super().predict(trainer)
        if metrics is not None:
            path = os.path.join(self.options.output_dir, "test_results.json")
            results: dict[str, float] = {"global_step": trainer.weights.step}
            for name, value in sorted(metrics.items()):
                results[name.removeprefix("test_")] = value
            json_files.write(path, results)
            trainer.log(f"scores of the test set: {path}")
        return metrics


def _weights_of_words(features: dict):
    """Returns the weights of the labels, float32 [B, S], 0 for padding."""
    # Batches are padded with 0, which is a real label.
    is_token = features["input_mask"] > 0
    labels = tf.where(is_token, features["label_ids"], -1)
    return TOKEN_CLASSIFICATION_LOSS.weights({**features, "label_ids": labels})


def tag_split(data: TokenData, split: Split, probabilities: np.ndarray) -> Tagged:
    """Chooses the most probable labels; reads chunks from them as conlleval does."""
    sentences = split.source
    guess = probabilities.argmax(axis=-1)
    gold_tags = None
    if data.chunk_names is None:
        if sentences.tags is not None:
            gold_tags = [sentences.tag_names[tag] for tag in sentences.tags.tolist()]
        guess_tags = [data.labels[label] for label in guess.tolist()]
        return Tagged(split, probabilities, None, gold_tags, guess_tags, None)
    guess_chunks = find_chunks(guess, data.chunk_names, sentences.row_lengths)
    guess_tags = _iob2_tags(guess_chunks)
    counts = None
    if split.chunks is not None:
        gold_tags = _iob2_tags(split.chunks)
        pairs = zip(gold_tags, guess_tags, strict=True)
        num_correct = sum(gold == guess for gold, guess in pairs)
        counts = conlleval.count_chunks(split.chunks, guess_chunks, num_correct)
    return Tagged(split, probabilities, guess_chunks, gold_tags, guess_tags, counts)


def write_columns(path: str, tagged: Tagged) -> None:
    """Writes the official columns, which any scorer reads: word, true tag (if any), predicted tag.

    Chunks are in IOB2. Blanks inside of words and types become underscores.
    """
    sentences = tagged.split.source
    last_words = set((np.cumsum(sentences.row_lengths) - 1).tolist())
    columns = [sentences.words]
    if tagged.gold_tags is not None:
        columns.append(tagged.gold_tags)
    columns.append(tagged.guess_tags)
    # Blanks separate the columns.
    columns = [["_".join(field.split()) or "_" for field in column] for column in columns]
    with files.atomic_write(path) as file:
        for index, row in enumerate(zip(*columns, strict=True)):
            file.write(" ".join(row) + "\n")
            if index in last_words:
                file.write("\n")


def _entities_of_texts(split: Split, chunks: Chunks) -> list[list]:
    """Returns [start, end, label] of the chunks of each text, in characters."""
    sentences = split.source
    ends = np.cumsum(sentences.row_lengths)
    entities: list[list] = [[] for _ in sentences.texts]
    for first, end, kind in chunks.spans().tolist():
        text = int(np.searchsorted(ends, first, side="right"))
        start_character = int(sentences.offsets[first, 0])
        end_character = int(sentences.offsets[end - 1, 1])
        entities[text].append([start_character, end_character, chunks.type_names[kind]])
    return entities


def _iob2_tags(chunks: Chunks) -> list[str]:
    tags, names = write_tags(chunks, IOB2)
    return [names[tag] for tag in tags.tolist()]
