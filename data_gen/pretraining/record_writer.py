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

# Features whose values are all below 128, one byte each.
_SMALL_VALUES = ("input_mask", "segment_ids", "next_sentence_labels")


def sequence_features(
    input_ids: np.ndarray,
    length: np.ndarray,
    segment_b_start: np.ndarray,
    next_sentence_labels: np.ndarray,
    masked: Masked | None,
) -> dict[str, np.ndarray]:
    """Returns the features of unpacked records.

    Args:
      input_ids: integers [B, S], 0 after `length`; without masks.
      length: [B], number of real tokens.
      segment_b_start: [B], first position of segment 1; `length` if there is none.
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
    is_used = np.arange(masked.positions.shape[1]) < masked.count[:, None]
    features["input_ids"] = masked.input_ids
    features["masked_lm_positions"] = masked.positions
    features["masked_lm_ids"] = masked.labels
    features["masked_lm_weights"] = is_used.astype(np.float32)
    return features


class RecordWriter:
    """Turns arrays of records into the bytes of a TFRecord file.

    All records are laid out side by side in a rectangle of bytes [B, width] in which every field
    has space for its longest form, a second rectangle marks the bytes that are used, and one
    selection squeezes out the rest.
    """

    def __init__(self, schema: Schema, vocab_size: int):
        self._features = schema.features
        # Each value's varint, filled up to four bytes, and which of the four belong to it; both
        # uint32 [size].
        size = max(vocab_size, schema.max_seq_length, 2)
        if size > 1 << 28:
            raise ValueError(f"ids of more than 28 bits are not supported: {size}")
        value = np.arange(size, dtype=np.uint32)
        digits = np.empty((size, 4), np.uint8)
        is_used = np.empty((size, 4), bool)
        for place in range(4):
            digits[:, place] = value >> 7 * place & 127
            is_used[:, place] = value >= (1 << 7 * place if place else 0)
        # The highest bit of a digit says that another one follows.
        digits[:, :3] |= is_used[:, 1:].astype(np.uint8) << 7
        self._digits = digits.view(np.uint32)[:, 0].copy()
        self._is_used = is_used.view(np.uint32)[:, 0].copy()
        self._heads: dict[str, _Heads] = {}
        self._begins: dict[str, int] = {}
        width = 0
        body = 0
        for name, (length, dtype) in self._features.items():
            # Floats have four bytes, and so has the space for an integer that may be 128 or more.
            payload = length * (1 if name in _SMALL_VALUES else 4)
            list_field = 2 if dtype == np.float32 else 3
            make_head = functools.partial(_feature_head, name, list_field)
            self._heads[name] = _Heads(make_head, payload)
            self._begins[name] = width
            width += self._heads[name].width + payload
            body += len(_feature_head(name, 3, payload)) + payload
        self._record_heads = _Heads(_record_head, body)
        for name in self._begins:
            self._begins[name] += self._record_heads.width
        self._width = self._record_heads.width + width + records.CRC.size
        # The rectangles are kept between calls: batches mostly have one size, and constant heads
        # stay in place.
        self._data = np.empty((0, self._width), np.uint8)
        self._used = np.empty((0, self._width), bool)

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
            self._data = np.empty((batch, self._width), np.uint8)
            self._used = np.ones((batch, self._width), bool)
            # A feature that always has the same size has the same head in all records.
            for name, heads in self._heads.items():
                self._put_head(heads, self._begins[name], np.full(batch, heads.largest))
        size = np.zeros(batch, np.int32)
        for name, (_, dtype) in self._features.items():
            heads = self._heads[name]
            values = features[name]
            begin = self._begins[name] + heads.width
            if name in _SMALL_VALUES or dtype == np.float32:
                # The size is the same in every row: a small value is its own varint.
                stored_type = "<f4" if dtype == np.float32 else np.uint8
                payload = values.astype(stored_type).view(np.uint8)
                self._data[:, begin : begin + payload.shape[1]] = payload
                size += heads.width + payload.shape[1]
                continue
            # `take` converts any other type of index by itself, twice here.
            values = values.astype(np.intp)
            used = self._is_used.take(values).view(np.uint8)
            self._data[:, begin : begin + used.shape[1]] = self._digits.take(values).view(np.uint8)
            self._used[:, begin : begin + used.shape[1]] = used.view(bool)
            payload_bytes = used.sum(1, dtype=np.int32)
            size += self._put_head(heads, self._begins[name], payload_bytes) + payload_bytes
        head_size = self._put_head(self._record_heads, 0, size)
        ends = np.cumsum(head_size + size + records.CRC.size)
        flat = self._data.ravel().compress(self._used.ravel())
        data = flat.tobytes()
        crc_bytes = records.CRC.size
        begin = records.HEADER_BYTES
        checksums = []
        # Checksums need the final bytes, so they come after the selection, into space that was
        # kept.
        for end in (ends - crc_bytes).tolist():
            checksums.append(google_crc32c.value(data[begin:end]))
            begin = end + crc_bytes + records.HEADER_BYTES
        # TFRecord masks its checksums, because the CRC of data that contains CRCs is weak.
        stored = records.mask_crc(np.array(checksums, np.uint32)).astype("<u4")
        positions = ends[:, None] - crc_bytes + np.arange(crc_bytes)
        flat[positions] = stored.view(np.uint8).reshape(-1, crc_bytes)
        return flat.tobytes()

    def _put_head(self, heads: "_Heads", begin: int, payload_bytes: np.ndarray) -> np.ndarray:
        """Writes the heads of payloads of these sizes; returns the bytes they use, int32 [B]."""
        head, used, head_size = heads.of(payload_bytes)
        self._data[:, begin : begin + heads.width] = head
        self._used[:, begin : begin + heads.width] = used
        return head_size


class _Heads:
    """Cache of the bytes before payloads, which depend on the size of the payload only."""

    def __init__(self, make: Callable[[int], bytes], largest: int):
        self._make = make
        self.largest = largest
        self.width = len(make(largest))
        self._data = np.zeros((largest + 1, self.width), np.uint8)
        self._size = np.zeros(largest + 1, np.int32)

    def of(self, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns (bytes [B, width], which of them are used [B, width], how many [B]) for sizes
        [B]."""
        head_sizes = self._size[sizes]
        # A size of 0 marks a head that was not made yet: no head is empty.
        if not head_sizes.all():
            for size in np.unique(sizes[head_sizes == 0]).tolist():
                head = self._make(size)
                self._size[size] = len(head)
                self._data[size, : len(head)] = np.frombuffer(head, np.uint8)
            head_sizes = self._size[sizes]
        return self._data[sizes], np.arange(self.width) < head_sizes[:, None], head_sizes


def _feature_head(name: str, list_field: int, payload_bytes: int) -> bytes:
    """Returns the bytes before the packed values of a feature.

    Every length in it counts the bytes that follow.
    """
    values = b"\x0a" + records.varint(payload_bytes)
    list_key = bytes([list_field << 3 | 2])
    values_list = list_key + records.varint(len(values) + payload_bytes) + values
    feature = b"\x12" + records.varint(len(values_list) + payload_bytes) + values_list
    entry = records.delimited(1, name.encode()) + feature
    return b"\x0a" + records.varint(len(entry) + payload_bytes) + entry


def _record_head(features_bytes: int) -> bytes:
    """Returns the bytes before the features of a record: framing, and the message around them."""
    example = b"\x0a" + records.varint(features_bytes)
    return records.record_header(len(example) + features_bytes) + example
