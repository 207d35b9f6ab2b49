"""Classes or scores of texts and pairs with a trained classifier: predictions, and the graphs of an export.

Input: a run directory of `run_classifier.py`, or a classifier of others; `task.json` or Hugging Face's `id2label` names
the classes. Output: {"label", "probabilities"} or {"score"}.
"""

from collections.abc import Mapping

import tensorflow as tf

from common.errors import UserError
from modeling.checkpoints.load import LoadedCheckpoint
from modeling.classification import BertForClassification
from tasks.inference import InferenceSettings, TaskInference, to_json


class ClassifierInference(TaskInference):
  """{"label": name, "probabilities": {name: p}} of a text or a pair; {"score": x} for regression.

  Attributes:
    labels: names of the classes; None for regression.
  """

  head = "classifier"
  kinds = ("classification", "regression")

  def __init__(self, loaded: LoadedCheckpoint, settings: InferenceSettings):
    super().__init__(loaded, settings)
    task = loaded.task or {}
    self.labels = class_labels(loaded)
    if self.labels is not None and "labels" not in task and "id2label" not in loaded.config.extra:
      self.notes.append(f"nothing tells the names of the classes: they are 0 to {len(self.labels) - 1}")
    # None where nothing tells whether inputs are pairs: both are taken.
    self._pair = task.get("pair")
    if self._pair is None:
      self.notes.append("nothing tells whether the model is for pairs: give an empty text_b for single texts")
    self.text_inputs = ("text_a",) if self._pair is False else ("text_a", "text_b")
    self.load(loaded, BertForClassification(loaded.config, len(self.labels or [""])))

  def check(self, value: object) -> tuple[str, ...]:
    texts = super().check(value)
    if self._pair is not None and self._pair != (len(texts) == 2):
      raise UserError("the model was trained on pairs of texts, this is one text" if self._pair else
                      "the model was trained on single texts, this is a pair")
    return texts

  def model_outputs(self, features: dict) -> dict:
    """float32 "probabilities" [B, C], or "score" [B]."""
    logits = self.model(features)
    return {"score": logits[:, 0]} if self.labels is None else {"probabilities": tf.nn.softmax(logits)}

  def predict(self, inputs: list[tuple[str, ...]]) -> list[dict]:
    outputs = self.run(self.examples(inputs))
    if self.labels is None:
      return [{"score": to_json(score)} for score in outputs["score"]]
    return [{"label": self.labels[int(row.argmax())],
             "probabilities": {label: to_json(value) for label, value in zip(self.labels, row, strict=True)}}
            for row in outputs["probabilities"]]

  def serve_token_ids(self, input_ids, input_mask, segment_ids) -> dict:
    """float32 "probabilities" [B, C], string "label" [B] (the most probable) and "labels" [B, C] (all, the same in
    every row); for regression float32 "score" [B]."""
    outputs = super().serve_token_ids(input_ids, input_mask, segment_ids)
    if self.labels is None:
      return outputs
    labels = tf.constant(self.labels)
    return {**outputs, "label": tf.gather(labels, tf.argmax(outputs["probabilities"], 1)),
            "labels": tf.tile(labels[None], [tf.shape(input_ids)[0], 1])}


def class_labels(loaded: LoadedCheckpoint) -> list[str] | None:
  """Names of the classes of a classifier, "0", "1", ... where nothing tells; None for regression.

  Raises:
    UserError: the names are not as many as the classes or not all different, or several classes apply at once.
  """
  source, task = loaded.source, loaded.task or {}
  classes = source.classes("classifier")
  problem = loaded.config.extra.get("problem_type")
  if task.get("kind") == "regression" or (not task and (classes == 1 or problem == "regression")):
    if classes != 1:
      raise UserError(f"{source.description} is for a score, but its head has {classes} outputs")
    return None
  if not task and problem == "multi_label_classification":
    raise UserError(f"{source.description} is for several classes at once; only one of the classes can be predicted")
  if "labels" in task:
    labels, where = task["labels"], "task.json"
  else:
    named = loaded.config.extra.get("id2label")
    named = named if isinstance(named, Mapping) else {}
    labels, where = [named.get(str(number), str(number)) for number in range(classes)], "id2label"
  if not isinstance(labels, list) or len(labels) != classes or len(set(map(str, labels))) != classes:
    raise UserError(f"{source.description}: {where} must name {classes} different classes, as many as the head has: "
                    f"it has {labels!r}")
  return list(map(str, labels))
