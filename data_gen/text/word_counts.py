"""Counts of the words of a text: what `basic_tokenize` makes of it, on all cores and in bounded
memory.

Input: a prepared corpus, or any other text. Output: `CorpusCounts`, from which `build_vocab.py`
learns a vocabulary. A worker reads plain text itself, and is sent text that is gzipped or remote.
"""

import collections
import dataclasses
import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from bert_common import files
from bert_common.errors import UserError
from data_gen.tokenization.wordpiece import basic_tokenize, find_chunks, splits_plainly

# Maximum number of different words while counting: about 600 MB.
MAX_COUNTED_WORDS = 5_000_000
# Size of the text that a worker gets at a time. It decides which lines are held out, so it must not
# depend on the number of workers.
_PORTION_BYTES = 1 << 22


@dataclasses.dataclass(frozen=True)
class Portion:
    """Whole lines of a file, for a worker to count.

    Attributes:
      offset: start of the lines in its text.
      stored: number of their bytes as they are stored; 0 if a later portion accounts for them.
      data: their text; None to read `stored` bytes from `offset` on.
    """

    path: str
    offset: int
    stored: int
    data: bytes | None = None


@dataclasses.dataclass
class CorpusCounts:
    """Counts of the words of a corpus.

    Attributes:
      words, held_out: word → number of occurrences, apart for held-out lines.
      num_bytes: number of bytes of text.
      pruned_words: number of words dropped on the way to save memory; one that came back is counted
        again.
      pruned_occurrences: number of their occurrences.
    """

    words: collections.Counter
    held_out: collections.Counter
    num_bytes: int = 0
    pruned_words: int = 0
    pruned_occurrences: int = 0


def count_words(
    paths: Sequence[str],
    do_lower_case: bool,
    ordered_map: Callable[..., Iterator],
    max_words: int,
    held_out_fraction: float = 0.0,
    on_bad_utf8: str = "error",
    progress: Callable[[int], None] = lambda amount: None,
    strip_accents: bool | None = None,
) -> CorpusCounts:
    """Counts the words of text files.

    Args:
      paths: UTF-8 text, gzipped or not.
      ordered_map: `map`, or a function of that kind that does the work elsewhere.
      max_words: maximum number of different words. When there are more, the rarest are dropped
        until half as many are left, so that a dropped word was rare in a long stretch of text.
      held_out_fraction: share of the text, the end of each 4 MB of it, that is counted apart.
      progress: is called with the bytes read since, as they are stored.
    """
    counts = CorpusCounts(collections.Counter(), collections.Counter())
    count_words_of = functools.partial(
        count_portion,
        do_lower_case,
        held_out_fraction,
        on_bad_utf8,
        strip_accents=strip_accents,
    )
    for words, held_out, num_bytes, stored in ordered_map(count_words_of, portions(paths)):
        counts.words.update(words)
        counts.held_out.update(held_out)
        counts.num_bytes += num_bytes
        if len(counts.words) > max_words:
            prune(counts, max_words // 2)
        progress(stored)
    return counts


def prune(counts: CorpusCounts, max_words: int) -> None:
    """Drops all words up to the number of occurrences that leaves at most `max_words`."""
    limit = limit_of(collections.Counter(counts.words.values()), max_words)
    # A new counter: deleted entries would keep their memory.
    words: collections.Counter = collections.Counter()
    for word, count in counts.words.items():
        if count > limit:
            words[word] = count
        else:
            counts.pruned_words += 1
            counts.pruned_occurrences += count
    counts.words = words


def limit_of(by_count: Mapping[int, int], max_words: int) -> int:
    """Returns up to which number of occurrences words are dropped, if at most `max_words` stay.

    Args:
      by_count: number of occurrences → number of words that have it.
    """
    remaining = sum(by_count.values())
    limit = 0
    while remaining > max_words:
        limit += 1
        remaining -= by_count.get(limit, 0)
    return limit


def count_portion(
    do_lower_case: bool,
    held_out_fraction: float,
    on_bad_utf8: str,
    portion: Portion,
    strip_accents: bool | None = None,
) -> tuple[dict[str, int], dict[str, int], int, int]:
    """Counts the words of a portion; runs in the workers.

    Returns:
      words and words of the held-out end with their counts, bytes of text, and bytes as stored.
    """
    data = portion.data
    if data is None:
        with files.user_error(f"can't read {portion.path}"), open(portion.path, "rb") as file:
            file.seek(portion.offset)
            data = file.read(portion.stored)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if on_bad_utf8 == "error":
            raise UserError(
                f"{portion.path}: not UTF-8 at byte {portion.offset + error.start} "
                f"(0x{data[error.start]:02x}): convert the file, or --on_bad_utf8=replace"
            ) from None
        text = data.decode("utf-8", errors="replace")
    held_out = ""
    if held_out_fraction:
        # The part begins with a line, so that no word is torn.
        start = text.find("\n", int(len(text) * (1 - held_out_fraction))) + 1
        if start:
            held_out = text[start:]
            text = text[:start]
    return (
        _words_of(text, do_lower_case, strip_accents),
        _words_of(held_out, do_lower_case, strip_accents),
        len(data),
        portion.stored,
    )


def _words_of(text: str, do_lower_case: bool, strip_accents: bool | None) -> dict[str, int]:
    """Returns word → number of occurrences in a text."""
    # Tokens of a chunk do not depend on its neighbors, so each different chunk is tokenized once.
    chunks = collections.Counter(text.split() if splits_plainly(text) else find_chunks(text))
    words: dict[str, int] = collections.defaultdict(int)
    for chunk, count in chunks.items():
        for word in basic_tokenize(chunk, do_lower_case, strip_accents):
            words[word] += count
    return dict(words)


def portions(paths: Sequence[str]) -> Iterator[Portion]:
    """Yields the portions of all files, in their order."""
    for path in paths:
        with files.user_error(f"can't read {path}"), files.open_unzipped(path) as (raw, file):
            # In the text, and in the file as it is stored.
            offset = position = 0
            if file is raw and not files.is_remote(path):
                # The portions are as `readlines` makes them below, but the workers read the text.
                size = os.path.getsize(path)
                while offset < size:
                    file.seek(offset + _PORTION_BYTES)
                    file.readline()
                    end = min(file.tell(), size)
                    yield Portion(path, offset, end - offset)
                    offset = end
                continue
            # Ends with an empty list at the end of the file.
            for lines in iter(functools.partial(file.readlines, _PORTION_BYTES), []):
                data = b"".join(lines)
                yield Portion(path, offset, raw.tell() - position, data)
                offset += len(data)
                position = raw.tell()
