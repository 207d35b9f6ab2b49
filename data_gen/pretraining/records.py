"""The pre-training records: the one file that knows their schema, writes it and reads it.

Input: arrays of instances (`instances.py`, `masking.py`). Output: TFRecord files, which `training/` parses with
`parse_spec`.

A record is a `tf.train.Example` in a TFRecord file (`tfrecord.py`). For speed both are produced here with numpy, a
thousand records at a time, and without TensorFlow: a record costs a few microseconds, where building a
`tf.train.Example` costs more than a hundred. The bytes are ordinary ones, any TFRecord reader takes them.
"""

import dataclasses
from collections.abc import Callable, Iterator

import google_crc32c
import numpy as np

from common.errors import UserError
from data_gen.pretraining import tfrecord

# Feature → (its length, its type). Shapes are [length]; next_sentence_labels is 1 where segment B is a random one.
FEATURES = {
    "input_ids": ("max_seq_length", np.int64),
    "input_mask": ("max_seq_length", np.int64),
    "segment_ids": ("max_seq_length", np.int64),
    "masked_lm_positions": ("max_predictions_per_seq", np.int64),
    "masked_lm_ids": ("max_predictions_per_seq", np.int64),
    "masked_lm_weights": ("max_predictions_per_seq", np.float32),
    "next_sentence_labels": (1, np.int64),
}

# The names that the Model Garden's `--use_v2_feature_names` writes instead.
V2_NAMES = {"input_ids": "input_word_ids", "segment_ids": "input_type_ids"}

# Features whose values are all below 128.
_SMALL_VALUES = ("input_mask", "segment_ids", "next_sentence_labels")


@dataclasses.dataclass(frozen=True)
class RecordFacts:
  """What the first record of a file tells about all of them; `features` are its own, as `read_examples` yields them."""

  feature_names: tuple[str, ...]
  max_seq_length: int
  max_predictions_per_seq: int
  v2_feature_names: bool
  features: dict[str, np.ndarray] = dataclasses.field(repr=False, compare=False)


def feature_length(name: str, max_seq_length: int, max_predictions_per_seq: int) -> int:
  """Number of values of a feature (name of the original schema)."""
  length = FEATURES[name][0]
  return {"max_seq_length": max_seq_length, "max_predictions_per_seq": max_predictions_per_seq}.get(length, length)


def parse_spec(max_seq_length: int, max_predictions_per_seq: int, v2_feature_names: bool = False) -> dict:
  """Name → `tf.io.FixedLenFeature`, for `tf.io.parse_example` on a batch of serialized records.

  The keys are the names in the file: with `v2_feature_names` those of the Model Garden.
  """
  import tensorflow as tf

  return {
      V2_NAMES.get(name, name) if v2_feature_names else name: tf.io.FixedLenFeature(
          [feature_length(name, max_seq_length, max_predictions_per_seq)],
          tf.float32 if dtype == np.float32 else tf.int64)
      for name, (_, dtype) in FEATURES.items()}


# ---------------------------------------------------------------------------------------------------- writing


class RecordWriter:
  """Turns arrays of instances into the bytes of a TFRecord file.

  All records are laid out side by side in a rectangle of bytes [B, width] in which every field has space for its
  longest form, a second rectangle marks the bytes that are used, and one selection squeezes out the rest.

  Args:
    max_seq_length: S.
    max_predictions_per_seq: P.
    vocab_size: ids are below it.
  """

  def __init__(self, max_seq_length: int, max_predictions_per_seq: int, vocab_size: int):
    self._sequence = max_seq_length
    self._predictions = max_predictions_per_seq
    self._digits, self._is_used = _varint_table(max(vocab_size, max_seq_length, 2))
    self._heads: dict[str, _Heads] = {}
    self._begins: dict[str, int] = {}
    width = body = 0
    for name, (_, dtype) in FEATURES.items():
      # Masks and labels are below 128: a byte each. Other integers have space for four, floats are four.
      payload = feature_length(name, max_seq_length, max_predictions_per_seq) * (1 if name in _SMALL_VALUES else 4)
      self._heads[name] = _Heads(lambda size, name=name, field=2 if dtype == np.float32 else 3:
                                 _feature_head(name, field, size), payload)
      self._begins[name] = width
      width += self._heads[name].width + payload
      body += len(_feature_head(name, 3, payload)) + payload
    self._record_heads = _Heads(_record_head, body)
    self._begins = {name: begin + self._record_heads.width for name, begin in self._begins.items()}
    self._width = self._record_heads.width + width + tfrecord.CRC.size
    self._data, self._used = np.empty((0, self._width), np.uint8), np.empty((0, self._width), bool)

  def encode(self, input_ids: np.ndarray, length: np.ndarray, segment_b_start: np.ndarray,
             masked_lm_positions: np.ndarray, masked_lm_ids: np.ndarray, masked_count: np.ndarray,
             next_sentence_labels: np.ndarray) -> bytes:
    """Serializes B instances.

    Args:
      input_ids: integers [B, S], 0 behind `length`.
      length: [B], number of real tokens.
      segment_b_start: [B], first position of segment 1 (equal to `length` where there is none).
      masked_lm_positions: integers [B, P], sorted, 0 behind `masked_count`.
      masked_lm_ids: integers [B, P], 0 behind `masked_count`.
      masked_count: [B].
      next_sentence_labels: [B], 0 or 1.

    Returns:
      The framed records, concatenated.
    """
    if len(self._data) != len(input_ids):
      self._lay_out(len(input_ids))
    column = np.arange(self._sequence, dtype=np.uint16)
    real = column < length.astype(np.uint16)[:, None]
    weights = (np.arange(self._predictions) < masked_count[:, None]).astype("<f4")
    size = self._put_varints("input_ids", input_ids)
    size += self._put_bytes("input_mask", real)
    size += self._put_bytes("segment_ids", real & (column >= segment_b_start.astype(np.uint16)[:, None]))
    size += self._put_varints("masked_lm_positions", masked_lm_positions)
    size += self._put_varints("masked_lm_ids", masked_lm_ids)
    size += self._put_bytes("masked_lm_weights", weights)
    size += self._put_bytes("next_sentence_labels", next_sentence_labels.astype(np.uint8)[:, None])
    head_size = self._put_head(self._record_heads, 0, size)
    ends = np.cumsum(head_size + size + tfrecord.CRC.size)
    return _with_checksums(self._data.ravel().compress(self._used.ravel()), ends)

  def _lay_out(self, batch: int) -> None:
    """Makes the rectangles for B records, with the heads of the features that always have the same size."""
    self._data, self._used = np.empty((batch, self._width), np.uint8), np.ones((batch, self._width), bool)
    for name, heads in self._heads.items():
      self._put_head(heads, self._begins[name], np.full(batch, heads.largest))

  def _put_varints(self, name: str, values: np.ndarray) -> np.ndarray:
    """Lays out integers [B, n]; returns the bytes used by each row, head included, int32 [B]."""
    values = values.astype(np.intp)
    used = self._is_used.take(values).view(np.uint8)
    heads, begin = self._heads[name], self._begins[name]
    payload = slice(begin + heads.width, begin + heads.width + used.shape[1])
    self._data[:, payload] = self._digits.take(values).view(np.uint8)
    self._used[:, payload] = used.view(bool)
    payload_bytes = used.sum(1, dtype=np.int32)
    return self._put_head(heads, begin, payload_bytes) + payload_bytes

  def _put_bytes(self, name: str, values: np.ndarray) -> int:
    """Lays out what has the same size in every row: bytes (each its own varint) or floats [B, n]."""
    values = values.view(np.uint8)
    begin = self._begins[name] + self._heads[name].width
    self._data[:, begin:begin + values.shape[1]] = values
    return self._heads[name].width + values.shape[1]

  def _put_head(self, heads: "_Heads", begin: int, payload_bytes: np.ndarray) -> np.ndarray:
    """Returns the bytes used by the heads, int32 [B]."""
    head, used, head_size = heads.of(payload_bytes)
    self._data[:, begin:begin + heads.width] = head
    self._used[:, begin:begin + heads.width] = used
    return head_size


class _Heads:
  """Bytes that depend on a size only, for many sizes at once; made when a size is first met."""

  def __init__(self, make: Callable[[int], bytes], largest: int):
    self._make = make
    self.largest = largest
    self.width = len(make(largest))
    self._data = np.zeros((largest + 1, self.width), np.uint8)
    self._size = np.zeros(largest + 1, np.int32)

  def of(self, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For sizes [B]: (bytes [B, width], which of them are used [B, width], how many [B])."""
    found = self._size[sizes]
    if not found.all():
      for size in np.unique(sizes[found == 0]).tolist():
        head = self._make(size)
        self._size[size] = len(head)
        self._data[size, :len(head)] = np.frombuffer(head, np.uint8)
      found = self._size[sizes]
    return self._data[sizes], np.arange(self.width) < found[:, None], found


def _feature_head(name: str, list_field: int, payload_bytes: int) -> bytes:
  """What stands before the packed values of a feature; every length in it counts what follows."""
  values = b"\x0a" + tfrecord.varint(payload_bytes)
  values_list = bytes([list_field << 3 | 2]) + tfrecord.varint(len(values) + payload_bytes) + values
  feature = b"\x12" + tfrecord.varint(len(values_list) + payload_bytes) + values_list
  entry = tfrecord.delimited(1, name.encode()) + feature
  return b"\x0a" + tfrecord.varint(len(entry) + payload_bytes) + entry


def _record_head(features_bytes: int) -> bytes:
  """What stands before the features of a record: the framing, and the message around them."""
  example = b"\x0a" + tfrecord.varint(features_bytes)
  return tfrecord.record_header(len(example) + features_bytes) + example


def _with_checksums(flat: np.ndarray, ends: np.ndarray) -> bytes:
  """Fills in the checksum at the end of each record of `flat`, uint8; the records end at `ends` [B]."""
  data = flat.tobytes()
  begin = tfrecord.HEADER_BYTES
  crc = []
  for end in (ends - tfrecord.CRC.size).tolist():
    crc.append(google_crc32c.value(data[begin:end]))
    begin = end + tfrecord.CRC.size + tfrecord.HEADER_BYTES
  stored = tfrecord.mask_crc(np.array(crc, np.uint32)).astype("<u4").view(np.uint8).reshape(-1, tfrecord.CRC.size)
  flat[ends[:, None] - tfrecord.CRC.size + np.arange(tfrecord.CRC.size)] = stored
  return flat.tobytes()


def _varint_table(size: int) -> tuple[np.ndarray, np.ndarray]:
  """For each value below `size` its varint in four bytes, and which of the four belong to it; both uint32 [size]."""
  if size > 1 << 28:
    raise ValueError(f"ids of more than 28 bits are not supported: {size}")
  value = np.arange(size, dtype=np.uint32)
  digits = np.stack([value >> shift & 127 for shift in (0, 7, 14, 21)], axis=1).astype(np.uint8)
  keep = np.stack([value >= 0, value >= 1 << 7, value >= 1 << 14, value >= 1 << 21], axis=1)
  digits[:, :3] |= keep[:, 1:].astype(np.uint8) << 7
  return digits.view(np.uint32)[:, 0].copy(), keep.view(np.uint32)[:, 0].copy()


# ---------------------------------------------------------------------------------------------------- reading


def read_examples(path: str) -> Iterator[dict[str, np.ndarray]]:
  """The records of a file as arrays under the names of the original schema.

  Raises:
    UserError: as `tfrecord.read_records`; or a record is not an Example of pre-training.
  """
  for number, payload in enumerate(tfrecord.read_records(path), 1):
    yield parse_record(payload, path, number)


def value_limits(max_seq_length: int, vocab_size: int, type_vocab_size: int) -> dict[str, int]:
  """Feature of whole numbers → what its values must be below; none may be negative."""
  return {"input_ids": vocab_size, "input_mask": 2, "segment_ids": type_vocab_size,
          "masked_lm_positions": max_seq_length, "masked_lm_ids": vocab_size, "next_sentence_labels": 2}


def find_fault(features: dict[str, np.ndarray], max_seq_length: int, max_predictions_per_seq: int, vocab_size: int,
               type_vocab_size: int) -> str | None:
  """What makes a record useless for a model, in words that follow on "record 7 "; None where nothing does.

  Args:
    features: as `read_examples` yields them.
    max_seq_length, max_predictions_per_seq: what the flags say.
    vocab_size, type_vocab_size: of the model.
  """
  for name, flag, given in (("input_ids", "max_seq_length", max_seq_length),
                            ("masked_lm_ids", "max_predictions_per_seq", max_predictions_per_seq)):
    if (found := len(features[name])) != given:
      return (f"was made with {flag}={found}, but --{flag} is {given}: give --{flag}={found}, or make the records "
              "again")
  for name, (_, dtype) in FEATURES.items():
    values, expected = features[name], feature_length(name, max_seq_length, max_predictions_per_seq)
    if values.dtype != dtype:
      return f"has {name} that are no {'floats' if dtype == np.float32 else 'whole numbers'}: make the records again"
    if len(values) != expected:
      return f"has {len(values)} {name}, {expected} are expected: make the records again"
  for name, limit in value_limits(max_seq_length, vocab_size, type_vocab_size).items():
    wrong = features[name][(features[name] < 0) | (features[name] >= limit)]
    if not len(wrong):
      continue
    if name in ("input_ids", "masked_lm_ids") and wrong[0] >= limit:
      return (f"holds the token id {wrong.max()}, but vocab_size is {limit} in --bert_config_file: they belong to "
              "different vocabularies")
    if name == "segment_ids" and wrong[0] >= limit:
      return f"holds the segment id {wrong.max()}, but type_vocab_size is {limit} in --bert_config_file"
    return f"holds {wrong[0]} among its {name}, 0 to {limit - 1} are expected: make the records again"
  weights = features["masked_lm_weights"]
  wrong = weights[np.signbit(weights) | ~np.isfinite(weights)]
  if len(wrong):
    return f"holds {wrong[0]} among its masked_lm_weights, 0 or more is expected: make the records again"
  return None


def inspect_first_record(path: str) -> RecordFacts:
  """Sizes and names found in the first record of a file.

  Raises:
    UserError: as `read_examples`; or the file is empty.
  """
  payload = next(tfrecord.read_records(path), None)
  if payload is None:
    raise UserError(f"{path} is empty: it holds no record")
  features = _parse_record(payload, path, 1)
  named = _renamed(features)
  return RecordFacts(
      feature_names=tuple(sorted(features)), max_seq_length=len(named["input_ids"]),
      max_predictions_per_seq=len(named["masked_lm_ids"]), v2_feature_names=_is_v2(features), features=named)


def parse_record(payload: bytes, path: str, number: int) -> dict[str, np.ndarray]:
  """A record as `read_examples` yields it.

  Raises:
    UserError: names file and record where it is not an Example of pre-training.
  """
  return _renamed(_parse_record(payload, path, number))


def count_records(path: str) -> int:
  """As `tfrecord.count_records`."""
  return tfrecord.count_records(path)


def _renamed(features: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
  v2 = _is_v2(features)
  return {name: features[V2_NAMES.get(name, name) if v2 else name] for name in FEATURES}


def _is_v2(features: dict[str, np.ndarray]) -> bool:
  return "input_ids" not in features


def _parse_record(payload: bytes, path: str, number: int) -> dict[str, np.ndarray]:
  try:
    features = tfrecord.parse_example(payload)
  except (ValueError, IndexError):
    raise UserError(f"{path}: record {number} is not a serialized tf.train.Example") from None
  names = [V2_NAMES.get(name, name) if _is_v2(features) else name for name in FEATURES]
  missing = [name for name in names if name not in features]
  if missing:
    raise UserError(f"{path}: record {number} has no feature {', '.join(missing)} (it has: "
                    f"{', '.join(sorted(features)) or 'none'}): it is not a pre-training record")
  return features
