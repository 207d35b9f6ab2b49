"""Record files of pre-training: checked against flags and model before anything is built, and how to parse them.

Input: TFRecord files in the schema of `data_gen/pretraining/records.py`. Output: which files to read, and how to parse
them. Their vocabulary is in `vocabulary.py`.
"""

from collections.abc import Callable

from common import files
from common.errors import UserError
from data_gen.pretraining import records
from modeling.config import BertConfig
from training.inputs import RecordFiles


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
    UserError: a file is missing, empty, cut off, no pre-training records, of other lengths than the flags say, or of a
      larger vocabulary than the model's.
  """
  config.check_sequence_length(max_seq_length, "--max_seq_length")
  paths = files.expand_patterns(patterns, flag)
  facts = [records.inspect_first_record(path) for path in paths]
  for path, fact in zip(paths, facts, strict=True):
    _check_facts(fact.max_seq_length, fact.max_predictions_per_seq, fact.largest_id, f"--{flag}: the first record of "
                 f"{path}", config, max_seq_length, max_predictions_per_seq)
    if fact.v2_feature_names != facts[0].v2_feature_names:
      raise UserError(f"--{flag}: {paths[0]} and {path} use different feature names (the original's and the Model "
                      "Garden's): read them in two runs")
  return RecordFiles(
      paths=tuple(paths), counts=tuple(records.count_records(path) for path in paths),
      gzipped=tuple(files.is_gzip(path) for path in paths)), facts[0].v2_feature_names


def check_all_records(record_files: RecordFiles, flag: str, config: BertConfig, max_seq_length: int,
                      max_predictions_per_seq: int) -> None:
  """Reads everything: what `check_records` does with the first record of every file, and the checksums.

  It takes a tenth of a millisecond a record, so it is done when training has found that something is wrong.

  Raises:
    UserError: names the file and the number of the record.
  """
  for path in record_files.paths:
    for number, features in enumerate(records.read_examples(path), 1):
      largest_id = max(int(features[name].max(initial=0)) for name in ("input_ids", "masked_lm_ids"))
      _check_facts(len(features["input_ids"]), len(features["masked_lm_ids"]), largest_id,
                   f"--{flag}: {path}: record {number}", config, max_seq_length, max_predictions_per_seq)


def _check_facts(length: int, predictions: int, largest_id: int, where: str, config: BertConfig, max_seq_length: int,
                 max_predictions_per_seq: int) -> None:
  for name, given, found in (("max_seq_length", max_seq_length, length),
                              ("max_predictions_per_seq", max_predictions_per_seq, predictions)):
    if found != given:
      raise UserError(f"{where} was made with {name}={found}, but --{name} is {given}: give --{name}={found}, or make "
                      "the records again")
  if largest_id >= config.vocab_size:
    raise UserError(f"{where} holds the token id {largest_id}, but vocab_size is {config.vocab_size} in "
                    "--bert_config_file: they belong to different vocabularies")


def parser(max_seq_length: int, max_predictions_per_seq: int, vocab_size: int, v2_feature_names: bool) -> Callable:
  """A function from serialized records, string [b], to features under the original's names.

  Returns:
    a function that gives int32 tensors (`masked_lm_weights`: float32), each [b, length]. It raises
    `tf.errors.InvalidArgumentError` where a record has another length or an id that is not below `vocab_size`, which
    compiled lookups would not notice.
  """
  import tensorflow as tf

  spec = records.parse_spec(max_seq_length, max_predictions_per_seq, v2_feature_names)

  def parse(serialized):
    parsed = tf.io.parse_example(serialized, spec)
    features = {name: parsed[records.V2_NAMES.get(name, name) if v2_feature_names else name]
                for name in records.FEATURES}
    largest_id = tf.maximum(tf.reduce_max(features["input_ids"]), tf.reduce_max(features["masked_lm_ids"]))
    with tf.control_dependencies([tf.debugging.assert_less(largest_id, tf.constant(vocab_size, tf.int64))]):
      # TPUs have no int64.
      return {name: tf.cast(value, tf.int32) if value.dtype == tf.int64 else tf.identity(value)
              for name, value in features.items()}

  return parse
