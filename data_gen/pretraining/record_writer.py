"""Arrays of sequences → the bytes of a TFRecord file, a thousand records at a time.

Input: the features of `schema.py` as arrays. Output: framed `tf.train.Example`s. They are produced
with numpy and without TensorFlow: a record costs a few microseconds, where building a
`tf.train.Example` costs more than a hundred. The bytes are ordinary ones, any TFRecord reader takes
them.
"""

import functools
from collections.abc import Callable, Mapping

import google_crc32c
import numpy as np

from data_gen.pretraining import records
from data_gen.pretraining.masking import Masked
from data_gen.pretraining.schema import Schema

# Features whose values are all below 128: a byte each.
_SMALL_VALUES = ("input_mask", "segment_ids", "next_sentence_labels")


def sequence_features(
    input_ids: np.ndarray,
    length: np.ndarray,
    segment_b_start: np.ndarray,
    next_sentence_labels: np.ndarray,
    masked: Masked | None,
) -> dict[str, np.ndarray]:
    """The features of unpacked records.

    Args:
      input_ids: integers [B, S], 0 after `length`; without masks.
      length: [B], number of real tokens.
      segment_b_start: [B], first position of segment 1 (equal to `length` where there is none).
      next_sentence_labels: [B], 0 or 1.
      masked: the same sequences with masks; None for records without.
    """
    column = np.arange(input_ids.shape[1], dtype=np.uint16)
    real = column < length.astype(np.uint16)[:, None]
    features = {
        "input_ids": input_ids,
        "input_mask": real,
        "segment_ids": real & (column >= segment_b_start.astype(np.uint16)[:, None]),
        "next_sentence_labels": next_sentence_labels[:, None],
    }
    if masked is None:
        return features
    return features | {
        "input_ids": masked.input_ids,
        "masked_lm_positions": masked.positions,
        "masked_lm_ids": masked.labels,
        "masked_lm_weights": (np.arange(masked.positions.shape[1]) < masked.count[:, None]).astype(
            np.float32
        ),
    }


class RecordWriter:
    """Turns arrays of records into the bytes of a TFRecord file.

    All records are laid out side by side in a rectangle of bytes [B, width] in which every field
    has space for its longest form, a second rectangle marks the bytes that are used, and one
    selection squeezes out the rest.
    """

    def __init__(self, schema: Schema, vocab_size: int):
        self._features = schema.features
        # For each value its varint in four bytes, and which of the four belong to it; both uint32
        # [size].
        size = max(vocab_size, schema.max_seq_length, 2)
        if size > 1 << 28:
            raise ValueError(f"ids of more than 28 bits are not supported: {size}")
        value = np.arange(size, dtype=np.uint32)
        digits = np.stack([value >> shift & 127 for shift in (0, 7, 14, 21)], axis=1).astype(
            np.uint8
        )
        keep = np.stack([value >= 0, value >= 1 << 7, value >= 1 << 14, value >= 1 << 21], axis=1)
        digits[:, :3] |= keep[:, 1:].astype(np.uint8) << 7
        self._digits, self._is_used = (
            digits.view(np.uint32)[:, 0].copy(),
            keep.view(np.uint32)[:, 0].copy(),
        )
        self._heads: dict[str, _Heads] = {}
        self._begins: dict[str, int] = {}
        width = body = 0
        for name, (length, dtype) in self._features.items():
            # Other integers than those below 128 have space for four bytes, floats are four.
            payload = length * (1 if name in _SMALL_VALUES else 4)
            self._heads[name] = _Heads(
                functools.partial(_feature_head, name, 2 if dtype == np.float32 else 3), payload
            )
            self._begins[name] = width
            width += self._heads[name].width + payload
            body += len(_feature_head(name, 3, payload)) + payload
        self._record_heads = _Heads(_record_head, body)
        self._begins = {
            name: begin + self._record_heads.width for name, begin in self._begins.items()
        }
        self._width = self._record_heads.width + width + records.CRC.size
        self._data, self._used = (
            np.empty((0, self._width), np.uint8),
            np.empty((0, self._width), bool),
        )

    def encode(self, features: Mapping[str, np.ndarray]) -> bytes:
        """Serializes B records.

        Args:
          features: name → [B, length], all that the schema has; whole numbers of any type,
            `input_mask`, `segment_ids` and labels also as booleans.

        Returns:
          The framed records, concatenated.
        """
        batch = len(features["input_ids"])
        if len(self._data) != batch:
            # The heads of features that always have the same size are the same for all records.
            self._data, self._used = (
                np.empty((batch, self._width), np.uint8),
                np.ones((batch, self._width), bool),
            )
            for name, heads in self._heads.items():
                self._put_head(heads, self._begins[name], np.full(batch, heads.largest))
        size = np.zeros(batch, np.int32)
        for name, (_, dtype) in self._features.items():
            heads, values = self._heads[name], features[name]
            begin = self._begins[name] + heads.width
            if name in _SMALL_VALUES or dtype == np.float32:
                # Of the same size in every row: bytes, each its own varint, or floats.
                payload = values.astype("<f4" if dtype == np.float32 else np.uint8).view(np.uint8)
                self._data[:, begin : begin + payload.shape[1]] = payload
                size += heads.width + payload.shape[1]
                continue
            values = values.astype(np.intp)
            used = self._is_used.take(values).view(np.uint8)
            self._data[:, begin : begin + used.shape[1]] = self._digits.take(values).view(np.uint8)
            self._used[:, begin : begin + used.shape[1]] = used.view(bool)
            payload_bytes = used.sum(1, dtype=np.int32)
            size += self._put_head(heads, self._begins[name], payload_bytes) + payload_bytes
        head_size = self._put_head(self._record_heads, 0, size)
        ends = np.cumsum(head_size + size + records.CRC.size)
        flat = self._data.ravel().compress(self._used.ravel())
        data, begin, crc = flat.tobytes(), records.HEADER_BYTES, []
        for end in (ends - records.CRC.size).tolist():
            crc.append(google_crc32c.value(data[begin:end]))
            begin = end + records.CRC.size + records.HEADER_BYTES
        stored = (
            records.mask_crc(np.array(crc, np.uint32))
            .astype("<u4")
            .view(np.uint8)
            .reshape(-1, records.CRC.size)
        )
        flat[ends[:, None] - records.CRC.size + np.arange(records.CRC.size)] = stored
        return flat.tobytes()

    def _put_head(self, heads: "_Heads", begin: int, payload_bytes: np.ndarray) -> np.ndarray:
        """Returns the bytes used by the heads, int32 [B]."""
        head, used, head_size = heads.of(payload_bytes)
        self._data[:, begin : begin + heads.width] = head
        self._used[:, begin : begin + heads.width] = used
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
                self._data[size, : len(head)] = np.frombuffer(head, np.uint8)
            found = self._size[sizes]
        return self._data[sizes], np.arange(self.width) < found[:, None], found


def _feature_head(name: str, list_field: int, payload_bytes: int) -> bytes:
    """The bytes before the packed values of a feature; every length in it counts the bytes that
    follow."""
    values = b"\x0a" + records.varint(payload_bytes)
    values_list = (
        bytes([list_field << 3 | 2]) + records.varint(len(values) + payload_bytes) + values
    )
    feature = b"\x12" + records.varint(len(values_list) + payload_bytes) + values_list
    entry = records.delimited(1, name.encode()) + feature
    return b"\x0a" + records.varint(len(entry) + payload_bytes) + entry


def _record_head(features_bytes: int) -> bytes:
    """The bytes before the features of a record: the framing, and the message around them."""
    example = b"\x0a" + records.varint(features_bytes)
    return records.record_header(len(example) + features_bytes) + example
