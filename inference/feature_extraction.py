"""Hidden states of any layers for the lines of a file: `extract_features` of the original.

Lines are read by the thousand and computed in batches of similar length; what comes out has the order of the lines.
`extract_features.py` turns flags into one call of `extract`; `inference/feature_files.py` writes.
"""

import contextlib
import dataclasses
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import IO

import numpy as np
import tensorflow as tf

from common import files
from common.errors import UserError
from common.progress import Progress
from data_gen.labelled.pair_features import encode_pairs
from inference.feature_files import FeaturePiece, feature_writer
from modeling.checkpoints.load import load_weights, open_checkpoint
from modeling.config import BertConfig
from modeling.encoder import BertEncoder
from training.devices import Devices
from training.examples import Examples, lengths_for
from training.prediction import Prediction

POOLINGS = ("none", "cls", "mean")

# Lines read and sorted by length together.
_LINES_AT_ONCE = 4096
# Of the vectors that are in memory together.
_BYTES_AT_ONCE = 256 << 20
_PAIR = re.compile(r"^(.*) \|\|\| (.*)$")


@dataclasses.dataclass(frozen=True)
class ExtractionOptions:
  """What is extracted from what.

  Attributes:
    input_file: a line an example, "first ||| second" for pairs; "-" is standard input.
    output_file: .npz for arrays, any other name for JSON lines.
    init_checkpoint: whatever `read_checkpoint` reads.
    layers: numbers of layers, from 0; -1 is the last one.
    pooling: "none" for a vector a token; "cls" for that of [CLS], "mean" for the mean over all tokens of the line,
      [CLS] and [SEP] among them.
    max_seq_length: longer lines are truncated.
    batch_size: lines of a batch on all devices together.
    bert_config_file, vocab_file, do_lower_case: None where they are found beside the checkpoint.
  """

  input_file: str
  output_file: str
  init_checkpoint: str
  layers: tuple[int, ...] = (-1, -2, -3, -4)
  pooling: str = "none"
  max_seq_length: int = 128
  batch_size: int = 32
  bert_config_file: str | None = None
  vocab_file: str | None = None
  do_lower_case: bool | None = None


@dataclasses.dataclass(frozen=True)
class Extracted:
  """What was done: numbers of lines, of their tokens, and of lines that lost tokens."""

  lines: int
  tokens: int
  truncated: int


def parse_layers(text: str) -> tuple[int, ...]:
  """The numbers in --layers, e.g. "-1,-2".

  Raises:
    UserError: something else is in it, or a number twice.
  """
  try:
    layers = tuple(int(part) for part in text.split(","))
  except ValueError:
    raise UserError(f"--layers={text}: numbers with commas between them are wanted, e.g. --layers=-1,-2") from None
  if len(set(layers)) < len(layers):
    raise UserError(f"--layers={text} names a layer twice")
  return layers


def check_layers(layers: tuple[int, ...], config: BertConfig) -> None:
  """Refuses layers that the network does not have.

  Raises:
    UserError: names the first of them.
  """
  count = config.num_hidden_layers
  for layer in layers:
    if not -count <= layer < count:
      raise UserError(f"--layers: there is no layer {layer}: the network has {count}, 0 to {count - 1}, or {-count} to "
                      "-1 from the end")


def layer_network(encoder: BertEncoder, layers: tuple[int, ...], pooling: str) -> Callable[[dict], dict]:
  """A function from a batch of features to "layer_<number>", float32 [B, S, H], or [B, H] with pooling."""
  count = encoder.config.num_hidden_layers

  def network(features: dict) -> dict:
    outputs = encoder(features["input_ids"], features["input_mask"], features["segment_ids"])
    vectors = {layer: tf.cast(outputs[f"encoder_layer_{layer % count}"], tf.float32) for layer in layers}
    if pooling == "cls":
      vectors = {layer: values[:, 0] for layer, values in vectors.items()}
    elif pooling == "mean":
      mask = tf.cast(features["input_mask"], tf.float32)[:, :, None]  # [B, S, 1]
      vectors = {layer: tf.reduce_sum(values * mask, 1) / tf.reduce_sum(mask, 1) for layer, values in vectors.items()}
    return {f"layer_{layer}": values for layer, values in vectors.items()}

  return network


def extract(options: ExtractionOptions, devices: Devices, say: Callable[[str], None]) -> Extracted:
  """Runs the encoder over all lines and writes the output, whole or not at all.

  Args:
    options: see there.
    devices: what to compute on.
    say: takes lines of the report.

  Raises:
    UserError: a file can't be read or written, a line is not UTF-8, the checkpoint lacks a part of the encoder, its
      vocabulary or its configuration, there is no such layer, or sequences are longer than the position table.
  """
  _check(options, devices)
  opened = open_checkpoint(options.init_checkpoint, bert_config_file=options.bert_config_file,
                        vocab_file=options.vocab_file, do_lower_case=options.do_lower_case)
  config, tokenizer = opened.config, opened.tokenizer
  check_layers(options.layers, config)
  config.check_sequence_length(options.max_seq_length, "--max_seq_length")
  with devices.strategy.scope():
    encoder = BertEncoder(config, dtype=devices.dtype)
    encoder.build_weights()
    say(load_weights(encoder, opened.source).describe())
  names = tuple(f"layer_{layer}" for layer in options.layers)
  pooled = options.pooling != "none"
  # Every length is compiled where XLA compiles.
  lengths = lengths_for(options.max_seq_length, devices.jit_compile)
  predict = Prediction(layer_network(encoder, options.layers, options.pooling), options.batch_size, lengths,
                       devices.strategy, devices.jit_compile, () if pooled else names)
  lines = tokens = truncated = 0
  with (_open_input(options.input_file) as (file, size),
        feature_writer(options.output_file, options.layers, config.hidden_size, pooled, tokenizer.vocabulary) as writer,
        Progress("features", total=size, unit="B") as progress):
    for text_a, text_b, num_bytes in _read_portions(file, options.input_file):
      features = encode_pairs(tokenizer, text_a, text_b, options.max_seq_length)
      examples = Examples({"input_ids": features.input_ids, "segment_ids": features.segment_ids}, features.row_lengths)
      vectors_per_row = np.ones_like(features.row_lengths) if pooled else features.row_lengths
      most = _BYTES_AT_ONCE // (4 * config.hidden_size * len(names))
      for start, end in _pieces(vectors_per_row, most):
        piece = _part(examples, start, end)
        outputs = predict(piece)
        writer.write(FeaturePiece(lines + start, piece.tokens["input_ids"], piece.row_lengths,
                                  dict(zip(options.layers, map(outputs.__getitem__, names), strict=True))))
        progress.advance(num_bytes * (end - start) / len(examples), lines=lines + end)
      lines += len(examples)
      tokens += len(features.input_ids)
      truncated += features.truncated
  return Extracted(lines, tokens, truncated)


def _check(options: ExtractionOptions, devices: Devices) -> None:
  """Refuses what can be refused before anything is read."""
  if options.pooling not in POOLINGS:
    raise UserError(f"--pooling={options.pooling} is unknown: use one of {', '.join(POOLINGS)}")
  if options.max_seq_length < 3:
    raise UserError(f"--max_seq_length={options.max_seq_length} must be at least 3: [CLS], a token, [SEP]")
  replicas = devices.strategy.num_replicas_in_sync
  if options.batch_size < 1 or options.batch_size % replicas:
    raise UserError(f"--batch_size={options.batch_size} must be a multiple of the number of devices, {replicas}")
  if options.input_file != "-":
    files.check_readable(options.input_file, "input_file")
  if os.path.isdir(options.output_file):
    raise UserError(f"--output_file: {options.output_file} is a directory, a file is wanted")
  files.make_output_directory(os.path.dirname(os.path.abspath(options.output_file)), "output_file")


@contextlib.contextmanager
def _open_input(path: str) -> Iterator[tuple[IO[bytes], int | None]]:
  """The file and its size, None where it is not known."""
  if path == "-":
    yield sys.stdin.buffer, None
    return
  try:
    file = open(path, "rb")
  except OSError as error:
    raise UserError(f"--input_file: can't read {path}: {error.strerror}") from None
  with file:
    # A pipe has no size.
    yield file, os.fstat(file.fileno()).st_size or None


def _read_portions(file: IO[bytes], path: str) -> Iterator[tuple[list[str], list[str], int]]:
  """First texts, second texts ("" where there is none) and number of bytes of some thousand lines at a time."""
  number = 0
  while True:
    try:
      portion = list(itertools.islice(file, _LINES_AT_ONCE))
    except OSError as error:
      raise UserError(f"--input_file: can't read {path}: {error.strerror}") from None
    if not portion:
      return
    pairs = []
    for line in portion:
      number += 1
      try:
        text = line.decode("utf-8").strip()
      except UnicodeDecodeError as error:
        where = "standard input" if path == "-" else path
        raise UserError(f"{where}:{number}: not UTF-8 at byte {error.start + 1} of the line "
                        f"(0x{line[error.start]:02x}): convert the file first") from None
      pair = _PAIR.match(text)
      pairs.append(pair.groups() if pair else (text, ""))
    text_a, text_b = map(list, zip(*pairs, strict=True))
    yield text_a, text_b, sum(map(len, portion))


def _pieces(sizes: np.ndarray, most: int) -> Iterator[tuple[int, int]]:
  """Ranges of rows whose sizes add up to at most `most`; a row that is larger comes alone."""
  ends = np.cumsum(sizes)
  start = 0
  while start < len(sizes):
    before = ends[start - 1] if start else 0
    end = max(start + 1, int(np.searchsorted(ends, before + most, side="right")))
    yield start, end
    start = end


def _part(examples: Examples, start: int, end: int) -> Examples:
  first = examples.row_starts[start]
  last = examples.row_starts[end - 1] + examples.row_lengths[end - 1]
  return Examples({name: values[first:last] for name, values in examples.tokens.items()},
                  examples.row_lengths[start:end])
