"""Taggers on fixed activations in use: what a checkpoint says of them, predictions, and the graphs of an export.

Input: a run directory of `run_ner.py --feature_based`. Output: entities of texts, as fine-tuned models give them. The
tagger reads all words of a text as one sentence.
"""

import dataclasses

import numpy as np
import tensorflow as tf
from keras import ops

from bert_common.errors import UserError
from bert_tf.tasks.token_classification.data import FEATURES_KIND, checkpoint_labels
from bert_tf.tasks.token_classification.inference import TokenClassificationInference, check_labels
from bert_tf.tasks.token_classification.options import COMBINATIONS
from bert_tf.tasks.token_classification.word_graph import CONTINUATION
from modeling.bilstm import BertForFeatureTagging, encoder_states
from modeling.checkpoints.load import Checkpoint
from modeling.checkpoints.weights import FEATURE_TAGGER_PREFIX
from modeling.config import BertConfig


@dataclasses.dataclass(frozen=True)
class TaggerShape:
  """Sizes of a tagger on fixed activations.

  Attributes:
    layers: whose activations it reads, in this order: 0 for the embeddings, 1 for the first layer.
    combine: how they become one vector.
    units, depth: of the BiLSTM.
  """

  layers: tuple[int, ...]
  combine: str
  units: int
  depth: int

  @classmethod
  def of_checkpoint(cls, loaded: Checkpoint) -> "TaggerShape":
    """That of a trained one.

    Raises:
      UserError: there is none, or `task.json` contains out-of-range values.
    """
    tensors, task, where = tagger_tensors(loaded), loaded.task or {}, loaded.source.description
    layers, combine, count = task.get("layers"), task.get("combine"), loaded.config.num_hidden_layers
    if not isinstance(layers, list) or not layers or not all(type(one) is int and 0 <= one <= count for one in layers):
      raise UserError(f"{where}: layers in task.json is {layers!r}, a list of numbers of layers, 0 to {count}, is "
                      "expected")
    if combine not in COMBINATIONS:
      raise UserError(f"{where}: combine in task.json is {combine!r}, one of {', '.join(COMBINATIONS)} is expected")
    depth = len({name.partition("/")[0] for name in tensors if name.startswith("lstm_")})
    return cls(tuple(layers), combine, tensors["output_weights"][0] // 2, depth)

  def make_model(self, config: BertConfig, classes: int, **kwargs) -> BertForFeatureTagging:
    """A new model; kwargs: of `BertForFeatureTagging`."""
    return BertForFeatureTagging(config, classes, self.layers, self.combine, units=self.units, depth=self.depth,
                                 **kwargs)


def tagger_tensors(loaded: Checkpoint) -> dict[str, tuple[int, ...]]:
  """Shapes of the weights of a trained tagger, by their names after "feature_tagger/"."""
  found = {name.removeprefix(FEATURE_TAGGER_PREFIX): tuple(shape) for name, shape in loaded.source.tensors.items()
           if name.startswith(FEATURE_TAGGER_PREFIX)}
  if "output_weights" not in found or "output_bias" not in found:
    raise UserError(f"{loaded.source.description} has no tagger on fixed activations: the directory of a run with "
                    "--feature_based is expected")
  return found


class FeatureTaggerInference(TokenClassificationInference):
  """As `TokenClassificationInference`, with a BiLSTM between the encoder and the labels that reads the words of a text.

  Token ids do not show the words of a text: there every word of the basic tokenizer is one, and only its first
  sub-token has probabilities.
  """

  head = None
  kinds = (FEATURES_KIND,)
  token_outputs = ("states",)

  def model_outputs(self, features: dict) -> dict:
    """float32 "states" [B, S, N, H], of the N layers that the tagger reads."""
    return {"states": ops.cast(encoder_states(self.model.encoder, features, self.model.layer_numbers), "float32")}

  def serve_token_ids(self, features: dict) -> dict:
    """"probabilities" float32 [B, S, C], 0 where no word begins."""
    states, input_ids = self.model_outputs(features)["states"], features["input_ids"]
    is_special = (input_ids == self.vocabulary.cls_id) | (input_ids == self.vocabulary.sep_id)
    kinds = tf.gather(tf.constant(self._kinds, tf.int32), input_ids)
    places = tf.where((features["input_mask"] > 0) & ~is_special & (kinds != CONTINUATION))
    batch, length = tf.unstack(tf.shape(input_ids, tf.int64))
    scored = self._score_in_graph(tf.gather_nd(states, places), places[:, 0], batch)
    return {"probabilities": tf.scatter_nd(places, scored, tf.stack([batch, length, len(self.labels)]))}

  def _read_labels(self, loaded: Checkpoint) -> list[str]:
    (classes,) = tagger_tensors(loaded)["output_bias"]
    return check_labels(loaded, checkpoint_labels(loaded), classes)

  def _load_model(self, loaded: Checkpoint) -> None:
    shape = TaggerShape.of_checkpoint(loaded)
    self.load(loaded, shape.make_model(loaded.config, len(self.labels)))
    vectors = tf.TensorSpec([None, len(shape.layers), loaded.config.hidden_size], tf.float32)
    self._probabilities = tf.function(self._score_in_graph, autograph=False, input_signature=[
        vectors, tf.TensorSpec([None], tf.int64), tf.TensorSpec([], tf.int64)])

  def _score(self, values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    words = np.concatenate([[0], np.cumsum(lengths)])
    parts = []
    for first in range(0, len(lengths), self._batch_size):
      part = lengths[first:first + self._batch_size]
      end = first + len(part)
      rows = np.repeat(np.arange(len(part)), part)
      parts.append(self._probabilities(values[words[first]:words[end]], rows, len(part)).numpy())
    return np.concatenate(parts)

  def _score_in_graph(self, values, rows, num_texts):
    words = tf.RaggedTensor.from_value_rowids(values, rows, num_texts, validate=False)
    # A step more than there are words: Keras' LSTM reads at least one.
    states = tf.pad(words.to_tensor(), [[0, 0], [0, 1], [0, 0], [0, 0]])
    mask = tf.sequence_mask(words.row_lengths(), tf.shape(states)[1])
    return tf.boolean_mask(tf.nn.softmax(self.model({"states": states, "input_mask": mask})), mask)
