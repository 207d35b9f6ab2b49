r"""A prepared corpus → a WordPiece vocabulary of an exact size, and the configuration of a network that uses it.

  python vocab/build_vocab.py --input_file=corpus/train.txt --held_out_file=corpus/held_out.txt \
      --vocab_size=30522 --num_unused=994 --output_dir=my_vocab
  python vocab/build_vocab.py --input_file='corpus/*.txt.gz' --vocab_size=8000 --model_size=tiny --output_dir=my_vocab

Writes `vocab.txt`, `bert_config.json` and `tokenizer_config.json` into the output directory. Comes before:
`data_gen/prepare_corpus.py` (though any text will do). Comes after: `data_gen/create_pretraining_data.py`.
"""

import dataclasses
import os
import sys
import time
from collections.abc import Sequence

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from absl import flags

from common import cli, files, parallel
from common.errors import UserError
from common.progress import Progress
from data_gen.tokenization.vocabulary import Vocabulary, write_casing
from modeling.presets import PRESETS
from vocab import wordpiece_learner
from vocab.coverage import coverage_table
from vocab.word_counts import CorpusCounts, count_words, total_size

# Room for different words while counting: about 600 MB.
_MAX_COUNTED_WORDS = 5_000_000


def write_vocabulary(output_dir: str, tokens: Sequence[str], do_lower_case: bool, model_size: str) -> None:
  """Writes `vocab.txt`, `bert_config.json` of a preset with this vocabulary's size, and `tokenizer_config.json`.

  Args:
    output_dir: an existing directory; files of these names in it are replaced.
    tokens: in the order of their ids.
    do_lower_case: written down so that other programs need not be told.
    model_size: a key of `PRESETS`.
  """
  config = dataclasses.replace(PRESETS[model_size], vocab_size=len(tokens))
  with files.atomic_write(os.path.join(output_dir, "vocab.txt")) as file:
    file.writelines(f"{token}\n" for token in tokens)
  config.to_file(os.path.join(output_dir, "bert_config.json"))
  write_casing(output_dir, do_lower_case)


def left_out_characters(counts: CorpusCounts, max_characters: int) -> tuple[int, float]:
  """How many characters have no place, and their share of all occurrences of characters."""
  characters = wordpiece_learner.character_counts(list(counts.words.items()))
  rare = characters[max_characters:]
  return len(rare), sum(count for _, count in rare) / max(1, sum(count for _, count in characters))


_INPUT_FILE = flags.DEFINE_string(
    "input_file", None, "Text files: paths and patterns, separated by commas; gzip is recognised.")
_OUTPUT_DIR = flags.DEFINE_string("output_dir", None, "Where vocab.txt and the configurations are written.")
_VOCAB_SIZE = flags.DEFINE_integer(
    "vocab_size", None, "Number of tokens, special ones and [unusedN] included.", lower_bound=10, upper_bound=1 << 22)
_DO_LOWER_CASE = flags.DEFINE_bool(
    "do_lower_case", True, "Lower-case the text and strip accents (an uncased vocabulary).")
_NUM_UNUSED = flags.DEFINE_integer(
    "num_unused", 0, "Reserved tokens [unused0], [unused1], …; 994 as in the released uncased vocabulary.",
    lower_bound=0)
_MODEL_SIZE = flags.DEFINE_enum(
    "model_size", "base", sorted(PRESETS), "Size of the network in bert_config.json.")
_MAX_CHARACTERS = flags.DEFINE_integer(
    "max_characters", 1000, "Different characters in the vocabulary; words with rarer ones will be [UNK]. Chinese "
    "and Japanese need 5,000 and more.", lower_bound=1)
_MAX_WORDS = flags.DEFINE_integer(
    "max_words", 300_000, "Different words the pieces are learnt from, the most common ones. Learning takes some "
    "200 MB a core, and ten seconds a round, for each 100,000.", lower_bound=1)
_HELD_OUT_FILE = flags.DEFINE_string(
    "held_out_file", None, "Text for the statistics, as --input_file; it is not learnt from.")
_HELD_OUT_FRACTION = flags.DEFINE_float(
    "held_out_fraction", 0.01, "Without --held_out_file: share of the input that is kept for the statistics.",
    lower_bound=0.0, upper_bound=0.5)
_ON_BAD_UTF8 = flags.DEFINE_enum(
    "on_bad_utf8", "error", ["error", "replace"], "What to do about bytes that are not UTF-8.")
_NUM_WORKERS = flags.DEFINE_integer(
    "num_workers", None, "Processes; the vocabulary does not depend on it. Default: all cores.", lower_bound=1)


def _count(flag: str, patterns: str, held_out_fraction: float, num_workers: int) -> CorpusCounts:
  paths = files.expand_patterns(patterns, flag)
  for path in paths:
    files.check_readable(path, flag)
  with Progress("counting words", total=total_size(paths), unit="B") as progress:
    return count_words(paths, _DO_LOWER_CASE.value, num_workers, _MAX_COUNTED_WORDS, held_out_fraction,
                       _ON_BAD_UTF8.value, progress.advance)


def main(argv: Sequence[str]) -> None:
  cli.refuse_arguments(argv)
  cli.require_flags(
      input_file=_INPUT_FILE.value, output_dir=_OUTPUT_DIR.value, vocab_size=_VOCAB_SIZE.value)
  files.make_output_directory(_OUTPUT_DIR.value, "output_dir")
  num_workers = _NUM_WORKERS.value or parallel.default_num_workers()
  held_out = _count("held_out_file", _HELD_OUT_FILE.value, 0.0, num_workers).words if _HELD_OUT_FILE.value else None
  start = time.monotonic()
  counts = _count(
      "input_file", _INPUT_FILE.value, 0.0 if held_out is not None else _HELD_OUT_FRACTION.value, num_workers)
  if not counts.words:
    raise UserError("--input_file: there are no words in the input")
  words = wordpiece_learner.most_common(counts.words, _MAX_WORDS.value)
  total, used = counts.words.total(), sum(count for _, count in words)
  print(f"counted {total:,} words, {len(counts.words):,} different ones, in {counts.num_bytes:,} bytes "
        f"({time.monotonic() - start:.0f} s)")
  if counts.pruned_words:
    print(f"note: more than {_MAX_COUNTED_WORDS:,} different words: {counts.pruned_words:,} rare ones "
          f"({counts.pruned_occurrences / (total + counts.pruned_occurrences):.3%} of the text) were dropped")
  if used < total:
    print(f"note: learning from the {len(words):,} most common words, {used / total:.3%} of the text (--max_words)")
  rare, share = left_out_characters(counts, _MAX_CHARACTERS.value)
  if rare:
    print(f"note: {rare:,} rare characters, {share:.4%} of the text, are left out (--max_characters)")

  print("learning the pieces …", flush=True)
  tokens = wordpiece_learner.learn_vocabulary(
      words, _VOCAB_SIZE.value, wordpiece_learner.special_tokens(_NUM_UNUSED.value), _MAX_CHARACTERS.value,
      _DO_LOWER_CASE.value, num_workers)
  vocabulary = Vocabulary(tokens)
  write_vocabulary(_OUTPUT_DIR.value, tokens, _DO_LOWER_CASE.value, _MODEL_SIZE.value)

  continuations = sum(token.startswith("##") and len(token) > 2 for token in tokens)
  print(f"wrote {len(tokens):,} tokens, {continuations:,} of them ##continuations, to {_OUTPUT_DIR.value} "
        f"({time.monotonic() - start:.0f} s in all)\n")
  print(coverage_table(vocabulary, {"learnt from": counts.words, "held out": held_out or counts.held_out}))
  if len(tokens) < _VOCAB_SIZE.value:
    print(f"warning: the text does not hold {_VOCAB_SIZE.value:,} pieces: the vocabulary has {len(tokens):,}, and "
          "bert_config.json says so")


if __name__ == "__main__":
  cli.run(main)
