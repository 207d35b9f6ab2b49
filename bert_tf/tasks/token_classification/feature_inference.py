"""Taggers on fixed activations in use: how they are kept, predictions, and the graphs of an export.

Input: the best encoder and tagger of `run_ner.py --feature_based`. Output: a run directory; entities of texts, as
fine-tuned models give them. The tagger reads all words of a text as one sentence.
"""

import dataclasses
import os

import numpy as np
import tensorflow as tf

from bert_tf.common import json_files
from bert_tf.common.errors import UserError
from bert_tf.tasks.token_classification.activations import encoder_states, score_sentences
from bert_tf.tasks.token_classification.inference import TokenInference, check_labels
from bert_tf.tasks.token_classification.options import COMBINATIONS
from bert_tf.tasks.token_classification.word_graph import CONTINUATION
from modeling.checkpoints.companion_files import TASK_FILE
from modeling.checkpoints.load import Checkpoint
from modeling.checkpoints.weights import FEATURE_TAGGER_PREFIX, show_shape, weight_values
from modeling.checkpoints.write import write_checkpoint
from modeling.encoder import BertEncoder
from modeling.feature_tagger import FeatureTagger

# "kind" in task.json, and its further keys there.
KIND = "token_classification_from_features"
_LAYERS, _COMBINE = "layers", "combine"


def write_tagger(directory: str, encoder: BertEncoder, tagger: FeatureTagger, layers: tuple[int, ...],
                 description: dict, opened: Checkpoint) -> None:
  """Writes a run directory with an encoder and the tagger that reads its activations.

  Args:
    directory: an empty one, or one to be made.
    encoder: with its weights.
    tagger: with its weights.
    layers: what it reads, 0 for the embeddings, 1 for the first layer.
    description: `task.json` of a fine-tuned tagger.
    opened: where the encoder is from: its configuration, vocabulary and casing.

  Raises:
    UserError: the disk is full, or the directory can't be written.
  """
  values = {FEATURE_TAGGER_PREFIX + name: np.asarray(variable.value, np.float32)
            for name, variable in tagger.named_weights.items()}
  write_checkpoint("native", directory, {**weight_values(encoder), **values}, opened.config, opened.vocab_file,
                   opened.tokenizer.do_lower_case)
  json_files.write(os.path.join(directory, TASK_FILE), {
      **description, "kind": KIND, _LAYERS: list(layers), _COMBINE: tagger.combine})


class FeatureTaggerInference(TokenInference):
  """As `TokenInference`, with a BiLSTM between the encoder and the labels that reads the words of a text.

  Of token ids, which do not tell words, every word of the basic tokenizer is one, and only its first sub-token has
  probabilities.
  """

  head = None
  kinds = (KIND,)
  token_outputs = ("states",)

  def model_outputs(self, features: dict) -> dict:
    """float32 "states" [B, S, N, H], of the N layers that the tagger reads."""
    outputs = self.model(features["input_ids"], features["input_mask"], features["segment_ids"])
    return {"states": tf.cast(tf.stack(encoder_states(outputs, self._layers), axis=2), tf.float32)}

  def serve_token_ids(self, input_ids, input_mask, segment_ids) -> dict:
    """"probabilities" float32 [B, S, C], 0 where no word begins."""
    features = {"input_ids": input_ids, "input_mask": input_mask, "segment_ids": segment_ids}
    states = self.model_outputs(features)["states"]
    is_special = (input_ids == self.vocabulary.cls_id) | (input_ids == self.vocabulary.sep_id)
    kinds = tf.gather(tf.constant(self._kinds, tf.int32), input_ids)
    places = tf.where((input_mask > 0) & ~is_special & (kinds != CONTINUATION))
    batch, length = tf.unstack(tf.shape(input_ids, tf.int64))
    scored = self._score_in_graph(tf.gather_nd(states, places), places[:, 0], batch)
    return {"probabilities": tf.scatter_nd(places, scored, tf.stack([batch, length, len(self.labels)]))}

  def _read_labels(self, loaded: Checkpoint) -> list[str]:
    weights, bias = (loaded.source.tensors.get(f"{FEATURE_TAGGER_PREFIX}output_{name}") for name in ("weights", "bias"))
    if weights is None or bias is None:
      raise UserError(f"{loaded.source.description} has no tagger on fixed activations, which its task.json tells of: "
                      "restore the files that belong together")
    return check_labels(loaded, list(map(str, (loaded.task or {}).get("labels", []))), bias[0])

  def _load_model(self, loaded: Checkpoint) -> None:
    source, config = loaded.source, loaded.config
    self._layers, combine = _described(loaded)
    prefix = FEATURE_TAGGER_PREFIX
    tensors = {name.removeprefix(prefix): shape for name, shape in source.tensors.items() if name.startswith(prefix)}
    depth = len({name.partition("/")[0] for name in tensors if name.startswith("lstm_")})
    units = tensors["output_weights"][0] // 2
    self._tagger = FeatureTagger(len(self.labels), len(self._layers), combine, units=units, depth=depth)
    self._tagger.build_weights(config.hidden_size)
    variables = self._tagger.named_weights
    for name in sorted({*variables, *tensors}):
      shapes = tuple(variables[name].shape) if name in variables else None, tensors.get(name)
      if shapes[0] != shapes[1]:
        there, here = ("missing" if shape is None else show_shape(shape) for shape in reversed(shapes))
        raise UserError(f"{source.description}: the tagger on fixed activations does not fit its task.json: {name} is "
                        f"{there} there and {here} here: restore the files that belong together")
    for name, variable in variables.items():
      variable.assign(source.read(prefix + name))
    self.load(loaded, BertEncoder(config))
    self.load_report = dataclasses.replace(
        self.load_report, loaded=[*self.load_report.loaded, *(prefix + name for name in variables)],
        unused=[name for name in self.load_report.unused if not name.startswith(prefix)])
    vectors = tf.TensorSpec([None, None, len(self._layers), config.hidden_size], tf.float32)
    self._probabilities = tf.function(
        self._score_sentences, input_signature=[vectors, tf.TensorSpec([None, None], tf.bool)])

  def _score(self, values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return score_sentences(self._probabilities, values, lengths, len(self.labels), self._batch_size)

  def _score_in_graph(self, values, rows, num_texts):
    words = tf.RaggedTensor.from_value_rowids(values, rows, num_texts, validate=False)
    # A step more than there are words: Keras' LSTM reads at least one.
    vectors = tf.pad(words.to_tensor(), [[0, 0], [0, 1], [0, 0], [0, 0]])
    mask = tf.sequence_mask(words.row_lengths(), tf.shape(vectors)[1])
    return tf.boolean_mask(self._score_sentences(vectors, mask), mask)

  def _score_sentences(self, vectors, mask):
    return tf.nn.softmax(self._tagger(vectors, mask))


def _described(loaded: Checkpoint) -> tuple[tuple[int, ...], str]:
  """Layers, and how they become one vector.

  Raises:
    UserError: `task.json` says what can't be.
  """
  layers, combine = loaded.task.get(_LAYERS), loaded.task.get(_COMBINE)
  count = loaded.config.num_hidden_layers
  if not isinstance(layers, list) or not layers or not all(type(one) is int and 0 <= one <= count for one in layers):
    raise UserError(f"{loaded.source.description}: layers in task.json is {layers!r}, a list of numbers of layers, 0 "
                    f"to {count}, is expected")
  if combine not in COMBINATIONS:
    raise UserError(f"{loaded.source.description}: combine in task.json is {combine!r}, one of "
                    f"{', '.join(COMBINATIONS)} is expected")
  return tuple(layers), combine
