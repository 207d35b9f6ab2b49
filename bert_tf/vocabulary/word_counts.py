"""Frequencies of the words of a corpus, counted on all cores in bounded memory.

Input: text files. Output: `CorpusCounts`, for `wordpiece_learner.py`. Words are what `basic_tokenize`
makes of the text, so a vocabulary learnt from them fits the tokenizer. A worker reads plain text itself, and is sent
what is gzipped or remote.
"""

import collections
import dataclasses
import functools
import os
from collections.abc import Callable, Iterator, Sequence

from bert_common import files
from bert_common.errors import UserError
from data_gen.tokenization.wordpiece import basic_tokenize, find_chunks, splits_plainly

# Text given to a worker at a time. It decides which lines are held out, so it is the same for any number of workers.
_PORTION_BYTES = 1 << 22


@dataclasses.dataclass(frozen=True)
class Portion:
  """Whole lines of a file: what a worker counts at a time.

  Attributes:
    name: what the file is called in errors.
    path: the file.
    offset: where the lines begin in its text.
    stored: their bytes as they are stored; 0 for those that come with a later portion.
    data: their text; None where it is to be read from the file, `stored` bytes from `offset` on.
  """

  name: str
  path: str
  offset: int
  stored: int
  data: bytes | None = None


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
    paths: Sequence[str], do_lower_case: bool, ordered_map: Callable[..., Iterator], max_words: int,
    held_out_fraction: float = 0.0, on_bad_utf8: str = "error", progress: Callable[[int], None] = lambda amount: None,
    names: Sequence[str] | None = None) -> CorpusCounts:
  """Counts the words of text files.

  Args:
    paths: UTF-8 text, gzipped or not.
    do_lower_case: as for the tokenizer.
    ordered_map: `map`, or one of that kind that does the work elsewhere.
    max_words: most different words kept. When there are more, the rarest are dropped until half as many are left,
      so that what is dropped was rare in a long stretch of text.
    held_out_fraction: share of the text, the end of each 4 MB of it, that is counted apart.
    on_bad_utf8: "error" or "replace".
    progress: is called with the bytes read since, as they are stored.
    names: what the files are called in errors; by default their paths.

  Raises:
    UserError: a file can't be read or is not UTF-8 (names the byte).
  """
  counts = CorpusCounts(collections.Counter(), collections.Counter())
  count_words_of = functools.partial(count_portion, do_lower_case, held_out_fraction, on_bad_utf8)
  for words, held_out, num_bytes, stored in ordered_map(count_words_of, _portions(paths, names or paths)):
    counts.words.update(words)
    counts.held_out.update(held_out)
    counts.num_bytes += num_bytes
    if len(counts.words) > max_words:
      by_count = collections.Counter(counts.words.values())
      kept, limit = len(counts.words), 0
      while kept > max_words // 2:
        limit += 1
        kept -= by_count[limit]
      counts.pruned_words += len(counts.words) - kept
      counts.pruned_occurrences += sum(count * number for count, number in by_count.items() if count <= limit)
      counts.words = collections.Counter({word: count for word, count in counts.words.items() if count > limit})
    progress(stored)
  return counts


def count_portion(do_lower_case: bool, held_out_fraction: float, on_bad_utf8: str, portion: Portion
                  ) -> tuple[dict[str, int], dict[str, int], int, int]:
  """The words of a portion and those of its held-out end, its bytes of text and as stored; runs in the workers."""
  data = portion.data
  if data is None:
    with files.faults_named(portion.path), open(portion.path, "rb") as file:
      file.seek(portion.offset)
      data = file.read(portion.stored)
  try:
    text = data.decode("utf-8")
  except UnicodeDecodeError as error:
    if on_bad_utf8 == "error":
      raise UserError(f"{portion.name}: not UTF-8 at byte {portion.offset + error.start} (0x{data[error.start]:02x}): "
                      "convert the file, or --on_bad_utf8=replace") from None
    text = data.decode("utf-8", errors="replace")
  held_out = ""
  if held_out_fraction:
    # From the start of a line on, so that no word is torn.
    start = text.find("\n", int(len(text) * (1 - held_out_fraction))) + 1
    if start:
      text, held_out = text[:start], text[start:]
  return _count(text, do_lower_case), _count(held_out, do_lower_case), len(data), portion.stored


def _count(text: str, do_lower_case: bool) -> dict[str, int]:
  # A chunk can be tokenized without what is around it, so it is enough to tokenize each different one once.
  chunks = collections.Counter(text.split() if splits_plainly(text) else find_chunks(text))
  words: dict[str, int] = collections.defaultdict(int)
  for chunk, count in chunks.items():
    for word in basic_tokenize(chunk, do_lower_case):
      words[word] += count
  return dict(words)


def _portions(paths: Sequence[str], names: Sequence[str]) -> Iterator[Portion]:
  for path, name in zip(paths, names, strict=True):
    with files.faults_named(path), files.open_unzipped(path) as (raw, file):
      offset = position = 0
      if file is raw and not files.is_remote(path):
        # The portions that `readlines` would make, without reading all of the file.
        size = os.path.getsize(path)
        while offset < size:
          file.seek(offset + _PORTION_BYTES)
          file.readline()
          end = min(file.tell(), size)
          yield Portion(name, path, offset, end - offset)
          offset = end
        continue
      while lines := file.readlines(_PORTION_BYTES):
        data = b"".join(lines)
        yield Portion(name, path, offset, raw.tell() - position, data)
        offset += len(data)
        position = raw.tell()
