"""Vectors of sentences with a trained model: predictions, and the graphs of an export.

Input: a run directory of `run_sentence_embedding.py`. Output: a vector for each text.
"""

import numpy as np

from bert_tf.tasks.inference import InferenceSettings, TaskInference, to_json
from bert_tf.tasks.sentence_embedding.data import KIND
from modeling.checkpoints.load import Checkpoint
from modeling.config import POOLINGS
from modeling.sentence_embedding import BertForSentenceEmbedding


class SentenceEmbeddingInference(TaskInference):
  """{"vector": [D numbers]} of a text; its pooling and length are those of `task.json`."""

  kinds = (KIND,)
  default_length = 128
  layouts = (("text",),)

  def __init__(self, loaded: Checkpoint, settings: InferenceSettings):
    super().__init__(loaded, settings)
    task = loaded.task or {}
    self.load(loaded, BertForSentenceEmbedding(
        loaded.config, pooling=task.get("pooling", POOLINGS[0]), normalize=task.get("normalize", True)))

  def model_outputs(self, features: dict) -> dict:
    """float32 "vector" [B, D]."""
    return {"vector": self.model(features)}

  def vectors(self, inputs: list[tuple[str, ...]]) -> np.ndarray:
    """float32 [E, D] of inputs that were checked, at least one."""
    return self.run(self.examples(inputs))["vector"]

  def predict(self, inputs: list[tuple[str, ...]]) -> list[dict]:
    return [{"vector": list(map(to_json, vector))} for vector in self.vectors(inputs)]
