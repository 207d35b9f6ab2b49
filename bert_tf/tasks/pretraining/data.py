"""Record files of pre-training: checked against flags and model before anything is built, and how
to parse them.

Input: TFRecord files in the schema of `data_gen/pretraining/records.py`. Output: which files to
read, and how to parse them. Their vocabulary is in `vocabulary.py`.

Records without masks are masked while training, anew in every pass, by the rule of data generation
(`data_gen/pretraining/masking.py`). What is masked in a sequence is a function of (seed, pass,
sequence, share of the tokens), so neither a resumed run nor the number of devices changes it; in
evaluation it is always the same. The share may fall (arXiv 2305.15096).
"""

import concurrent.futures
import dataclasses
import itertools
from collections.abc import Callable

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from bert_tf.training.inputs import STEP_SHIFT, RecordFiles
from data_gen.pretraining import records
from data_gen.pretraining.masking import KeyedDraws, Masking, mask, predictions_of
from data_gen.pretraining.packing import Packs, put_in_rows
from data_gen.pretraining.record_writer import sequence_features
from data_gen.pretraining.records import find_records, stated_counts
from data_gen.pretraining.schema import MASK_FEATURES, Schema
from modeling.config import BertConfig

# Looked at together: a file that is far away costs some reads of 50 ms each.
_FILES_AT_ONCE = 16
# Packed records whose sequences are counted: the mean is then right to half a percent.
_SAMPLE = 20_000


@dataclasses.dataclass(frozen=True)
class PretrainingRecords:
    """Record files of one schema.

    Attributes:
      sampled: how many records were looked at, and how many sequences they hold.
    """

    files: RecordFiles
    schema: Schema
    flag: str
    sampled: tuple[int, int] = (1, 1)

    @property
    def sequences_per_record(self) -> float:
        """The mean; more than 1 in packed records."""
        return self.sampled[1] / self.sampled[0]

    @property
    def num_sequences(self) -> int:
        """In all files; of packed records estimated by a sample."""
        return round(self.files.num_examples * self.sequences_per_record)

    def describe(self) -> str:
        """How many there are."""
        if not self.schema.is_packed:
            return f"{self.files.num_examples:,} examples of {self.schema.max_seq_length} tokens"
        return (
            f"{self.files.num_examples:,} rows of {self.schema.max_seq_length} tokens with about "
            f"{self.num_sequences:,} examples packed in them, {self.sequences_per_record:.2f} each"
        )


def check_records(
    patterns: str, flag: str, config: BertConfig, max_seq_length: int, max_predictions_per_seq: int
) -> PretrainingRecords:
    """Looks at the first record of every file, and counts them all where there are no statistics.

    Raises:
      UserError: a file is missing, empty, cut off, or its first record has a fault
        (`Schema.find_fault`).
    """
    config.check_sequence_length(max_seq_length, "--max_seq_length")
    paths = find_records(patterns, flag)
    with concurrent.futures.ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        facts = list(pool.map(records.inspect_first_record, paths))
        gzips = tuple(pool.map(files.is_gzip, paths))
        stated = stated_counts(paths)
        counts = tuple(
            pool.map(
                lambda path, count: records.count_records(path) if count is None else count,
                paths,
                stated,
            )
        )
    first = facts[0].schema
    schema = dataclasses.replace(
        first,
        max_seq_length=max_seq_length,
        max_predictions_per_seq=max_predictions_per_seq if first.has_masks else 0,
    )
    for path, fact in zip(paths, facts, strict=True):
        _refuse_fault(fact.features, f"--{flag}: the first record of {path}", schema, config)
        if fact.schema.v2_feature_names != schema.v2_feature_names:
            raise UserError(
                f"--{flag}: {paths[0]} and {path} use different feature names (the original's and the Model "
                "Garden's): read them in two runs"
            )
    # Of packed records at the beginning of every file, which were shuffled, the sequences that they
    # hold.
    sample = (
        [
            np.count_nonzero(record["next_sentence_weights"])
            for path in paths
            for record in itertools.islice(
                records.read_examples(path), max(_SAMPLE // len(paths), 1)
            )
        ]
        if schema.is_packed
        else [1]
    )
    return PretrainingRecords(
        RecordFiles(tuple(paths), counts, gzips), schema, flag, (len(sample), int(sum(sample)))
    )


def check_all_records(given: PretrainingRecords, config: BertConfig) -> None:
    """Does with every record what `check_records` does with the first of every file, and verifies
    the checksums.

    It reads all files once more, so it is done when training has found that something is wrong.
    """
    for path in given.files.paths:
        for number, payload in enumerate(records.read_records(path), 1):
            _refuse_fault(
                records.parse_record(payload, path, number),
                f"--{given.flag}: {path}: record {number}",
                given.schema,
                config,
            )


def _refuse_fault(
    features: dict[str, np.ndarray], where: str, schema: Schema, config: BertConfig
) -> None:
    fault = schema.find_fault(features, config.vocab_size, config.type_vocab_size)
    if fault:
        raise UserError(f"{where} {fault}")


def parser(schema: Schema, config: BertConfig, add_masks: Callable | None = None) -> Callable:
    """A function from serialized records, string [b], to features under the original's names.

    Args:
      add_masks: for records without masks: (features, serialized records, passes int64 [b]) →
        features with masks.

    Returns:
      a function of the serialized records and, for `add_masks`, their passes, that gives int32
      tensors (weights: float32), each [b, length]. Of packed records `input_mask` is 1 for tokens
      as ever, and "sequence_ids" and "position_ids" int32 [b, S] are the tokens' sequences. It
      raises `tf.errors.InvalidArgumentError` where a record has another length, or a value that the
      model has no place for, which compiled lookups would not notice.
    """
    import tensorflow as tf

    spec = schema.parse_spec()
    limits = schema.value_limits(config.vocab_size, config.type_vocab_size)
    weights = [name for name, (_, dtype) in schema.features.items() if dtype == np.float32]
    # As unsigned numbers, negative ones are larger than all others: one comparison finds values
    # below and above. The same holds for the bits of floats, where infinity and NaN are above all
    # finite ones.
    unsigned_limits = np.array([*limits.values(), *[0x7F800000] * len(weights)], np.uint64)

    def parse(serialized, passes=None):
        parsed = tf.io.parse_example(serialized, spec)
        features = {name: parsed[schema.name_in_file(name)] for name in schema.features}
        largest = [tf.reduce_max(tf.bitcast(features[name], tf.uint64)) for name in limits]
        largest += [
            tf.cast(tf.reduce_max(tf.bitcast(features[name], tf.uint32)), tf.uint64)
            for name in weights
        ]
        is_right = tf.reduce_all(tf.stack(largest) < unsigned_limits)
        with tf.control_dependencies(
            [tf.debugging.Assert(is_right, ["a record holds values that can not be"])]
        ):
            # TPUs have no int64.
            features = {
                name: tf.cast(value, tf.int32) if value.dtype == tf.int64 else tf.identity(value)
                for name, value in features.items()
            }
        if add_masks is not None:
            features = add_masks(features, serialized, passes)
        if schema.is_packed:
            # What the encoder needs to keep the sequences of a row apart.
            number = features["input_mask"]  # [b, S]
            is_token = number > 0
            begin = tf.gather(
                features["next_sentence_positions"], tf.maximum(number - 1, 0), batch_dims=1
            )  # [b, S]
            features |= {
                "input_mask": tf.cast(is_token, tf.int32),
                "sequence_ids": number,
                "position_ids": tf.where(is_token, tf.range(tf.shape(number)[1]) - begin, 0),
            }
        return features

    return parse


def masker(schema: Schema, masking: Masking, seed: int, probs: Callable | None = None) -> Callable:
    """A function for `parser`: (features, serialized records string [b], uses int64 [b]) → features
    with masks.

    Args:
      masking: how to mask; `max_predictions_per_seq` are the predictions of a record, also of a
        packed one.
      probs: steps, int64 [b] → `masked_lm_prob` of each; None for that of `masking`.
    """
    import tensorflow as tf

    names = [name for name in schema.features if name != "next_sentence_weights"]

    def add_masks(features: dict, serialized, uses) -> dict:
        # Whatever the place of a record in the files: the same sequence is the same example.
        keys = tf.strings.to_hash_bucket_fast(serialized, 1 << 62)

        def work(keys, uses, *values):
            now = (
                masking
                if probs is None
                else dataclasses.replace(masking, masked_lm_prob=probs(uses >> STEP_SHIFT))
            )
            return mask_records(dict(zip(names, values, strict=True)), now, seed, uses, keys)

        masked = tf.numpy_function(
            work,
            [keys, uses, *(features[name] for name in names)],
            [tf.int32, tf.int32, tf.int32, tf.float32],
            stateful=False,
        )
        for name, value in zip(("input_ids", *MASK_FEATURES), masked, strict=True):
            width = (
                schema.max_seq_length if name == "input_ids" else masking.max_predictions_per_seq
            )
            value.set_shape([serialized.shape[0], width])
            features = {**features, name: value}
        return features

    return add_masks


def mask_records(
    features: dict[str, np.ndarray],
    masking: Masking,
    seed: int,
    passes: np.ndarray,
    keys: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """Masks the sequences of b records without masks, as they are in the files.

    Args:
      masking: how to mask; `masked_lm_prob` may be one for each record, float64 [b].
      passes, keys: int64 [b], which pass it is (its lower 32 bits count), and which record.

    Returns:
      "input_ids" int32 [b, S], "masked_lm_positions" and "masked_lm_ids" int32 [b, P],
      "masked_lm_weights" float32.
    """
    number = features["input_mask"]
    rows, width = number.shape
    is_packed = "next_sentence_positions" in features
    most = features["next_sentence_positions"].shape[1] if is_packed else 1
    # Every sequence by itself: its row, its number there, its first position and its length.
    length = (number[:, :, None] == np.arange(1, most + 1)).sum(1)  # [b, K]
    row, which = np.nonzero(length)
    begin = features["next_sentence_positions"][row, which] if is_packed else np.zeros_like(row)
    packs, length = Packs(row, which, begin, rows), length[row, which]
    at = np.minimum(begin[:, None] + np.arange(width), width - 1)
    real = np.arange(width) < length[:, None]
    ids, segments = (
        np.where(real, features[name][row[:, None], at], 0) for name in ("input_ids", "segment_ids")
    )
    segment_b = np.where((segments == 1).any(1), (segments == 1).argmax(1), length)
    masking = dataclasses.replace(
        masking, masked_lm_prob=np.broadcast_to(masking.masked_lm_prob, rows)[row]
    )
    # Rows were packed for so many predictions: only where other flags are given now may there be
    # too many.
    predicted = predictions_of(length, masking.masked_lm_prob, masking.max_predictions_per_seq)
    before = np.cumsum(predicted) - predicted
    before -= before[np.searchsorted(row, row)]
    draws = KeyedDraws(
        seed,
        passes[row].astype(np.uint64),
        (keys[row] * most + which).astype(np.uint64),
        width,
        masking.max_predictions_per_seq,
    )
    masked = mask(
        ids.astype(np.int32),
        length,
        segment_b - 1,
        masking,
        draws,
        np.maximum(masking.max_predictions_per_seq - before, 0),
    )
    sequences = sequence_features(ids, length, segment_b, np.zeros_like(row), masked)
    schema = Schema(width, masking.max_predictions_per_seq, most)
    found = put_in_rows(sequences, length, packs, schema)
    return (
        *(found[name].astype(np.int32) for name in ("input_ids", *MASK_FEATURES[:2])),
        found["masked_lm_weights"],
    )
