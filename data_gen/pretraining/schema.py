"""The schemas of pre-training records: which features a record has, how many values each, and what
they may be.

A record is a `tf.train.Example`. The original's holds one sequence with its masks. Ours may be
packed, with several sequences in a row of tokens, and may come without masks, which training then
chooses. `record_writer.py` writes them, `records.py` reads them, and
`bert_tf/tasks/pretraining/data.py` parses them for training.
"""

import dataclasses
import functools
from collections.abc import Mapping

import numpy as np

# Feature of the original → its type; next_sentence_labels is 1 where segment B is a random one.
FEATURES = {
    "input_ids": np.int64,
    "input_mask": np.int64,
    "segment_ids": np.int64,
    "masked_lm_positions": np.int64,
    "masked_lm_ids": np.int64,
    "masked_lm_weights": np.float32,
    "next_sentence_labels": np.int64,
}

# In packed records: input_mask is the sequence of the row that a token belongs to, from 1, and is 0
# for padding. These two are where the sequences begin, and are 0 where there are fewer;
# next_sentence_labels has as many values.
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
        """The schema of a record, as `records.read_examples` yields it, whatever names it had."""
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
        lengths = {
            "input_ids": self.max_seq_length,
            "input_mask": self.max_seq_length,
            "segment_ids": self.max_seq_length,
            **dict.fromkeys(MASK_FEATURES, self.max_predictions_per_seq),
            **dict.fromkeys(
                (*PACKED_FEATURES, "next_sentence_labels"), self.max_sequences_per_row or 1
            ),
        }
        return {
            name: (lengths[name], dtype)
            for name, dtype in expected_features(self.is_packed, self.has_masks).items()
        }

    def name_in_file(self, name: str) -> str:
        """Name of a feature in the file, by its name of the original."""
        return V2_NAMES.get(name, name) if self.v2_feature_names else name

    def parse_spec(self) -> dict:
        """Name in the file → `tf.io.FixedLenFeature`, for `tf.io.parse_example` on a batch of
        serialized records."""
        import tensorflow as tf

        return {
            self.name_in_file(name): tf.io.FixedLenFeature(
                [length], tf.float32 if dtype == np.float32 else tf.int64
            )
            for name, (length, dtype) in self.features.items()
        }

    def value_limits(self, vocab_size: int, type_vocab_size: int) -> dict[str, int]:
        """Feature of whole numbers → what its values must be below; none may be negative."""
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
        """The fault that makes a record useless for a model, in words that follow on "record 7 ";
        None without a fault.

        Args:
          features: as `records.read_examples` yields them.
          vocab_size, type_vocab_size: of the model.
        """
        found = Schema.of(features)
        if (found.is_packed, found.has_masks) != (self.is_packed, self.has_masks):
            return f"is {found.describe()}, others are {self.describe()}: read them in two runs, or make them all alike"
        for flag in ("max_seq_length", "max_predictions_per_seq"):
            one, given = getattr(found, flag), getattr(self, flag)
            if one != given:
                return f"was made with {flag}={one}, but --{flag} is {given}: give --{flag}={one}, or make the records again"
        for name, (expected, dtype) in self.features.items():
            values = features[name]
            if values.dtype != dtype:
                return f"has {name} that are no {'floats' if dtype == np.float32 else 'whole numbers'}: make the records again"
            if len(values) != expected:
                return f"has {len(values)} {name}, {expected} are expected: make the records again"
        for name, limit in self.value_limits(vocab_size, type_vocab_size).items():
            wrong = features[name][(features[name] < 0) | (features[name] >= limit)]
            if len(wrong) and wrong[0] >= limit and name in ("input_ids", "masked_lm_ids"):
                return (
                    f"holds the token id {wrong.max()}, but vocab_size is {limit} in the model's configuration: they "
                    "belong to different vocabularies"
                )
            if len(wrong) and wrong[0] >= limit and name == "segment_ids":
                return f"holds the segment id {wrong.max()}, but type_vocab_size is {limit} in the model's configuration"
            if len(wrong):
                return f"holds {wrong[0]} among its {name}, 0 to {limit - 1} are expected: make the records again"
        for name in ("masked_lm_weights", "next_sentence_weights"):
            weights = features.get(name, np.zeros(0, np.float32))
            wrong = weights[np.signbit(weights) | ~np.isfinite(weights)]
            if len(wrong):
                return f"holds {wrong[0]} among its {name}, 0 or more is expected: make the records again"
        if not self.is_packed:
            return None
        # Sequences must be contiguous and begin where the record says.
        number = features["input_mask"]
        begins = features["next_sentence_positions"][features["next_sentence_weights"] > 0]
        started = (begins[None, :] <= np.arange(len(number))[:, None]).sum(1)
        last = np.flatnonzero(number)[-1:] + 1
        if len(last) and np.array_equal(
            number, np.where(np.arange(len(number)) < last, started, 0)
        ):
            return None
        return (
            "has broken sequence numbers: its input_mask must count 1, 2, … from each of its next_sentence_positions "
            "and be 0 after the last sequence: make the records again"
        )

    def describe(self) -> str:
        """The kind of records, e.g. "packed, without masks"."""
        return ("packed" if self.is_packed else "unpacked") + (
            "" if self.has_masks else ", without masks"
        )


def expected_features(is_packed: bool, has_masks: bool) -> dict[str, type]:
    """Feature → its type, for a kind of records."""
    return {
        name: dtype
        for name, dtype in (FEATURES | (PACKED_FEATURES if is_packed else {})).items()
        if has_masks or name not in MASK_FEATURES
    }
