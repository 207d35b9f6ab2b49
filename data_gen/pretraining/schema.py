"""The schemas of pre-training records: features, numbers of their values, valid values.

A record is a `tf.train.Example`. The original's holds one sequence with its masks. Ours may be
packed, with several sequences in a row of tokens, and may come without masks, which training then
chooses. `record_writer.py` writes them, `records.py` reads them, and
`bert_tf/tasks/pretraining/data.py` parses them for training.
"""

import dataclasses
import functools
from collections.abc import Mapping

import numpy as np

# Feature of the original → its type; next_sentence_labels is 1 if segment B is a random one.
FEATURES = {
    "input_ids": np.int64,
    "input_mask": np.int64,
    "segment_ids": np.int64,
    "masked_lm_positions": np.int64,
    "masked_lm_ids": np.int64,
    "masked_lm_weights": np.float32,
    "next_sentence_labels": np.int64,
}

# Further features of packed records, one value per sequence of the row, 0 for missing sequences;
# next_sentence_labels has as many values. The positions are the first tokens of the sequences. The
# input_mask of a token is the number of its sequence, from 1, and 0 for padding.
PACKED_FEATURES = {"next_sentence_positions": np.int64, "next_sentence_weights": np.float32}
MASK_FEATURES = ("masked_lm_positions", "masked_lm_ids", "masked_lm_weights")

# The names that the Model Garden's `--use_v2_feature_names` writes instead.
V2_NAMES = {"input_ids": "input_word_ids", "segment_ids": "input_type_ids"}


@dataclasses.dataclass(frozen=True)
class Schema:
    """Properties that all records of a file have in common.

    Attributes:
      max_seq_length: S, tokens of a record.
      max_predictions_per_seq: P, masked positions of a record; 0 for records without masks.
      max_sequences_per_row: K, sequences packed in a record at most; 0 for records of one sequence
        each.
      v2_feature_names: whether they have the Model Garden's names.
    """

    max_seq_length: int
    max_predictions_per_seq: int
    max_sequences_per_row: int = 0
    v2_feature_names: bool = False

    @classmethod
    def of(cls, features: Mapping[str, np.ndarray]) -> "Schema":
        """Returns the schema of a record, as `records.read_examples` yields it."""
        return cls(
            len(features["input_ids"]),
            len(features.get("masked_lm_ids", ())),
            len(features.get("next_sentence_positions", ())),
        )

    @property
    def is_packed(self) -> bool:
        """Whether several sequences share a record."""
        return self.max_sequences_per_row > 0

    @property
    def has_masks(self) -> bool:
        """Whether the records contain masks."""
        return self.max_predictions_per_seq > 0

    @functools.cached_property
    def features(self) -> dict[str, tuple[int, type]]:
        """Feature → number of its values, their type."""
        features = {}
        for name, dtype in expected_features(self.is_packed, self.has_masks).items():
            if name in ("input_ids", "input_mask", "segment_ids"):
                length = self.max_seq_length
            elif name in MASK_FEATURES:
                length = self.max_predictions_per_seq
            else:
                length = max(self.max_sequences_per_row, 1)
            features[name] = (length, dtype)
        return features

    def name_in_file(self, name: str) -> str:
        """Returns the name that a feature of the original has in the file."""
        if self.v2_feature_names:
            return V2_NAMES.get(name, name)
        return name

    def parse_spec(self) -> dict:
        """Returns name in the file → `tf.io.FixedLenFeature`, for `tf.io.parse_example`."""
        import tensorflow as tf

        spec = {}
        for name, (length, dtype) in self.features.items():
            tf_dtype = tf.float32 if dtype == np.float32 else tf.int64
            spec[self.name_in_file(name)] = tf.io.FixedLenFeature([length], tf_dtype)
        return spec

    def value_limits(self, vocab_size: int, type_vocab_size: int) -> dict[str, int]:
        """Returns feature of whole numbers → exclusive bound of its values; none is negative."""
        limits = {
            "input_ids": vocab_size,
            "input_mask": max(self.max_sequences_per_row, 1) + 1,
            "segment_ids": type_vocab_size,
            "masked_lm_positions": self.max_seq_length,
            "masked_lm_ids": vocab_size,
            "next_sentence_positions": self.max_seq_length,
            "next_sentence_labels": 2,
        }
        return {name: limit for name, limit in limits.items() if name in self.features}

    def find_fault(
        self, features: Mapping[str, np.ndarray], vocab_size: int, type_vocab_size: int
    ) -> str | None:
        """Returns why a record is useless for a model, in words that follow "record 7 ".

        Args:
          features: as `records.read_examples` yields them.
          vocab_size, type_vocab_size: sizes of the model.

        Returns:
          None for a valid record.
        """
        shape_fault = self._shape_fault(features)
        if shape_fault is not None:
            return shape_fault
        value_fault = self._value_fault(features, vocab_size, type_vocab_size)
        if value_fault is not None:
            return value_fault
        if self.is_packed and not _is_well_packed(features):
            return (
                "has broken sequence numbers: its input_mask must count 1, 2, … from each of its "
                "next_sentence_positions and be 0 after the last sequence: make the records again"
            )
        return None

    def _shape_fault(self, features: Mapping[str, np.ndarray]) -> str | None:
        """Returns the fault of a record whose features have other sizes or types."""
        record = Schema.of(features)
        if record.is_packed != self.is_packed or record.has_masks != self.has_masks:
            return (
                f"is {record.describe()}, others are {self.describe()}: read them in two runs, or "
                "make them all alike"
            )
        for flag in ("max_seq_length", "max_predictions_per_seq"):
            value = getattr(record, flag)
            expected = getattr(self, flag)
            if value != expected:
                return (
                    f"was made with {flag}={value}, but --{flag} is {expected}: give "
                    f"--{flag}={value}, or make the records again"
                )
        for name, (length, dtype) in self.features.items():
            values = features[name]
            if values.dtype != dtype:
                kind = "floats" if dtype == np.float32 else "whole numbers"
                return f"has {name} that are no {kind}: make the records again"
            if len(values) != length:
                return f"has {len(values)} {name}, {length} are expected: make the records again"
        return None

    def _value_fault(
        self, features: Mapping[str, np.ndarray], vocab_size: int, type_vocab_size: int
    ) -> str | None:
        """Returns the fault of a record with a value that is out of range."""
        for name, limit in self.value_limits(vocab_size, type_vocab_size).items():
            values = features[name]
            wrong = values[(values < 0) | (values >= limit)]
            if not len(wrong):
                continue
            is_too_large = wrong[0] >= limit
            if is_too_large and name in ("input_ids", "masked_lm_ids"):
                return (
                    f"contains the token id {wrong.max()}, but vocab_size is {limit} in the "
                    "model's configuration: they belong to different vocabularies"
                )
            if is_too_large and name == "segment_ids":
                return (
                    f"contains the segment id {wrong.max()}, but type_vocab_size is {limit} in the "
                    "model's configuration"
                )
            return (
                f"contains {wrong[0]} among its {name}, 0 to {limit - 1} are expected: make the "
                "records again"
            )
        for name in ("masked_lm_weights", "next_sentence_weights"):
            weights = features.get(name, np.zeros(0, np.float32))
            wrong = weights[np.signbit(weights) | ~np.isfinite(weights)]
            if len(wrong):
                return (
                    f"contains {wrong[0]} among its {name}, 0 or more is expected: make the "
                    "records again"
                )
        return None

    def describe(self) -> str:
        """Returns the kind of records, e.g. "packed, without masks"."""
        kind = "packed" if self.is_packed else "unpacked"
        if self.has_masks:
            return kind
        return f"{kind}, without masks"


def _is_well_packed(features: Mapping[str, np.ndarray]) -> bool:
    """Whether the sequences of a row are contiguous and begin at the positions in the record."""
    number = features["input_mask"]
    begins = features["next_sentence_positions"][features["next_sentence_weights"] > 0]
    columns = np.arange(len(number))
    num_begun = (begins[None, :] <= columns[:, None]).sum(1)
    tokens = np.flatnonzero(number)
    if not len(tokens):
        return False
    return np.array_equal(number, np.where(columns <= tokens[-1], num_begun, 0))


def expected_features(is_packed: bool, has_masks: bool) -> dict[str, type]:
    """Returns feature → its type, for a kind of records."""
    features: dict[str, type] = dict(FEATURES)
    if is_packed:
        features.update(PACKED_FEATURES)
    if not has_masks:
        for name in MASK_FEATURES:
            del features[name]
    return features
