"""Vectors of sentences with a trained model: predictions, and the graphs of an export.

Input: a run directory of `run_sentence_embedding.py`. Output: a vector for each text.
"""

import numpy as np

from bert_common.options import Options
from bert_tf.tasks.inference import TaskInference, to_json
from modeling.checkpoints.companion_files import SENTENCE_EMBEDDING, known_vectors
from modeling.checkpoints.load import Checkpoint
from modeling.sentence_embedding import BertForSentenceEmbedding


class SentenceEmbeddingInference(TaskInference):
    """{"vector": [D numbers]} of a text; its pooling and length are those of `task.json`.

    Attributes:
      vectors: how those of tokens become one.
    """

    kinds = (SENTENCE_EMBEDDING,)
    default_length = 128
    layouts = (("text",),)

    def __init__(self, loaded: Checkpoint, settings: Options):
        super().__init__(loaded, settings)
        self.vectors = known_vectors(loaded.vectors)
        self.load(
            loaded,
            BertForSentenceEmbedding(
                loaded.config, pooling=self.vectors.pooling, normalize=self.vectors.normalize
            ),
        )

    def model_outputs(self, features: dict) -> dict:
        """float32 "vector" [B, D]."""
        return {"vector": self.model(features)}

    def embed(self, inputs: list[tuple[str, ...]]) -> np.ndarray:
        """float32 [E, D] of inputs that were checked, at least one."""
        return self.run(self.examples(inputs))["vector"]

    def predict(self, inputs: list[tuple[str, ...]]) -> list[dict]:
        return [{"vector": list(map(to_json, vector))} for vector in self.embed(inputs)]
