r"""Tokens per second of one core: this project, the same algorithm in plain Python, and two other packages.

  python benchmarks/tokenization.py --vocab_file=vocab.txt
  python benchmarks/tokenization.py --vocab_file=vocab.txt --text_file='corpus/*.txt' --mixed_file=many_languages.txt

All run on the same text, in the same process, pinned to one core, in turns; printed are medians of the processor
time (`time.process_time`, all threads), which a busy machine disturbs less than the clock on the wall. `tokenizers`
and `tensorflow_text` take part where they are installed. Every line is compared with the plain Python tokenizer:
ours must be equal everywhere (exit status 1 otherwise); for the others the number of lines that differ is printed.

  cold    a new tokenizer meets the text: it has its vocabulary, everything else is learnt on the way
  warm    it has tokenized as much other text of the same kind before; no line is in both
  again   it has tokenized this very text before
"""

import dataclasses
import importlib.metadata
import os
import statistics
import time
from collections.abc import Callable

# Before `tokenizers` is imported.
os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np

from benchmarks import resources, texts
from bert_tf.common import cli
from bert_tf.common.options import option
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import Vocabulary
from tests.oracles.tokenizer import ReferenceTokenizer

_BATCH = 1000  # lines; for those that take batches. The others would only wait for memory with more.

Rows = list[list[int]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenizationOptions(texts.TextOptions):
  """Options of the benchmark."""

  vocab_file: str = option(None, "WordPiece vocabulary, one token a line.", required=True)
  do_lower_case: bool = option(True, "False for a cased vocabulary.")
  mixed_file: str | None = option(None, "Text of many languages.",
                                  default_text="the English text with most lines in other scripts")
  peers: bool = option(True, "Measure the other packages, too, where they are installed.")
  megabytes: float = option(8, "Millions of characters to measure with, and to warm up with.", minimum=0.01)
  repetitions: int = option(5, "Rounds; the slow ones take part in the first three.", minimum=1)


def batches(lines: list[str]) -> list[list[str]]:
  return [lines[start:start + _BATCH] for start in range(0, len(lines), _BATCH)]


def rows_of(ids: np.ndarray, lengths: np.ndarray) -> Rows:
  return [row.tolist() for row in np.split(ids, np.cumsum(lengths)[:-1])]


class Ours:
  """This project; `state` as in the head of the file."""

  slow = False

  def __init__(self, vocabulary: Vocabulary, do_lower_case: bool, state: str, warm_up: list[str],
               offsets: bool = False):
    self.name = f"this project{', with offsets' if offsets else ''}, {state}"
    self._new = lambda: Tokenizer(vocabulary, do_lower_case)
    self._state, self._warm_up, self._offsets = state, warm_up, offsets

  def prepare(self, lines: list[str]) -> Callable[[], object]:
    tokenizer = self._new()
    if self._state != "cold":
      tokenizer.encode_batch(self._warm_up if self._state == "warm" else lines, offsets=self._offsets)
    return lambda: [tokenizer.encode_batch(batch, offsets=self._offsets) for batch in batches(lines)]

  def rows(self, lines: list[str]) -> Rows:
    encoding = self._new().encode_batch(lines)
    return rows_of(encoding.ids, encoding.row_lengths)


class PlainPython:
  """The baseline."""

  name = "plain Python"
  slow = True

  def __init__(self, vocabulary: Vocabulary, do_lower_case: bool):
    self._tokenizer = ReferenceTokenizer(vocabulary.tokens, do_lower_case)

  def prepare(self, lines: list[str]) -> Callable[[], object]:
    return lambda: [self._tokenizer.encode(line) for line in lines]

  def rows(self, lines: list[str]) -> Rows:
    return [self._tokenizer.encode(line) for line in lines]


class RustTokenizers:
  """Hugging Face `tokenizers`; `method` is encode_batch or, without offsets, encode_batch_fast."""

  slow = True

  def __init__(self, path: str, do_lower_case: bool, method: str):
    from tokenizers import BertWordPieceTokenizer
    self.name = f"tokenizers {importlib.metadata.version('tokenizers')} {method}"
    self._encode = getattr(BertWordPieceTokenizer(path, lowercase=do_lower_case)._tokenizer, method)

  def prepare(self, lines: list[str]) -> Callable[[], object]:
    return lambda: [self._encode(batch, add_special_tokens=False) for batch in batches(lines)]

  def rows(self, lines: list[str]) -> Rows:
    return [encoding.ids for encoding in self._encode(lines, add_special_tokens=False)]


class FastBert:
  """tensorflow_text's FastBertTokenizer."""

  slow = False

  def __init__(self, vocabulary: Vocabulary, do_lower_case: bool):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf
    import tensorflow_text
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    self.name = f"tensorflow_text {importlib.metadata.version('tensorflow-text')} FastBertTokenizer"
    self._tokenizer = tensorflow_text.FastBertTokenizer(
      vocab=vocabulary.tokens, lower_case_nfd_strip_accents=do_lower_case, token_out_type=tf.int32)

  def prepare(self, lines: list[str]) -> Callable[[], object]:
    return lambda: [self._tokenizer.tokenize(batch) for batch in batches(lines)]

  def rows(self, lines: list[str]) -> Rows:
    return self._tokenizer.tokenize(lines).to_list()


def peers(path: str, vocabulary: Vocabulary, do_lower_case: bool) -> list:
  """Those of the other packages that are installed."""
  found = []
  for make in (lambda: RustTokenizers(path, do_lower_case, "encode_batch"),
               lambda: RustTokenizers(path, do_lower_case, "encode_batch_fast"),
               lambda: FastBert(vocabulary, do_lower_case)):
    try:
      found.append(make())
    except (ImportError, AttributeError) as error:
      print(f"left out: {error}")
  return found


def measure(candidates: list, lines: list[str], repetitions: int) -> dict[str, float]:
  """Median processor seconds of each candidate, in turns."""
  seconds: dict[str, list[float]] = {candidate.name: [] for candidate in candidates}
  for repetition in range(repetitions):
    for candidate in candidates:
      if candidate.slow and repetition >= 3:
        continue
      run = candidate.prepare(lines)
      start = time.process_time()
      run()
      seconds[candidate.name].append(time.process_time() - start)
  return {name: statistics.median(values) for name, values in seconds.items()}


def report(what: str, lines: list[str], warm_up: list[str], vocabulary: Vocabulary, others: list,
           options: TokenizationOptions) -> bool:
  """Prints the table of one text; returns whether ours is equal to plain Python on every line."""
  ours = [Ours(vocabulary, options.do_lower_case, state, warm_up) for state in ("cold", "warm", "again")]
  offsets = Ours(vocabulary, options.do_lower_case, "warm", warm_up, offsets=True)
  python = PlainPython(vocabulary, options.do_lower_case)
  expected = python.rows(lines)
  tokens = sum(map(len, expected))
  print(f"\n{what}: {sum(map(len, lines)) / 1e6:.1f} million characters "
        f"({sum(len(line.encode('utf-8', 'surrogatepass')) for line in lines) / 1e6:.1f} MB) in {len(lines):,} lines, "
        f"{tokens:,} tokens")
  candidates = [python, *ours, offsets, *others]
  seconds = measure(candidates, lines, options.repetitions)
  rust = [seconds[other.name] for other in others if isinstance(other, RustTokenizers)]
  print(f"{'':<44} {'tokens/s':>11} {'x Python':>9} {'x tokenizers':>13} {'lines that differ':>18}")
  for candidate in candidates:
    own = seconds[candidate.name]
    differ = sum(one != other for one, other in zip(candidate.rows(lines), expected, strict=True))
    ratio = f"{min(rust) / own:.1f}" if rust else "-"
    print(f"{candidate.name:<44} {tokens / own:>11,.0f} {seconds[python.name] / own:>9.1f} {ratio:>13} {differ:>18,}")
    if candidate in ours and differ:
      return False
  return True


def main(options: TokenizationOptions) -> int:
  vocabulary = Vocabulary.from_file(options.vocab_file)
  characters = int(options.megabytes * 1e6)
  english = options.lines()
  mixed = texts.read_lines(options.mixed_file, "mixed_file") if options.mixed_file else texts.mixed_lines(english)
  samples = {"English": texts.split(english, characters), "mixed": texts.split(mixed, characters // 4)}
  del english, mixed
  others = peers(options.vocab_file, vocabulary, options.do_lower_case) if options.peers else []
  core = resources.pin_to_one_core()
  print(f"processor time on {'one core' if core is None else f'core {core}'}; the column 'x tokenizers' compares with "
        "the faster of its methods")
  exact = [report(what, lines, warm_up, vocabulary, others, options) for what, (warm_up, lines) in samples.items()]
  if not all(exact):
    print("\nNOT EXACT: a line differs from the plain algorithm")
    return 1
  return 0


if __name__ == "__main__":
  cli.run(TokenizationOptions, main)
