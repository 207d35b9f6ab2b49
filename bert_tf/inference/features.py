"""Hidden states as features: for predictions and exports, and of whole files, `extract_features` of the original.

Input: texts and pairs of texts. Output: vectors of tokens or of whole texts. Lines of a file are read by the thousand
and computed in batches of similar length; the vectors are written in the order of the lines
(`bert_tf/inference/feature_files.py`).
"""

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

from bert_common import files
from bert_common.errors import UserError
from bert_common.progress import Progress
from bert_tf.inference.feature_files import FeatureChunk, feature_writer, open_input, read_chunks
from bert_tf.inference.options import ExtractOptions, InferenceSettings
from bert_tf.tasks.inference import TaskInference, to_json
from bert_tf.tasks.run import set_up_devices
from bert_tf.training.devices import Devices
from bert_tf.training.examples import Examples, lengths_for
from bert_tf.training.prediction import Prediction
from data_gen.labelled.pair_features import encode_pairs
from modeling.checkpoints.load import Checkpoint, load_weights, open_checkpoint
from modeling.checkpoints.sentence_transformers import SentenceVectors, known_vectors
from modeling.checkpoints.weights import POOLER
from modeling.config import BertConfig
from modeling.encoder import BertEncoder
from modeling.sentence_embedding import pool

# Of the vectors that are in memory together.
_BYTES_AT_ONCE = 256 << 20


class FeatureInference(TaskInference):
  """{"vector": [H numbers]} of a text or a pair; an export gives all vectors of the last layer."""

  def __init__(self, loaded: Checkpoint, settings: InferenceSettings):
    super().__init__(loaded, settings)
    check_layers((settings.layer,), loaded.config, "layer")
    self.load(loaded, BertEncoder(loaded.config))
    self._vectors_of = loaded.vectors
    self._layer, self._pooling = settings.layer, settings.pooling
    self._has_pooler = POOLER[0].original in loaded.source.tensors
    if not self._has_pooler:
      self.notes.append("the checkpoint has no pooler, so there is no pooled_output")

  def model_outputs(self, features: dict) -> dict:
    """float32 "layer_<number>" [B, H]."""
    outputs = layer_outputs(self.model, (self._layer,), self.vectors.pooling)(features)
    return {name: tf.math.l2_normalize(value, 1) if self.vectors.normalize else value
            for name, value in outputs.items()}

  @functools.cached_property
  def vectors(self) -> SentenceVectors:
    """How the vectors of a text become one. Raises `UserError` where it is unknown, see `known_vectors`."""
    return known_vectors(self._vectors_of, self._pooling)

  def predict(self, inputs: list[tuple[str, ...]]) -> list[dict]:
    (vectors,) = self.run(self.examples(inputs)).values()
    return [{"vector": list(map(to_json, vector))} for vector in vectors]

  def serve_texts(self, *texts) -> dict:
    """As `serve_token_ids`, and "input_ids" and "input_mask", int32 [B, S]."""
    features = self.pack(*texts)
    return {**self.serve_token_ids(features), "input_ids": features["input_ids"], "input_mask": features["input_mask"]}

  def serve_token_ids(self, features: dict) -> dict:
    """float32 "sequence_output" [B, S, H], "mean_output" [B, H] (the mean over all tokens, [CLS] and [SEP] included)
    and, with a pooler, "pooled_output" [B, H]."""
    outputs = self.model(features)
    mean = pool(outputs["sequence_output"], features["input_mask"], "mean")
    pooled = {"pooled_output": outputs["pooled_output"]} if self._has_pooler else {}
    return {"sequence_output": outputs["sequence_output"], "mean_output": mean, **pooled}


@dataclasses.dataclass(frozen=True)
class Extracted:
  """Counts of lines, of their tokens, and of truncated lines."""

  lines: int
  tokens: int
  truncated: int


def check_layers(layers: tuple[int, ...], config: BertConfig, flag: str) -> None:
  """Refuses layers that the model does not have; `flag` names them."""
  count = config.num_hidden_layers
  for layer in layers:
    if not -count <= layer < count:
      raise UserError(f"--{flag}: there is no layer {layer}: the model has {count}, 0 to {count - 1}, or {-count} to "
                      "-1 from the end")


def layer_outputs(encoder: BertEncoder, layers: tuple[int, ...], pooling: str) -> Callable[[dict], dict]:
  """A function from a batch of features to "layer_<number>", float32 [B, S, H], or [B, H] with pooling."""
  count = encoder.config.num_hidden_layers

  def outputs_of(features: dict) -> dict:
    outputs = encoder(features["input_ids"], features["input_mask"], features["segment_ids"])
    vectors = {layer: tf.cast(outputs[f"encoder_layer_{layer % count}"], tf.float32) for layer in layers}
    if pooling != "none":
      vectors = {layer: pool(values, features["input_mask"], pooling) for layer, values in vectors.items()}
    return {f"layer_{layer}": values for layer, values in vectors.items()}

  return outputs_of


def extract(options: ExtractOptions, devices: Devices, log: Callable[[str], None]) -> Extracted:
  """Runs the encoder over all lines and writes the output, whole or not at all.

  Raises:
    UserError: a file can't be read or written, a line is not UTF-8, the checkpoint lacks a part of the encoder, its
      vocabulary or its configuration, there is no such layer, or sequences are longer than the position table.
  """
  replicas = devices.strategy.num_replicas_in_sync
  if options.batch_size % replicas:
    raise UserError(f"--batch_size={options.batch_size} must be a multiple of the number of devices, {replicas}")
  if not files.is_remote(options.output_file):
    files.prepare_output_file(options.output_file, "output_file", {})
  loaded = open_checkpoint(options.init_checkpoint, **options.companions())
  config, tokenizer = loaded.config, loaded.tokenizer
  check_layers(options.layers, config, "layers")
  config.check_sequence_length(options.max_seq_length, "--max_seq_length")
  with devices.strategy.scope():
    encoder = BertEncoder(config, dtype=devices.dtype)
    encoder.build_weights()
    log(load_weights(encoder, loaded.source).describe())
  names = tuple(f"layer_{layer}" for layer in options.layers)
  pooled = options.pooling != "none"
  lengths = lengths_for(options.max_seq_length, devices.has_few_shapes)
  predict = Prediction(layer_outputs(encoder, options.layers, options.pooling), options.batch_size, lengths,
                       devices.strategy, devices.jit_compile, () if pooled else names)
  most_vectors = _BYTES_AT_ONCE // (4 * config.hidden_size * len(names))
  lines = tokens = truncated = 0
  with (open_input(options.input_file) as (file, size),
        feature_writer(options.output_file, options.layers, config.hidden_size, pooled, tokenizer.vocabulary) as writer,
        Progress("features", total=size, unit="B") as progress):
    for text_a, text_b, num_bytes in read_chunks(file, options.input_file):
      features = encode_pairs(tokenizer, text_a, text_b, options.max_seq_length)
      examples = Examples({"input_ids": features.input_ids, "segment_ids": features.segment_ids}, features.row_lengths)
      vectors_per_row = np.ones_like(features.row_lengths) if pooled else features.row_lengths
      for start, end in _row_ranges(vectors_per_row, most_vectors):
        part = _rows(examples, start, end)
        outputs = predict(part)
        writer.write(FeatureChunk(lines + start, part.tokens["input_ids"], part.row_lengths,
                                  dict(zip(options.layers, map(outputs.__getitem__, names), strict=True))))
        progress.advance(num_bytes * (end - start) / len(examples), lines=lines + end)
      lines += len(examples)
      tokens += len(features.input_ids)
      truncated += features.truncated
  return Extracted(lines, tokens, truncated)


def run(options: ExtractOptions) -> None:
  """Runs `extract` for `extract_features.py`."""
  done = extract(options, set_up_devices(options), _log)
  if done.truncated:
    _log(f"{done.truncated:,} of {done.lines:,} lines had more than --max_seq_length={options.max_seq_length} tokens "
         "and were truncated")
  _log(f"wrote {options.output_file}: {done.lines:,} lines, {done.tokens:,} tokens")


def _log(line: str) -> None:
  print(line, file=sys.stderr, flush=True)


def _row_ranges(sizes: np.ndarray, most: int) -> Iterator[tuple[int, int]]:
  """Ranges of rows whose sizes add up to at most `most`; a row that is larger comes alone."""
  ends = np.cumsum(sizes)
  start = 0
  while start < len(sizes):
    before = ends[start - 1] if start else 0
    end = max(start + 1, int(np.searchsorted(ends, before + most, side="right")))
    yield start, end
    start = end


def _rows(examples: Examples, start: int, end: int) -> Examples:
  first = examples.row_starts[start]
  last = examples.row_starts[end - 1] + examples.row_lengths[end - 1]
  return Examples({name: values[first:last] for name, values in examples.tokens.items()},
                  examples.row_lengths[start:end])
