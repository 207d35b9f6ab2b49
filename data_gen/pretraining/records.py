"""Reads pre-training records without TensorFlow: to look at them, to check them, to count them.

Input: TFRecord files in one of the schemas of `schema.py`. Output: their features as arrays. Training parses them in a
graph, see `bert_tf/tasks/pretraining/data.py`.
"""

import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np

from bert_common.errors import UserError
from data_gen.pretraining import tfrecord
from data_gen.pretraining.schema import FEATURES, MASK_FEATURES, PACKED_FEATURES, V2_NAMES, Schema, expected_features
from data_gen.pretraining.tfrecord import count_records as count_records

# The size of a vocabulary that every id fits into.
_ANY_ID = np.iinfo(np.int64).max


@dataclasses.dataclass(frozen=True)
class RecordFacts:
  """Properties of all records of a file, read from the first; `features` are those that `read_examples` yields."""

  feature_names: tuple[str, ...]
  schema: Schema
  features: dict[str, np.ndarray] = dataclasses.field(repr=False, compare=False)


def read_examples(path: str) -> Iterator[dict[str, np.ndarray]]:
  """The records of a file as arrays under the names of the original schema.

  Raises:
    UserError: as `tfrecord.read_records`; or a record is not an Example of pre-training.
  """
  for number, payload in enumerate(tfrecord.read_records(path), 1):
    yield parse_record(payload, path, number)


def read_sequences(path: str) -> Iterator[dict[str, np.ndarray]]:
  """The sequences of the records of a file, see `split_row`.

  Raises:
    UserError: as `read_examples`; or a record is not what its own lengths say, whatever model it is for.
  """
  for number, features in enumerate(read_examples(path), 1):
    if fault := Schema.of(features).find_fault(features, _ANY_ID, _ANY_ID):
      raise UserError(f"{path}: record {number} {fault}")
    yield from split_row(features)


def split_row(features: Mapping[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
  """The sequences of a record, each under the names of the original schema; there are none but itself if not packed.

  Args:
    features: as `read_examples` yields them; those of masks are empty where the record has none.
  """
  no_masks = {name: np.zeros(0, FEATURES[name]) for name in MASK_FEATURES}
  if "next_sentence_positions" not in features:
    return [{**no_masks, **features}]
  sequences = []
  for number, begin in enumerate(features["next_sentence_positions"], 1):
    mine = features["input_mask"] == number
    if not mine.any():
      break
    sequence = {"input_ids": features["input_ids"][mine], "input_mask": np.ones(mine.sum(), np.int64),
                "segment_ids": features["segment_ids"][mine], **no_masks,
                "next_sentence_labels": features["next_sentence_labels"][number - 1:number]}
    if "masked_lm_ids" in features:
      chosen = mine[features["masked_lm_positions"]] & (features["masked_lm_weights"] > 0)
      sequence |= {name: features[name][chosen] for name in MASK_FEATURES}
      sequence["masked_lm_positions"] = sequence["masked_lm_positions"] - begin
    sequences.append(sequence)
  return sequences


def inspect_first_record(path: str) -> RecordFacts:
  """Schema and values of the first record of a file.

  Raises:
    UserError: as `read_examples`; or the file is empty.
  """
  payload = next(tfrecord.read_records(path), None)
  if payload is None:
    raise UserError(f"{path} is empty: it holds no record")
  features = _parse_record(payload, path, 1)
  named = _renamed(features)
  return RecordFacts(feature_names=tuple(sorted(features)), features=named,
                     schema=dataclasses.replace(Schema.of(named), v2_feature_names=_is_v2(features)))


def parse_record(payload: bytes, path: str, number: int) -> dict[str, np.ndarray]:
  """A record as `read_examples` yields it.

  Raises:
    UserError: names file and record where it is not an Example of pre-training.
  """
  return _renamed(_parse_record(payload, path, number))


def _renamed(features: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
  v2 = _is_v2(features)
  return {name: features[V2_NAMES.get(name, name) if v2 else name] for name in _expected(features)}


def _is_v2(features: Mapping[str, np.ndarray]) -> bool:
  return "input_ids" not in features


def _expected(features: Mapping[str, np.ndarray]) -> dict[str, type]:
  """The features that a record with these must have."""
  return expected_features(any(name in features for name in PACKED_FEATURES),
                           any(name in features for name in MASK_FEATURES))


def _parse_record(payload: bytes, path: str, number: int) -> dict[str, np.ndarray]:
  try:
    features = tfrecord.parse_example(payload)
  except (ValueError, IndexError):
    raise UserError(f"{path}: record {number} is not a serialized tf.train.Example") from None
  names = [V2_NAMES.get(name, name) if _is_v2(features) else name for name in _expected(features)]
  missing = [name for name in names if name not in features]
  if missing:
    raise UserError(f"{path}: record {number} has no feature {', '.join(missing)} (it has: "
                    f"{', '.join(sorted(features)) or 'none'}): it is not a pre-training record")
  return features
