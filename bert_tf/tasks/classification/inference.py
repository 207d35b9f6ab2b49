"""Classes or scores of texts and pairs with a trained classifier: predictions, and the graphs of an
export.

Input: a run directory of `run_classifier.py`, or a classifier of others; `task.json` or Hugging
Face's `id2label` names the classes. Output: {"label", "probabilities"}, {"labels", "probabilities"}
where several may apply, or {"score"}.
"""

from collections.abc import Mapping

import numpy as np
import tensorflow as tf
from keras import ops

from bert_common.errors import UserError
from bert_common.options import Options
from bert_tf.evaluation.classification import sigmoid, softmax
from bert_tf.tasks.classification import data
from bert_tf.tasks.classification.data import LongTexts, pool, predicted_labels, problem_kind
from bert_tf.tasks.inference import TaskInference, to_json
from bert_tf.training.examples import Examples, lengths_for
from bert_tf.training.prediction import local_prediction
from modeling.checkpoints.load import Checkpoint
from modeling.fine_tuning import BertForClassification
from modeling.preprocessing.graph_tokenizer import column, features


class ClassificationInference(TaskInference):
    """{"label": name, "probabilities": {name: p}} of a text or a pair; {"score": x} for regression.

    Where several classes may apply, {"labels": names of a probability of at least one half,
    "probabilities": {name: p}}.
    """

    head = "classification"
    kinds = (data.CLASSES, data.SCORES, data.SEVERAL_CLASSES)

    def __init__(self, loaded: Checkpoint, settings: Options):
        super().__init__(loaded, settings)
        task = loaded.task or {}
        self.labels = class_labels(loaded)
        self.multi_label = self.labels is not None and problem_kind(loaded) == data.SEVERAL_CLASSES
        self.long_texts = LongTexts.choose(None, self.max_seq_length, None, task)
        self.lose, self.prompt = self.long_texts.lose, ""
        if (
            self.labels is not None
            and "labels" not in task
            and "id2label" not in loaded.config.extra
        ):
            self.notes.append(
                f"the names of the classes are unknown: they are 0 to {len(self.labels) - 1}"
            )
        # None where it is unknown whether inputs are pairs: both are taken.
        self._pair = False if self.long_texts.is_windows else task.get("pair")
        if self._pair is None:
            self.notes.append(
                "whether the model is for pairs is unknown: give an empty text_b for single texts"
            )
        self.text_inputs = ("text_a",) if self._pair is False else ("text_a", "text_b")
        self.load(loaded, BertForClassification(loaded.config, len(self.labels or [""])))

    def check(self, value: object) -> tuple[str, ...]:
        texts = super().check(value)
        if self._pair is not None and self._pair != (len(texts) == 2):
            raise UserError(
                "the model was trained on pairs of texts, this is one text"
                if self._pair
                else "the model was trained on single texts, this is a pair"
            )
        if not any(map(str.strip, texts)):
            raise UserError("the text is empty: there is nothing to classify")
        return texts

    def examples(self, inputs: list[tuple[str, ...]]) -> Examples:
        return self._sequences(inputs)[0]

    def _sequences(self, inputs: list[tuple[str, ...]]) -> tuple[Examples, np.ndarray | None]:
        """Sequences, and how many each input has, see `LongTexts.encode`."""
        examples, window_counts, truncated = self.long_texts.encode(
            self.tokenizer,
            [texts[0] for texts in inputs],
            [texts[1] if len(texts) > 1 else "" for texts in inputs],
        )
        self.truncated += truncated
        return examples, window_counts

    def model_outputs(self, features: dict) -> dict:
        """float32 "probabilities" [B, C], or "score" [B]; where rows may be windows,
        "window_logits" [B, C]."""
        logits = self.model(features)
        return {"window_logits": logits} if self.long_texts.is_windows else self._scores(logits)

    def _scores(self, logits) -> dict:
        if self.labels is None:
            return {"score": logits[:, 0]}
        return {"probabilities": ops.sigmoid(logits) if self.multi_label else ops.softmax(logits)}

    def predict(self, inputs: list[tuple[str, ...]]) -> list[dict]:
        examples, window_counts = self._sequences(inputs)
        outputs = self.run(examples)
        if self.long_texts.is_windows:
            logits = pool(outputs["window_logits"], window_counts)
            probabilities = sigmoid(logits) if self.multi_label else softmax(logits)
            outputs = {"score": logits[:, 0], "probabilities": probabilities.astype(np.float32)}
        if self.labels is None:
            return [{"score": to_json(score)} for score in outputs["score"]]
        return [
            {
                **predicted_labels(self.labels, row, self.multi_label),
                "probabilities": {
                    label: to_json(value) for label, value in zip(self.labels, row, strict=True)
                },
            }
            for row in outputs["probabilities"]
        ]

    def logits(self, inputs: list[tuple[str, ...]]) -> np.ndarray:
        """float32 [E, C] of inputs that were checked, at least one; of several windows the mean."""
        examples, window_counts = self._sequences(inputs)
        run = local_prediction(
            lambda features: {"logits": self.model(features)},
            self._batch_size,
            lengths_for(self.max_seq_length, few=False),
        )
        return pool(run(examples)["logits"], window_counts)

    def serve_token_ids(self, features: dict) -> dict:
        """float32 "probabilities" [B, C], string "label" [B] (the most probable; not where several
        classes may apply) and "labels" [B, C] (all, the same in every row); for regression float32
        "score" [B]. Where long texts are read in windows, the rows are windows: float32
        "window_logits" [B, C], of which the mean counts."""
        return self._named(self.model_outputs(features))

    def _named(self, outputs: dict) -> dict:
        """With the names of the classes."""
        if "probabilities" not in outputs:
            return outputs
        labels, probabilities = tf.constant(self.labels), outputs["probabilities"]
        named = {**outputs, "labels": tf.tile(labels[None], [tf.shape(probabilities)[0], 1])}
        return (
            named
            if self.multi_label
            else {**named, "label": tf.gather(labels, tf.argmax(probabilities, 1))}
        )

    def serve_texts(self, *texts) -> dict:
        """As `serve_token_ids` where a row is a text; of windows the mean of the logits is taken
        first."""
        if not self.long_texts.is_windows:
            return super().serve_texts(*texts)
        # The windows as `encode_windows` makes them: features [W, S], and int64 [W], whose.
        ids, room, stride = (
            self.tokenize(texts[0])[0].ids,
            self.max_seq_length - 2,
            self.long_texts.stride,
        )
        lengths = ids.row_lengths()
        beyond = tf.maximum(lengths - room, 0)
        counts = 1 + (beyond + stride - 1) // stride
        text = tf.repeat(tf.range(ids.nrows()), counts)
        starts = tf.minimum(tf.ragged.range(counts).flat_values * stride, tf.gather(beyond, text))
        sizes = tf.minimum(tf.gather(lengths, text) - starts, room)
        starts += tf.gather(ids.row_starts(), text)
        places = tf.ragged.range(starts, starts + sizes)
        rows = places.with_flat_values(tf.gather(ids.values, places.flat_values))
        ends = [column(rows, one) for one in (self.vocabulary.cls_id, self.vocabulary.sep_id)]
        outputs = self.model_outputs(features([ends[0], rows, ends[1]], 3, self.vocabulary))
        return self._named(self._scores(tf.math.segment_mean(outputs["window_logits"], text)))


def class_labels(loaded: Checkpoint) -> list[str] | None:
    """Names of the classes of a classifier, "0", "1", ... where they are unknown; None for
    regression.

    Raises:
      UserError: the names are not as many as the classes or not all different, or a score has
        several outputs.
    """
    source, task = loaded.source, loaded.task or {}
    classes = source.classes("classification")
    kind = problem_kind(loaded)
    if kind == data.SCORES or (not task and classes == 1 and kind != data.SEVERAL_CLASSES):
        if classes != 1:
            raise UserError(
                f"{source.description} is for a score, but its head has {classes} outputs"
            )
        return None
    if "labels" in task:
        labels, where = task["labels"], "task.json"
    else:
        named = loaded.config.extra.get("id2label")
        named = named if isinstance(named, Mapping) else {}
        labels, where = (
            [named.get(str(number), str(number)) for number in range(classes)],
            "id2label",
        )
    if (
        not isinstance(labels, list)
        or len(labels) != classes
        or len(set(map(str, labels))) != classes
    ):
        raise UserError(
            f"{source.description}: {where} must name {classes} different classes, as many as the head has: "
            f"it has {labels!r}"
        )
    return list(map(str, labels))
