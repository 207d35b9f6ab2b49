r"""Text → TFRecords for pre-training: masked language model and next sentence prediction.

  python data_gen/create_pretraining_data.py --input_file=corpus.txt --output_file=records.tfrecord@4 \
      --vocab_file=vocab.txt
  python data_gen/create_pretraining_data.py --input_file='corpus/*.txt.gz' --output_file=records.tfrecord@64 \
      --vocab_file=vocab.txt --max_seq_length=512 --max_predictions_per_seq=80 --do_whole_word_mask

The input is one sentence a line with a blank line between documents (`data_gen/prepare_corpus.py` makes it), the
output what `run_pretraining.py` reads, with `NAME.stats.json` beside it. All cores work, memory stays the same for
any size of corpus, and the same flags give the same bytes for any number of workers. A run that was stopped goes on
with --resume. docs/pretraining_data.md explains the rest.
"""

import itertools
import os
import re
import sys
from collections.abc import Sequence

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from absl import flags

from common import cli, files, parallel
from common.errors import UserError
from data_gen.pretraining import records, statistics
from data_gen.pretraining.generation import generate, load_tokenizer
from data_gen.pretraining.settings import Settings

_INPUT_FILE = flags.DEFINE_string("input_file", None, "Text files, comma-separated globs; gzipped or not.")
_OUTPUT_FILE = flags.DEFINE_string(
    "output_file", None, "TFRecord files, comma-separated, or NAME@16 for NAME-00000-of-00016 and so on.")
_VOCAB_FILE = flags.DEFINE_string("vocab_file", None, "Vocabulary, one token a line.")
_DO_LOWER_CASE = flags.DEFINE_bool("do_lower_case", True, "Lower-case and strip accents; false for cased models.")
# The original's README calls it so; its flag parser took any unique beginning.
flags.DEFINE_alias("do_lower", "do_lower_case")
_DO_WHOLE_WORD_MASK = flags.DEFINE_bool("do_whole_word_mask", False, "Mask words, not single word pieces.")
_MAX_SEQ_LENGTH = flags.DEFINE_integer("max_seq_length", 128, "Tokens of a sequence, [CLS] and [SEP] included.")
_MAX_PREDICTIONS_PER_SEQ = flags.DEFINE_integer(
    "max_predictions_per_seq", 20, "Masked tokens of a sequence at most; about max_seq_length * masked_lm_prob.")
_RANDOM_SEED = flags.DEFINE_integer("random_seed", 12345, "All randomness comes from it.")
_DUPE_FACTOR = flags.DEFINE_integer("dupe_factor", 10, "Passes over the text, each cut and masked differently.")
_MASKED_LM_PROB = flags.DEFINE_float("masked_lm_prob", 0.15, "Share of the tokens to predict.")
_SHORT_SEQ_PROB = flags.DEFINE_float("short_seq_prob", 0.1, "Share of the documents cut into shorter sequences.")
_MASKING = flags.DEFINE_string(
    "masking", "80,10,10", "Of the tokens to predict, the percentages that become [MASK], a random token, or stay.")
_NEXT_SENTENCE_PREDICTION = flags.DEFINE_bool(
    "next_sentence_prediction", True, "Pairs of segments; false: single spans of full length.")
_GZIP_COMPRESS = flags.DEFINE_bool("gzip_compress", False, "Compress the records (names stay as given).")
_ON_BAD_UTF8 = flags.DEFINE_enum(
    "on_bad_utf8", "error", ["error", "replace"], "What to do about bytes that are not UTF-8.")
_NUM_WORKERS = flags.DEFINE_integer(
    "num_workers", None, "Processes; the output does not depend on it. Default: all cores.", lower_bound=1)
_RESUME = flags.DEFINE_bool("resume", False, "Go on with an interrupted run of the same flags.")

_EXAMPLES_SHOWN = 3


def expand_outputs(output_file: str) -> tuple[list[str], str]:
  """The files that --output_file names.

  Args:
    output_file: `a.tfrecord`, `a.tfrecord,b.tfrecord` or `a.tfrecord@16`.

  Returns:
    (files, name of the statistics file).

  Raises:
    UserError: no name, a name twice, a wrong number of shards, or a directory.
  """
  names = [name.strip() for name in output_file.split(",") if name.strip()]
  paths: list[str] = []
  for name in names:
    sharded = re.fullmatch(r"(.+)@(\d+)", name)
    if not sharded:
      paths.append(name)
      continue
    count = int(sharded[2])
    if not 1 <= count <= 99999:
      raise UserError(f"--output_file={name}: the number of shards must be between 1 and 99999")
    paths += [f"{sharded[1]}-{shard:05d}-of-{count:05d}" for shard in range(count)]
  if not paths:
    raise UserError("--output_file names no file")
  for path in paths:
    if os.path.isdir(path) or path.endswith(os.sep):
      raise UserError(f"--output_file: {path} is a directory: a file name is wanted, e.g. "
                      f"{os.path.join(path, 'records.tfrecord')}")
  if len({os.path.realpath(path) for path in paths}) < len(paths):
    raise UserError(f"--output_file={output_file}: the same file is named twice")
  return paths, re.sub(r"@\d+$", "", names[0]) + ".stats.json"


def main(argv: Sequence[str]) -> None:
  cli.refuse_arguments(argv)
  cli.require_flags(
      input_file=_INPUT_FILE.value, output_file=_OUTPUT_FILE.value, vocab_file=_VOCAB_FILE.value)
  settings = Settings(
      vocab_file=files.check_readable(_VOCAB_FILE.value, "vocab_file"), do_lower_case=_DO_LOWER_CASE.value,
      do_whole_word_mask=_DO_WHOLE_WORD_MASK.value, max_seq_length=_MAX_SEQ_LENGTH.value,
      max_predictions_per_seq=_MAX_PREDICTIONS_PER_SEQ.value, random_seed=_RANDOM_SEED.value,
      dupe_factor=_DUPE_FACTOR.value, masked_lm_prob=_MASKED_LM_PROB.value, short_seq_prob=_SHORT_SEQ_PROB.value,
      masking=_MASKING.value, next_sentence_prediction=_NEXT_SENTENCE_PREDICTION.value,
      gzip_compress=_GZIP_COMPRESS.value, on_bad_utf8=_ON_BAD_UTF8.value)
  settings.check()
  vocabulary = load_tokenizer(settings.vocab_file, settings.do_lower_case).vocabulary
  input_files = files.expand_patterns(_INPUT_FILE.value, "input_file")
  for path in input_files:
    files.check_readable(path, "input_file")
  output_files, stats_file = expand_outputs(_OUTPUT_FILE.value)
  overwritten = {os.path.realpath(path) for path in input_files} & {os.path.realpath(path) for path in output_files}
  if overwritten:
    raise UserError(f"--output_file: {min(overwritten)} is also an input: give it another name")
  for path in output_files:
    files.make_output_directory(os.path.dirname(path) or ".", "output_file")
  for note in [*vocabulary.notes, *settings.notes()]:
    print(f"note: {note}", file=sys.stderr)

  result = generate(input_files, output_files, stats_file, settings,
                    _NUM_WORKERS.value or parallel.default_num_workers(), _RESUME.value)

  print("The first examples; {…} is what was hidden:")
  for example in itertools.islice(records.read_examples(output_files[0]), _EXAMPLES_SHOWN):
    print(f"  {statistics.format_example(example, vocabulary.tokens)}")
  print(statistics.format_table(result["counts"], settings.next_sentence_prediction))
  run = result["run"]
  print(f"{run['text_bytes'] / 1e6:,.1f} MB of text in {run['seconds']:,.1f} s: "
        f"{run['text_bytes'] / 1e6 / max(run['seconds'], 1e-9):,.2f} MB/s with {run['num_workers']} workers, "
        f"{run['peak_mib_per_worker']} MiB each at most")
  print(f"wrote {len(output_files)} file{'s' if len(output_files) > 1 else ''} and {stats_file}")
  for warning in result["warnings"]:
    print(f"warning: {warning}", file=sys.stderr)


if __name__ == "__main__":
  cli.run(main)
