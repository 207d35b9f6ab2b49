"""Frequencies of the words of a corpus, counted on all cores in bounded memory.

Input: text files. Output: `CorpusCounts`, for `wordpiece_learner.py`. Words are what `data_gen/tokenization/basic.py`
makes of the text, so a vocabulary learnt from them fits the tokenizer.
"""

import collections
import dataclasses
from collections.abc import Callable, Iterator, Sequence

from bert_tf.common import files, gzipped, parallel
from bert_tf.common.errors import UserError
from data_gen.tokenization.basic import basic_tokenize, find_chunks, splits_plainly

# Text given to a worker at a time. It decides which lines are held out, so it is the same for any number of workers.
_PORTION_BYTES = 1 << 22


@dataclasses.dataclass(frozen=True)
class Portion:
  """Whole lines of a file: what a worker counts at a time."""

  path: str
  offset: int
  data: bytes
  do_lower_case: bool
  held_out_fraction: float
  on_bad_utf8: str


@dataclasses.dataclass
class CorpusCounts:
  """Counts of the words of a corpus, those of held-out lines apart; bytes of text read; the number of words dropped on
  the way to save memory (one that came back is counted again), and of their occurrences."""

  words: collections.Counter
  held_out: collections.Counter
  num_bytes: int = 0
  pruned_words: int = 0
  pruned_occurrences: int = 0


def count_words(
    paths: Sequence[str], do_lower_case: bool, num_workers: int, max_words: int, held_out_fraction: float = 0.0,
    on_bad_utf8: str = "error", progress: Callable[[int], None] = lambda amount: None,
) -> CorpusCounts:
  """Counts the words of text files.

  Args:
    paths: UTF-8 text, gzipped or not.
    do_lower_case: as for the tokenizer.
    num_workers: processes; the result does not depend on it.
    max_words: most different words kept. When there are more, the rarest are dropped until half as many are left,
      so that what is dropped was rare in a long stretch of text.
    held_out_fraction: share of the text, the end of each 4 MB of it, that is counted apart.
    on_bad_utf8: "error" or "replace".
    progress: is told the bytes read since, as they are stored.

  Raises:
    UserError: a file can't be read or is not UTF-8 (names the byte).
  """
  counts = CorpusCounts(collections.Counter(), collections.Counter())
  portions = _portions(paths, do_lower_case, held_out_fraction, on_bad_utf8, counts, progress)
  for words, held_out in parallel.ordered_map(count_portion, portions, num_workers):
    counts.words.update(words)
    counts.held_out.update(held_out)
    if len(counts.words) > max_words:
      _prune(counts, max_words // 2)
  return counts


def count_portion(portion: Portion) -> tuple[dict[str, int], dict[str, int]]:
  """The words of a portion and those of its held-out end; runs in the workers."""
  try:
    text = portion.data.decode("utf-8")
  except UnicodeDecodeError as error:
    if portion.on_bad_utf8 == "error":
      raise UserError(
          f"{portion.path}: not UTF-8 at byte {portion.offset + error.start} (0x{portion.data[error.start]:02x}): "
          "convert the file, or --on_bad_utf8=replace") from None
    text = portion.data.decode("utf-8", errors="replace")
  held_out = ""
  if portion.held_out_fraction:
    # From the start of a line on, so that no word is torn.
    start = text.find("\n", int(len(text) * (1 - portion.held_out_fraction))) + 1
    if start:
      text, held_out = text[:start], text[start:]
  return _count(text, portion.do_lower_case), _count(held_out, portion.do_lower_case)


def _count(text: str, do_lower_case: bool) -> dict[str, int]:
  # A chunk can be tokenized without what is around it, so it is enough to tokenize each different one once.
  chunks = collections.Counter(text.split() if splits_plainly(text) else find_chunks(text))
  words: dict[str, int] = collections.defaultdict(int)
  for chunk, count in chunks.items():
    for word in basic_tokenize(chunk, do_lower_case):
      words[word] += count
  return dict(words)


def _prune(counts: CorpusCounts, most_words: int) -> None:
  by_count = collections.Counter(counts.words.values())
  kept = len(counts.words)
  limit = 0
  while kept > most_words:
    limit += 1
    kept -= by_count[limit]
  counts.pruned_words += len(counts.words) - kept
  counts.pruned_occurrences += sum(count * number for count, number in by_count.items() if count <= limit)
  counts.words = collections.Counter({word: count for word, count in counts.words.items() if count > limit})


def _portions(paths: Sequence[str], do_lower_case: bool, held_out_fraction: float, on_bad_utf8: str,
              counts: CorpusCounts, progress: Callable[[int], None]) -> Iterator[Portion]:
  for path in paths:
    with gzipped.faults_named(path), gzipped.open_unzipped(path) as (raw, file):
      offset = position = 0
      while lines := file.readlines(_PORTION_BYTES):
        data = b"".join(lines)
        counts.num_bytes += len(data)
        yield Portion(path, offset, data, do_lower_case, held_out_fraction, on_bad_utf8)
        offset += len(data)
        progress(raw.tell() - position)
        position = raw.tell()


def total_size(paths: Sequence[str]) -> int:
  """Bytes of the files as they are stored."""
  return sum(map(files.file_size, paths))
