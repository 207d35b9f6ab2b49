"""Record files of pre-training, checked against flags and model before anything is built.

Input: TFRecord files in the schema of `data_gen/pretraining/records.py`. Output: the files to read,
and functions that parse them. Their vocabulary is in `vocabulary.py`.

Records without masks are masked while training, anew in every pass, by the rule of data generation
(`data_gen/pretraining/masking.py`). The masks of a sequence are a function of (seed, pass,
sequence, share of the tokens), so neither a resumed run nor the number of devices changes them; in
evaluation they are always the same. The share may fall (arXiv 2305.15096).

Letters: b records, S tokens of a record, P predictions of a record, K sequences of a packed record.
"""

import concurrent.futures
import dataclasses
import itertools
from collections.abc import Callable, Sequence

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
from data_gen.ragged import starts_of
from modeling.config import BertConfig

# Number of files inspected in parallel: a remote file costs several reads of 50 ms each.
_FILES_AT_ONCE = 16
# Number of packed records whose sequences are counted: the mean is then right to half a percent.
_SAMPLE = 20_000
# Number of records among which one must be a pair, if those of a file are pairs. Half of the pairs
# have the label 1, so that pairs are found without segment ids, too.
_PAIR_SAMPLE = 100


@dataclasses.dataclass(frozen=True)
class PretrainingRecords:
    """Record files of one schema.

    Attributes:
      flag: name of the flag that names them.
      sampled: number of records that were inspected, and number of sequences that they contain.
      without_pairs: paths of the files whose sequences are single segments.
    """

    files: RecordFiles
    schema: Schema
    flag: str
    sampled: tuple[int, int] = (1, 1)
    without_pairs: tuple[str, ...] = ()

    @property
    def sequences_per_record(self) -> float:
        """Mean number of sequences of a record; more than 1 in packed records."""
        return self.sampled[1] / self.sampled[0]

    @property
    def num_sequences(self) -> int:
        """Number of sequences in all files; estimated from a sample of packed records."""
        return round(self.files.num_examples * self.sequences_per_record)

    def describe(self) -> str:
        """One-line summary of the number of records."""
        length = self.schema.max_seq_length
        if not self.schema.is_packed:
            return f"{self.files.num_examples:,} examples of {length} tokens"
        return (
            f"{self.files.num_examples:,} rows of {length} tokens with about "
            f"{self.num_sequences:,} examples packed in them, {self.sequences_per_record:.2f} each"
        )


def check_records(
    patterns: str, flag: str, config: BertConfig, max_seq_length: int, max_predictions_per_seq: int
) -> PretrainingRecords:
    """Checks the first record of every file, and counts the records of files without statistics.

    Raises:
      UserError: a file is missing, empty, cut off, or its first record has a fault
        (`Schema.find_fault`).
    """
    # Fail before reading remote files.
    config.check_sequence_length(max_seq_length, "--max_seq_length")
    paths = find_records(patterns, flag)
    with concurrent.futures.ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        # Threads hide the latency of remote files; results have the order of the paths.
        facts = list(pool.map(records.inspect_first_record, paths))
        gzips = tuple(pool.map(files.is_gzip, paths))
        counts = tuple(pool.map(_num_records, paths, stated_counts(paths)))
        have_pairs = list(pool.map(_has_pairs, paths))
    schema = facts[0].schema
    # A model without masks in its records makes them by --max_predictions_per_seq itself.
    max_predictions = max_predictions_per_seq if schema.has_masks else 0
    schema = dataclasses.replace(
        schema, max_seq_length=max_seq_length, max_predictions_per_seq=max_predictions
    )
    for path, fact in zip(paths, facts, strict=True):
        _refuse_fault(fact.features, f"--{flag}: the first record of {path}", schema, config)
        if fact.schema.v2_feature_names != schema.v2_feature_names:
            raise UserError(
                f"--{flag}: {paths[0]} and {path} use different feature names (the original's and "
                "the Model Garden's): read them in two runs"
            )
    sampled = _sample_sequences(paths) if schema.is_packed else (1, 1)
    without_pairs = tuple(path for path, has in zip(paths, have_pairs, strict=True) if not has)
    record_files = RecordFiles(tuple(paths), counts, gzips)
    return PretrainingRecords(record_files, schema, flag, sampled, without_pairs)


def _num_records(path: str, stated_count: int | None) -> int:
    """Returns the number of records by the statistics of a file, else counts them."""
    if stated_count is not None:
        return stated_count
    return records.count_records(path)


def _has_pairs(path: str) -> bool:
    """Whether the first records of a file have a second segment, or the label of a random one."""
    for record in itertools.islice(records.read_examples(path), _PAIR_SAMPLE):
        if record["segment_ids"].any() or record["next_sentence_labels"].any():
            return True
    return False


def _sample_sequences(paths: Sequence[str]) -> tuple[int, int]:
    """Counts the sequences of packed records at the beginning of every file.

    Records were shuffled when they were written, so that the first ones are a random sample.

    Returns:
      number of records and number of sequences.
    """
    num_records = 0
    num_sequences = 0
    records_per_file = max(_SAMPLE // len(paths), 1)
    for path in paths:
        for record in itertools.islice(records.read_examples(path), records_per_file):
            num_records += 1
            num_sequences += int(np.count_nonzero(record["next_sentence_weights"]))
    return num_records, num_sequences


def check_all_records(pretraining_records: PretrainingRecords, config: BertConfig) -> None:
    """Checks every record as `check_records` does the first of every file, and the checksums.

    It reads all files again, so it is called when training has found that something is wrong.
    """
    for path in pretraining_records.files.paths:
        for number, payload in enumerate(records.read_records(path), 1):
            _refuse_fault(
                records.parse_record(payload, path, number),
                f"--{pretraining_records.flag}: {path}: record {number}",
                pretraining_records.schema,
                config,
            )


def _refuse_fault(
    features: dict[str, np.ndarray], where: str, schema: Schema, config: BertConfig
) -> None:
    """Raises `UserError` for a record that does not fit the schema or the model."""
    fault = schema.find_fault(features, config.vocab_size, config.type_vocab_size)
    if fault:
        raise UserError(f"{where} {fault}")


def parser(schema: Schema, config: BertConfig, add_masks: Callable | None = None) -> Callable:
    """Returns a function from serialized records to features under the original's names.

    Args:
      add_masks: for records without masks: (features, serialized records, passes int64 [b]) →
        features with masks.

    Returns:
      a function of serialized records, string [b], and, for `add_masks`, their passes. It returns
      int32 tensors (weights: float32), each [b, length]. For packed records `input_mask` is 1 for
      tokens as usual, and "sequence_ids" and "position_ids" int32 [b, S] are the numbers of the
      tokens' sequences and positions there. It raises `tf.errors.InvalidArgumentError` for a record
      of another length or with out-of-range values, which compiled lookups would not notice.
    """
    import tensorflow as tf

    # Both are constants of the graph.
    spec = schema.parse_spec()
    limits = schema.value_limits(config.vocab_size, config.type_vocab_size)
    weights = [name for name, (_, dtype) in schema.features.items() if dtype == np.float32]
    # Negative numbers, read as unsigned, are larger than all others: one comparison finds values
    # below and above. The same holds for the bits of floats, where infinity and NaN are above all
    # finite ones.
    weight_limits = [0x7F800000] * len(weights)
    unsigned_limits = np.array([*limits.values(), *weight_limits], np.uint64)

    def parse(serialized, passes=None):
        parsed = tf.io.parse_example(serialized, spec)
        values = {}
        for name in schema.features:
            values[name] = parsed[schema.name_in_file(name)]
        largest = []
        for name in limits:
            largest.append(tf.reduce_max(tf.bitcast(values[name], tf.uint64)))
        for name in weights:
            bits = tf.reduce_max(tf.bitcast(values[name], tf.uint32))
            largest.append(tf.cast(bits, tf.uint64))
        is_valid = tf.reduce_all(tf.stack(largest) < unsigned_limits)
        check = tf.debugging.Assert(is_valid, ["a record contains out-of-range values"])
        features = {}
        with tf.control_dependencies([check]):
            for name, value in values.items():
                # TPUs have no int64.
                if value.dtype == tf.int64:
                    features[name] = tf.cast(value, tf.int32)
                else:
                    features[name] = tf.identity(value)
        if add_masks is not None:
            features = add_masks(features, serialized, passes)
        if schema.is_packed:
            # The encoder needs to keep the sequences of a row apart. In the files the mask is the
            # number of the token's sequence in its row, from 1.
            sequence_ids = features["input_mask"]  # [b, S]
            is_token = sequence_ids > 0
            starts = tf.gather(
                features["next_sentence_positions"], tf.maximum(sequence_ids - 1, 0), batch_dims=1
            )  # [b, S]
            positions = tf.range(tf.shape(sequence_ids)[1]) - starts
            features["input_mask"] = tf.cast(is_token, tf.int32)
            features["sequence_ids"] = sequence_ids
            features["position_ids"] = tf.where(is_token, positions, 0)
        return features

    return parse


def masker(
    schema: Schema,
    masking: Masking,
    seed: int,
    probs: Callable | None = None,
    in_graph: bool = False,
) -> Callable:
    """Returns a function for `parser` that masks.

    Args:
      masking: rule; `max_predictions_per_seq` limits the predictions of a record, also of a packed
        one.
      probs: steps, int64 [b], and NumPy or TensorFlow → `masked_lm_prob` of each; None for the
        value in `masking`.
      in_graph: mask by TensorFlow's operations, which takes longer, instead of NumPy's.

    Returns:
      (features, serialized records string [b], uses int64 [b]) → features with masks.
    """
    import tensorflow as tf

    from bert_tf.tasks.pretraining.graph_masking import mask_in_graph

    names = [name for name in schema.features if name != "next_sentence_weights"]

    def mask_batch(keys, uses, *values):
        if probs is None:
            rule = masking
        else:
            rule = dataclasses.replace(masking, masked_lm_prob=probs(uses >> STEP_SHIFT, np))
        return mask_records(dict(zip(names, values, strict=True)), rule, seed, uses, keys)

    def add_masks(features: dict, serialized, uses) -> dict:
        # A sequence is the same example at any position in the files: derive its key from it.
        keys = tf.strings.to_hash_bucket_fast(serialized, 1 << 62)
        if in_graph:
            if probs is not None:
                prob = probs(tf.bitwise.right_shift(uses, STEP_SHIFT), tf)
            else:
                prob = masking.masked_lm_prob
            return {**features, **mask_in_graph(features, masking, prob, seed, uses, keys)}
        inputs = [keys, uses]
        for name in names:
            inputs.append(features[name])
        types = [tf.int32, tf.int32, tf.int32, tf.float32]
        masked = tf.numpy_function(mask_batch, inputs, types, stateful=False)
        features = dict(features)
        for name, value in zip(("input_ids", *MASK_FEATURES), masked, strict=True):
            if name == "input_ids":
                width = schema.max_seq_length
            else:
                width = masking.max_predictions_per_seq
            # TensorFlow does not know the shapes of NumPy's results.
            value.set_shape([serialized.shape[0], width])
            features[name] = value
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
      masking: rule; `masked_lm_prob` may be one for each record, float64 [b].
      passes: int64 [b], the pass over each record (its lower 32 bits count).
      keys: int64 [b], which identify the records.

    Returns:
      "input_ids" int32 [b, S], "masked_lm_positions" and "masked_lm_ids" int32 [b, P],
      "masked_lm_weights" float32.
    """
    sequence_numbers = features["input_mask"]
    num_rows, width = sequence_numbers.shape
    max_predictions = masking.max_predictions_per_seq
    is_packed = "next_sentence_positions" in features
    max_sequences = features["next_sentence_positions"].shape[1] if is_packed else 1
    # List every sequence with its row, its number there, its first position and its length.
    is_member = sequence_numbers[:, :, None] == np.arange(1, max_sequences + 1)  # [b, S, K]
    lengths = is_member.sum(1)  # [b, K]
    row, number = np.nonzero(lengths)
    length = lengths[row, number]
    if is_packed:
        start = features["next_sentence_positions"][row, number]
    else:
        start = np.zeros_like(row)
    columns = np.minimum(start[:, None] + np.arange(width), width - 1)
    is_token = np.arange(width) < length[:, None]
    ids = np.where(is_token, features["input_ids"][row[:, None], columns], 0)
    segments = np.where(is_token, features["segment_ids"][row[:, None], columns], 0)
    is_b = segments == 1
    # A sequence without a second segment begins it at its end.
    segment_b = np.where(is_b.any(1), is_b.argmax(1), length)
    masking = dataclasses.replace(
        masking, masked_lm_prob=np.broadcast_to(masking.masked_lm_prob, num_rows)[row]
    )
    # Rows were packed for the predictions of the flags of data generation: there may be too many
    # only if training has other flags. Then the last sequences of a row get fewer.
    predictions = predictions_of(length, masking.masked_lm_prob, max_predictions)
    before = starts_of(predictions)
    before -= before[np.searchsorted(row, row)]
    draws = KeyedDraws(
        seed,
        passes[row].astype(np.uint64),
        (keys[row] * max_sequences + number).astype(np.uint64),
        width,
        max_predictions,
    )
    masked = mask(
        ids.astype(np.int32),
        length,
        segment_b - 1,
        masking,
        draws,
        np.maximum(max_predictions - before, 0),
    )
    sequences = sequence_features(ids, length, segment_b, np.zeros_like(row), masked)
    packs = Packs(row, number, start, num_rows)
    rows = put_in_rows(sequences, length, packs, Schema(width, max_predictions, max_sequences))
    return (
        rows["input_ids"].astype(np.int32),
        rows["masked_lm_positions"].astype(np.int32),
        rows["masked_lm_ids"].astype(np.int32),
        rows["masked_lm_weights"],
    )
