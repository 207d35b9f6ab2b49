r"""Measures tokens per second of one core: this project, plain Python, and other packages.

  python benchmarks/tokenization.py --vocab_file=vocab.txt
  python benchmarks/tokenization.py --vocab_file=vocab.txt --text_file='corpus/*.txt'

All run on the same text, in the same process, pinned to one core, in turns. Printed are medians of
the processor time (`time.process_time`, all threads), which a busy machine disturbs less than the
wall clock. Hugging Face's `tokenizers` and `nanotoken` take part where they are installed. Every
line is compared with the plain Python tokenizer: ours must be equal everywhere (exit status 1
otherwise); for the others the number of lines that differ is printed.

  cold    a new tokenizer: it knows its vocabulary and learns everything else on the way
  warm    it has tokenized as much other text of the same kind, without a line in common
  again   it has tokenized this very text before
"""

import importlib.metadata
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

# `tokenizers` reads these when it is imported.
os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np

from benchmarks.data_generation import docstring_corpus
from benchmarks.history import HistoryOptions
from bert_common import cli, files
from bert_common.errors import UserError
from bert_common.options import option, option_class
from bert_tf.tables import named_table
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import Vocabulary
from tests.oracles.tokenizer import ReferenceTokenizer

# Lines per batch; with more, all programs would mostly wait for memory.
_BATCH_SIZE = 1000
# Turns of slow programs.
_SLOW_TURNS = 3
_PYTHON = "plain Python"
_OURS = "this project, "
_WARM = f"{_OURS}warm"
_RUST = "tokenizers"
_NANOTOKEN = "nanotoken"


@option_class
class TokenizationOptions(HistoryOptions):
    """Options of the benchmark."""

    text_file: str | None = option(
        None,
        "English text with a paragraph per line; comma-separated patterns.",
        default_text="the docstrings of the installed packages",
    )
    vocab_file: str = option(None, "WordPiece vocabulary, one token per line.", required=True)
    do_lower_case: bool = option(True, "Lower-case the text; False for a cased vocabulary.")
    peers: bool = option(
        True, "Measure `tokenizers` and `nanotoken` as well, where they are installed."
    )
    megabytes: float = option(
        8, "Millions of characters to measure with, and to warm up with.", minimum=0.01
    )
    repetitions: int = option(5, "Turns; slow programs have three at most.", minimum=1)


class Candidate(NamedTuple):
    """A tokenizer.

    Attributes:
      prepare: returns, before a turn, the function that encodes a batch of lines.
      rows: returns the ids of each line from a result of that function.
      is_slow: whether it has fewer turns.
    """

    prepare: Callable[[], Callable[[list[str]], object]]
    rows: Callable[[object], list[list[int]]] = list
    is_slow: bool = False


def _python(tokenizer: ReferenceTokenizer) -> Candidate:
    def encode(lines: list[str]) -> list[list[int]]:
        return [tokenizer.encode(line) for line in lines]

    return Candidate(lambda: encode, is_slow=True)


def _ours(
    vocabulary: Vocabulary,
    options: TokenizationOptions,
    warm_up: list[str],
    offsets: bool = False,
    engine: str = "numpy",
) -> Candidate:
    """Returns this project's tokenizer, which has tokenized some lines before a turn."""

    def prepare() -> Callable[[list[str]], object]:
        tokenizer = Tokenizer(vocabulary, options.do_lower_case, engine)

        def encode(lines: list[str]):
            return tokenizer.encode_batch(lines, offsets=offsets)

        if warm_up:
            encode(warm_up)
        return encode

    def rows(encoding) -> list[list[int]]:
        ends = np.cumsum(encoding.row_lengths)
        return [row.tolist() for row in np.split(encoding.ids, ends[:-1])]

    return Candidate(prepare, rows)


def _rust_tokenizers(options: TokenizationOptions) -> dict[str, Candidate]:
    """Returns both methods of Hugging Face's `tokenizers`; the fast one gives no offsets."""
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer(
        options.vocab_file, lowercase=options.do_lower_case
    )._tokenizer

    def rows(encodings) -> list[list[int]]:
        return [encoding.ids for encoding in encodings]

    def encode(lines: list[str]):
        return tokenizer.encode_batch(lines, add_special_tokens=False)

    def encode_fast(lines: list[str]):
        return tokenizer.encode_batch_fast(lines, add_special_tokens=False)

    name = f"{_RUST} {importlib.metadata.version('tokenizers')}"
    return {
        f"{name} encode_batch": Candidate(lambda: encode, rows, is_slow=True),
        f"{name} encode_batch_fast": Candidate(lambda: encode_fast, rows, is_slow=True),
    }


def _nanotoken(options: TokenizationOptions, warm_up: list[str]) -> Candidate:
    """Returns nanotoken's tokenizer, which has tokenized some lines before a turn."""
    import nanotoken

    def prepare() -> Callable[[list[str]], object]:
        tokenizer = nanotoken.Tokenizer.from_vocab(
            options.vocab_file, lowercase=options.do_lower_case
        )

        def encode(lines: list[str]):
            # On one core its thread pool would only cost time.
            return tokenizer.encode_batch(lines, add_special_tokens=False, parallel=False)

        if warm_up:
            encode(warm_up)
        return encode

    def rows(ragged) -> list[list[int]]:
        return ragged.to_list()

    return Candidate(prepare, rows)


def main(options: TokenizationOptions) -> int:
    warm_up, lines = split(_read_text(options), int(options.megabytes * 1e6))
    candidates = _candidates(options, warm_up, lines)
    # All threads of this process share one core, so that processor time is the time of a core.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    batches = []
    for start in range(0, len(lines), _BATCH_SIZE):
        batches.append(lines[start : start + _BATCH_SIZE])
    # The ids of all programs are compared before they are measured.
    expected: list[list[int]] = []
    num_different = {}
    for name, candidate in candidates.items():
        ids = _encode(candidate, batches)
        if name == _PYTHON:
            expected = ids
        pairs = zip(ids, expected, strict=True)
        num_different[name] = sum(row != expected_row for row, expected_row in pairs)
    num_tokens = sum(len(ids) for ids in expected)
    characters = f"{sum(len(line) for line in lines) / 1e6:.1f} million characters"
    print(
        "processor time on one core; the column 'x tokenizers' compares with the faster of its "
        f"methods\n{characters} in {len(lines):,} lines, {num_tokens:,} tokens"
    )
    seconds = _measure(candidates, batches, options.repetitions)
    _print_table(seconds, num_tokens, num_different)
    title = options.text_file if options.text_file else "docstrings of the installed packages"
    rivals = {name: [value] for name, value in seconds.items() if name != _WARM}
    options.record("tokenization", f"{characters}, {title}", {_WARM: [seconds[_WARM]], **rivals})
    for name, count in num_different.items():
        if count and name.startswith(_OURS):
            print(f"\nNOT EXACT: {name}: a line differs from the plain algorithm")
            return 1
    return 0


def _read_text(options: TokenizationOptions) -> list[str]:
    """Returns the lines of the text that are not empty."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        patterns = options.text_file if options.text_file else docstring_corpus(folder)
        for path in files.expand_patterns(patterns, "text_file"):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    if line.strip():
                        lines.append(line.rstrip("\n"))
    return lines


def split(lines: list[str], characters: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Draws two samples of about `characters` without a line in common: (to warm up, to measure).

    Raises:
      UserError: the text is too short.
    """
    # Docstrings repeat; a line that was seen before is in the tokenizer's cache.
    lines = list(dict.fromkeys(lines))
    random.Random(seed).shuffle(lines)
    totals = np.cumsum([len(line) for line in lines])
    middle, end = np.searchsorted(totals, [characters, 2 * characters]) + 1
    measured = lines[:middle]
    warm_up = lines[middle:end]
    if 10 * sum(len(line) for line in warm_up) < characters:
        raise UserError(
            f"the text has fewer than {characters * 11 // 10:,} characters: give more text or "
            "lower --megabytes"
        )
    return warm_up, measured


def _candidates(
    options: TokenizationOptions, warm_up: list[str], lines: list[str]
) -> dict[str, Candidate]:
    """Returns the tokenizers by name, the reference first."""
    vocabulary = Vocabulary.from_file(options.vocab_file)
    candidates = {
        _PYTHON: _python(ReferenceTokenizer(vocabulary.tokens, options.do_lower_case)),
        f"{_OURS}cold": _ours(vocabulary, options, []),
        _WARM: _ours(vocabulary, options, warm_up),
        f"{_OURS}again": _ours(vocabulary, options, lines),
        f"{_OURS}with offsets, warm": _ours(vocabulary, options, warm_up, offsets=True),
    }
    if options.peers:
        try:
            candidates.update(_rust_tokenizers(options))
        except ImportError as error:
            print(f"skipping a peer: {error}")
        try:
            name = f"{_NANOTOKEN} {importlib.metadata.version(_NANOTOKEN)}"
            candidates[f"{_OURS}on nanotoken, warm"] = _ours(
                vocabulary, options, warm_up, engine=_NANOTOKEN
            )
            candidates[f"{name}, cold"] = _nanotoken(options, [])
            candidates[f"{name}, warm"] = _nanotoken(options, warm_up)
            candidates[f"{name}, again"] = _nanotoken(options, lines)
        except ImportError as error:
            print(f"skipping a peer: {error}")
    return candidates


def _encode(candidate: Candidate, batches: list[list[str]]) -> list[list[int]]:
    """Returns the ids of every line."""
    encode = candidate.prepare()
    ids = []
    for batch in batches:
        ids += candidate.rows(encode(batch))
    return ids


def _measure(
    candidates: Mapping[str, Candidate], batches: list[list[str]], num_turns: int
) -> dict[str, float]:
    """Returns the median processor time of each tokenizer, in seconds."""
    turns: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(num_turns):
        for name, candidate in candidates.items():
            if candidate.is_slow and turn >= _SLOW_TURNS:
                continue
            # A new tokenizer for each turn: the last one has learned the text's words.
            encode = candidate.prepare()
            start = time.process_time()
            for batch in batches:
                encode(batch)
            turns[name].append(time.process_time() - start)
    return {name: statistics.median(values) for name, values in turns.items()}


def _print_table(
    seconds: Mapping[str, float], num_tokens: int, num_different: Mapping[str, int]
) -> None:
    # The faster of both methods is the baseline.
    rust_times = [value for name, value in seconds.items() if name.startswith(_RUST)]
    rows = [("", "tokens/s", "x Python", "x tokenizers", "lines that differ")]
    for name, value in seconds.items():
        rows.append(
            (
                name,
                f"{num_tokens / value:,.0f}",
                f"{seconds[_PYTHON] / value:.1f}",
                f"{min(rust_times) / value:.1f}" if rust_times else "-",
                f"{num_different[name]:,}",
            )
        )
    print(named_table(rows))


if __name__ == "__main__":
    cli.run(TokenizationOptions, main)
