"""Record files of pre-training: checked against flags and model before anything is built, and how to parse them.

Input: TFRecord files in the schema of `data_gen/pretraining/records.py`. Output: which files to read, and how to parse
them. Their vocabulary is in `vocabulary.py`.
"""

from collections.abc import Callable

import numpy as np

from common import files
from common.errors import UserError
from common.parallel import portions
from data_gen.pretraining import records, tfrecord
from modeling.config import BertConfig
from training.inputs import RecordFiles

# Parsed together when the record that is wrong is looked for.
_RECORDS_AT_ONCE = 256


def check_records(patterns: str, flag: str, config: BertConfig, max_seq_length: int,
                  max_predictions_per_seq: int) -> tuple[RecordFiles, bool]:
  """Looks at the first record of every file and counts them all.

  Args:
    patterns: comma-separated paths and globs.
    flag: where they come from, for errors.
    config: the model that will read them.
    max_seq_length, max_predictions_per_seq: what the flags say.

  Returns:
    the files, and whether they use the Model Garden's feature names.

  Raises:
    UserError: a file is missing, empty, cut off, no pre-training records, of other lengths than the flags say, or holds
      values that the model has no place for, e.g. ids of a larger vocabulary.
  """
  config.check_sequence_length(max_seq_length, "--max_seq_length")
  paths = files.expand_patterns(patterns, flag)
  facts = [records.inspect_first_record(path) for path in paths]
  for path, fact in zip(paths, facts, strict=True):
    _refuse_fault(fact.features, f"--{flag}: the first record of {path}", config, max_seq_length,
                  max_predictions_per_seq)
    if fact.v2_feature_names != facts[0].v2_feature_names:
      raise UserError(f"--{flag}: {paths[0]} and {path} use different feature names (the original's and the Model "
                      "Garden's): read them in two runs")
  return RecordFiles(
      paths=tuple(paths), counts=tuple(records.count_records(path) for path in paths),
      gzipped=tuple(files.is_gzip(path) for path in paths)), facts[0].v2_feature_names


def check_all_records(record_files: RecordFiles, flag: str, parse: Callable, config: BertConfig, max_seq_length: int,
                      max_predictions_per_seq: int) -> None:
  """Reads everything: what `check_records` does with the first record of every file, and the checksums.

  It reads all files once more, so it is done when training has found that something is wrong.

  Args:
    parse: of `parser`, which tells whether a batch is right; what is wrong is found in the batch that is not.

  Raises:
    UserError: names the file and the number of the record.
  """
  import tensorflow as tf

  for path in record_files.paths:
    for payloads in portions(enumerate(tfrecord.read_records(path), 1), lambda _: 1, _RECORDS_AT_ONCE):
      try:
        parse([payload for _, payload in payloads])
      except (tf.errors.InvalidArgumentError, UnicodeDecodeError):
        # The latter: the error's text quotes the bytes.
        for number, payload in payloads:
          features = records.parse_record(payload, path, number)
          _refuse_fault(features, f"--{flag}: {path}: record {number}", config, max_seq_length, max_predictions_per_seq)
          try:
            parse([payload])
          except tf.errors.InvalidArgumentError as error:
            raise UserError(f"--{flag}: {path}: record {number} can't be parsed: "
                            f"{' '.join(error.message.split())[:200]}") from None


def _refuse_fault(features: dict[str, np.ndarray], where: str, config: BertConfig, max_seq_length: int,
                  max_predictions_per_seq: int) -> None:
  fault = records.find_fault(
      features, max_seq_length, max_predictions_per_seq, config.vocab_size, config.type_vocab_size)
  if fault:
    raise UserError(f"{where} {fault}")


def parser(max_seq_length: int, max_predictions_per_seq: int, config: BertConfig, v2_feature_names: bool) -> Callable:
  """A function from serialized records, string [b], to features under the original's names.

  Returns:
    a function that gives int32 tensors (`masked_lm_weights`: float32), each [b, length]. It raises
    `tf.errors.InvalidArgumentError` where a record has another length, or a value that the model has no place for
    (`records.find_fault`), which compiled lookups would not notice.
  """
  import tensorflow as tf

  spec = records.parse_spec(max_seq_length, max_predictions_per_seq, v2_feature_names)
  limits = records.value_limits(max_seq_length, config.vocab_size, config.type_vocab_size)
  # As unsigned numbers, negative ones are larger than all others: one comparison finds values below and above. The
  # same holds for the bits of floats, where infinity and NaN are above all finite ones.
  unsigned_limits = np.array([*limits.values(), 0x7F800000], np.uint64)

  def parse(serialized):
    parsed = tf.io.parse_example(serialized, spec)
    features = {name: parsed[records.V2_NAMES.get(name, name) if v2_feature_names else name]
                for name in records.FEATURES}
    weight_bits = tf.reduce_max(tf.bitcast(features["masked_lm_weights"], tf.uint32))
    largest = [tf.reduce_max(tf.bitcast(features[name], tf.uint64)) for name in limits]
    is_right = tf.reduce_all(tf.stack([*largest, tf.cast(weight_bits, tf.uint64)]) < unsigned_limits)
    with tf.control_dependencies([tf.debugging.Assert(is_right, ["a record holds values that can not be"])]):
      # TPUs have no int64.
      return {name: tf.cast(value, tf.int32) if value.dtype == tf.int64 else tf.identity(value)
              for name, value in features.items()}

  return parse
