"""Predictions and exports of sentence embeddings: vectors of texts.

Input: a run directory of `run_sentence_embedding.py`. Output: a vector for each text.
"""

import numpy as np

from bert_common.options import Options
from bert_tf.tasks.inference import TaskInference, list_to_json
from modeling.checkpoints.companion_files import SENTENCE_EMBEDDING
from modeling.checkpoints.load import Checkpoint, dense_layers
from modeling.checkpoints.sentence_vectors import supported_vectors
from modeling.sentence_embedding import BertForSentenceEmbedding


class SentenceEmbeddingInference(TaskInference):
    """Vectors: {"vector": [D numbers]} for a text; `task.json` has pooling and length."""

    kinds = (SENTENCE_EMBEDDING,)
    default_length = 128
    layouts = (("text",),)

    def __init__(self, loaded: Checkpoint, settings: Options):
        super().__init__(loaded, settings)
        # A pooling that is unknown here would give other vectors than the model's authors publish.
        self.vectors = supported_vectors(loaded.vectors)
        model = BertForSentenceEmbedding(
            loaded.config, pooling=self.vectors.pooling, normalize=self.vectors.normalize
        )
        model.dense = dense_layers(self.vectors, loaded.config.hidden_size)
        model.truncate_dim = self.vectors.truncate_dim
        self.load(loaded, model)

    def model_outputs(self, features: dict) -> dict:
        """Returns float32 "vector" [B, D]."""
        # Pooling and normalization are parts of the model, so that exports contain them.
        return {"vector": self.model(features)}

    def embed(self, inputs: list[tuple[str, ...]]) -> np.ndarray:
        """Returns float32 [E, D] for one or more checked inputs."""
        return self.run(self.examples(inputs))["vector"]

    def predict(self, inputs: list[tuple[str, ...]]) -> list[dict]:
        return [{"vector": list_to_json(vector)} for vector in self.embed(inputs)]
