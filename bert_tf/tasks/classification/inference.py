"""Predictions and exports of a trained classifier: classes or scores of texts and pairs.

Input: a run directory of `run_classifier.py`, or a classifier of others; `task.json` or Hugging
Face's `id2label` names the classes. Output: {"label", "probabilities"}, {"labels", "probabilities"}
if several classes may apply, or {"score"}.
"""

from collections.abc import Mapping

import numpy as np
import tensorflow as tf
from keras import ops

from bert_common.errors import UserError
from bert_common.options import Options
from bert_tf.evaluation.classification import sigmoid, softmax
from bert_tf.tasks.classification.checkpoint_classes import (
    CLASSES,
    SCORES,
    SEVERAL_CLASSES,
    problem_kind,
)
from bert_tf.tasks.classification.data import named_probabilities, predicted_labels
from bert_tf.tasks.classification.long_texts import LongTexts, pool
from bert_tf.tasks.inference import TaskInference, split_pairs, to_json
from bert_tf.training.examples import Examples, lengths_for
from bert_tf.training.prediction import local_prediction
from modeling.checkpoints.load import Checkpoint
from modeling.fine_tuning import BertForClassification
from modeling.preprocessing.graph_tokenizer import column, features


class ClassificationInference(TaskInference):
    """Classifier: {"label": name, "probabilities": {name: p}} for a text or a pair.

    If several classes may apply, {"labels": names of a probability of at least one half,
    "probabilities": {name: p}}; for regression {"score": x}.
    """

    head = "classification"
    kinds = (CLASSES, SCORES, SEVERAL_CLASSES)

    def __init__(self, loaded: Checkpoint, settings: Options):
        super().__init__(loaded, settings)
        task = loaded.task_settings
        self.labels = class_labels(loaded)
        self.multi_label = self.labels is not None and problem_kind(loaded) == SEVERAL_CLASSES
        # Truncation or windows are as in the training; only --max_seq_length may change.
        side = None if task else loaded.source.truncation_side
        self.long_texts = LongTexts.choose(None, self.max_seq_length, None, task, side)
        self.truncation = self.long_texts.truncation
        # Classifiers are trained without the prompts of sentence-transformers.
        self.prompt = ""
        has_names = "labels" in task or "id2label" in loaded.config.extra
        if self.labels is not None and not has_names:
            self.notes.append(
                f"the names of the classes are unknown: they are 0 to {len(self.labels) - 1}"
            )
        # None if it is unknown whether inputs are pairs: then both are taken.
        self._takes_pair = task.get("pair")
        if self.long_texts.is_windows:
            self._takes_pair = False
        if self._takes_pair is None:
            self.notes.append(
                "whether the model is for pairs is unknown: give an empty text_b for single texts"
            )
        if self._takes_pair is False:
            self.text_inputs = ("text_a",)
        else:
            self.text_inputs = ("text_a", "text_b")
        self.has_sigmoid = has_sigmoid(loaded)
        # The result's main value comes first: it is the one that an unusable row lacks.
        self.table_columns = ("label", "probability")
        if self.labels is None:
            self.table_columns = ("score",)
        elif self.multi_label:
            self.table_columns = ("labels", "probability")
        if self.labels is not None:
            num_outputs = len(self.labels)
        else:
            num_outputs = 1
        self.load(loaded, BertForClassification(loaded.config, num_outputs))

    def check(self, value: object) -> tuple[str, ...]:
        texts = super().check(value)
        is_pair = len(texts) == 2
        # A model of pairs has never seen a sequence with one text, and would predict anything.
        if self._takes_pair is True and not is_pair:
            raise UserError("the model was trained on pairs of texts, this is one text")
        if self._takes_pair is False and is_pair:
            raise UserError("the model was trained on single texts, this is a pair")
        if not any(map(str.strip, texts)):
            raise UserError("the text is empty: there is nothing to classify")
        return texts

    def examples(self, inputs: list[tuple[str, ...]]) -> Examples:
        return self._sequences(inputs)[0]

    def _sequences(self, inputs: list[tuple[str, ...]]) -> tuple[Examples, np.ndarray | None]:
        """Returns sequences, and the number of them of each input, see `LongTexts.encode`."""
        examples, window_counts, truncated = self.long_texts.encode(
            self.tokenizer, *split_pairs(inputs)
        )
        self.truncated += truncated
        return examples, window_counts

    def model_outputs(self, features: dict) -> dict:
        """Returns float32 "probabilities" [B, C], or "score" [B] for regression.

        If rows may be windows of a text, "window_logits" [B, C].
        """
        logits = self.model(features)
        if self.long_texts.is_windows:
            return {"window_logits": logits}
        return self._scores(logits)

    def _scores(self, logits) -> dict:
        """Converts logits of texts, [B, C], in a graph."""
        if self.labels is None:
            scores = logits[:, 0]
            return {"score": ops.sigmoid(scores) if self.has_sigmoid else scores}
        if self.multi_label:
            return {"probabilities": ops.sigmoid(logits)}
        return {"probabilities": ops.softmax(logits)}

    def predict(self, inputs: list[tuple[str, ...]]) -> list[dict]:
        examples, window_counts = self._sequences(inputs)
        outputs = self.run(examples)
        if self.long_texts.is_windows:
            # Average logits, as training and evaluation do, not probabilities.
            logits = pool(outputs["window_logits"], window_counts)
            outputs = {"score": logits[:, 0]}
            if self.has_sigmoid:
                outputs["score"] = sigmoid(logits[:, 0]).astype(np.float32)
            if self.multi_label:
                outputs["probabilities"] = sigmoid(logits).astype(np.float32)
            else:
                outputs["probabilities"] = softmax(logits).astype(np.float32)
        if self.labels is None:
            return [{"score": to_json(score)} for score in outputs["score"]]
        results = []
        for row in outputs["probabilities"]:
            result = predicted_labels(self.labels, row, self.multi_label)
            result["probabilities"] = named_probabilities(self.labels, row, to_json)
            results.append(result)
        return results

    def with_columns(self, result: dict) -> dict:
        """Adds "probability": of the label, or of each of several labels."""
        probabilities = result.get("probabilities")
        if probabilities is None:
            return result
        if self.multi_label:
            columns = {"labels": result["labels"]}
            columns["probability"] = [probabilities[label] for label in result["labels"]]
        else:
            columns = {"label": result["label"], "probability": probabilities[result["label"]]}
        # The keys have the order of the columns.
        return {**columns, "probabilities": probabilities}

    def logits(self, inputs: list[tuple[str, ...]]) -> np.ndarray:
        """Returns the logits of checked inputs, float32 [E, C], averaged over windows."""
        examples, window_counts = self._sequences(inputs)
        run = local_prediction(
            lambda features: {"logits": self.model(features)},
            self._batch_size,
            lengths_for(self.max_seq_length, few=False),
        )
        return pool(run(examples)["logits"], window_counts)

    def serve_token_ids(self, features: dict) -> dict:
        """Signature "token_ids".

        Returns:
          float32 "probabilities" [B, C], string "labels" [B, C] (all, the same in every row) and
          "label" [B] (the most probable, unless several classes may apply); for regression float32
          "score" [B]. If long texts are read in windows, the rows are windows: float32
          "window_logits" [B, C], whose mean counts.
        """
        # Names are strings, which a compiled graph can't contain: they are added outside of
        # `model_outputs`.
        return self._add_names(self.model_outputs(features))

    def _add_names(self, outputs: dict) -> dict:
        """Adds the names of the classes to probabilities."""
        if "probabilities" not in outputs:
            return outputs
        labels = tf.constant(self.labels)
        probabilities = outputs["probabilities"]
        # Servers expect a row per input in every output, also for what is the same for all.
        outputs = {**outputs, "labels": tf.tile(labels[None], [tf.shape(probabilities)[0], 1])}
        if not self.multi_label:
            outputs["label"] = tf.gather(labels, tf.argmax(probabilities, 1))
        return outputs

    def serve_texts(self, *texts) -> dict:
        """Signature "serving_default": outputs of `serve_token_ids` for texts.

        If long texts are read in windows, it averages the logits of a text's windows first.
        """
        if not self.long_texts.is_windows:
            return super().serve_texts(*texts)
        # Cut the same windows as `encode_windows`: rows [W, (tokens)] and the text of each, [W].
        ids = self.tokenize(texts[0])[0].ids
        room = self.max_seq_length - 2
        stride = self.long_texts.window_stride
        lengths = ids.row_lengths()
        # The last window ends with the text: a text of `room` tokens or less has one.
        last_starts = tf.maximum(lengths - room, 0)
        counts = 1 + (last_starts + stride - 1) // stride
        text_numbers = tf.repeat(tf.range(ids.nrows()), counts)
        starts = tf.ragged.range(counts).flat_values * stride
        starts = tf.minimum(starts, tf.gather(last_starts, text_numbers))
        sizes = tf.minimum(tf.gather(lengths, text_numbers) - starts, room)
        starts += tf.gather(ids.row_starts(), text_numbers)
        positions = tf.ragged.range(starts, starts + sizes)
        windows = positions.with_flat_values(tf.gather(ids.values, positions.flat_values))
        cls_column = column(windows, self.vocabulary.cls_id)
        sep_column = column(windows, self.vocabulary.sep_id)
        # A single text is of segment 0: no part has the number 3.
        packed = features([cls_column, windows, sep_column], 3, self.vocabulary)
        logits = self.model_outputs(packed)["window_logits"]
        return self._add_names(self._scores(tf.math.segment_mean(logits, text_numbers)))


def has_sigmoid(loaded: Checkpoint) -> bool:
    """Whether the score of a re-ranker of sentence-transformers is the sigmoid of its output.

    Raises:
      UserError: its activation is neither this nor the identity.
    """
    extra = loaded.config.extra
    settings = extra.get("sentence_transformers")
    name = extra.get("sbert_ce_default_activation_function")
    if isinstance(settings, Mapping):
        name = settings.get("activation_fn", name)
    # A score that was trained here is an output, whatever model the training began with.
    if loaded.task or not isinstance(name, str):
        return False
    activation = name.rpartition(".")[2]
    if activation not in ("Sigmoid", "Identity"):
        raise UserError(
            f"{loaded.source.description}: the scores are taken through {name}, which is not known "
            "here: only Sigmoid and Identity are"
        )
    return activation == "Sigmoid"


def class_labels(loaded: Checkpoint) -> list[str] | None:
    """Returns the names of a classifier's classes; None for regression.

    The names are "0", "1", ... if they are unknown.

    Raises:
      UserError: there are not as many names as classes, names repeat, or a regression has
        several outputs.
    """
    source = loaded.source
    task = loaded.task_settings
    classes = source.classes("classification")
    kind = problem_kind(loaded)
    # A foreign head with one output is taken for a regression.
    is_single_score = not task and classes == 1 and kind != SEVERAL_CLASSES
    if kind == SCORES or is_single_score:
        if classes != 1:
            raise UserError(
                f"{source.description} is for a score, but its head has {classes} outputs"
            )
        return None
    if "labels" in task:
        labels = task["labels"]
        origin = "task.json"
    else:
        names = loaded.config.extra.get("id2label")
        if not isinstance(names, Mapping):
            names = {}
        labels = [names.get(str(number), str(number)) for number in range(classes)]
        origin = "id2label"
    is_valid = isinstance(labels, list) and len(labels) == classes
    if not is_valid or len(set(map(str, labels))) != classes:
        raise UserError(
            f"{source.description}: {origin} must name {classes} different classes, as many as the "
            f"head has: it has {labels!r}"
        )
    return list(map(str, labels))
