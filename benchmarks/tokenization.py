r"""Tokens per second of one core: this project, the same algorithm in plain Python, and two other
packages.

  python benchmarks/tokenization.py --vocab_file=vocab.txt
  python benchmarks/tokenization.py --vocab_file=vocab.txt --text_file='corpus/*.txt'

All run on the same text, in the same process, pinned to one core, in turns; printed are medians of
the processor time (`time.process_time`, all threads), which a busy machine disturbs less than the
clock on the wall. `tokenizers` and `tensorflow_text` take part where they are installed. Every line
is compared with the plain Python tokenizer: ours must be equal everywhere (exit status 1
otherwise); for the others the number of lines that differ is printed.

  cold    a new tokenizer meets the text: it has its vocabulary, everything else is learnt on the
  way warm    it has tokenized as much other text of the same kind before; no line is in both
  again   it has tokenized this very text before
"""

import dataclasses
import functools
import importlib.metadata
import operator
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import NamedTuple

# Before `tokenizers` is imported.
os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np

from benchmarks.data_generation import docstring_corpus
from bert_common import cli, files
from bert_common.errors import UserError
from bert_common.options import Options, option
from bert_tf.tables import named_table
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import Vocabulary
from tests.oracles.tokenizer import ReferenceTokenizer

_BATCH = (
    1000  # lines; for those that take batches. The others would only wait for memory with more.
)
_RUST = "tokenizers"


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenizationOptions(Options):
    """Options of the benchmark."""

    text_file: str | None = option(
        None,
        "English text, a paragraph a line; comma-separated patterns.",
        default_text="the docstrings of the installed packages",
    )
    vocab_file: str = option(None, "WordPiece vocabulary, one token a line.", required=True)
    do_lower_case: bool = option(True, "False for a cased vocabulary.")
    peers: bool = option(True, "Measure the other packages, too, where they are installed.")
    megabytes: float = option(
        8, "Millions of characters to measure with, and to warm up with.", minimum=0.01
    )
    repetitions: int = option(5, "Rounds; the slow ones take part in the first three.", minimum=1)


class Candidate(NamedTuple):
    """A tokenizer: what makes, before every measurement, of lines a function that encodes a batch
    of them; what makes ids of each line of the function's results; whether it takes part in the
    first three rounds only."""

    prepare: Callable[[list[str]], Callable[[list[str]], object]]
    rows: Callable[[object], list[list[int]]] = list
    is_slow: bool = False


def ours(
    vocabulary: Vocabulary,
    do_lower_case: bool,
    state: str,
    warm_up: list[str],
    offsets: bool = False,
) -> Candidate:
    """This project; `state` as at the top of this file."""

    def prepare(lines: list[str]) -> Callable[[list[str]], object]:
        tokenizer = Tokenizer(vocabulary, do_lower_case)
        if state != "cold":
            tokenizer.encode_batch(warm_up if state == "warm" else lines, offsets=offsets)
        return functools.partial(tokenizer.encode_batch, offsets=offsets)

    return Candidate(
        prepare,
        lambda encoding: [
            row.tolist() for row in np.split(encoding.ids, np.cumsum(encoding.row_lengths)[:-1])
        ],
    )


def rust_tokenizers(options: TokenizationOptions) -> dict[str, Candidate]:
    """Hugging Face `tokenizers`; encode_batch_fast is without offsets."""
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer(
        options.vocab_file, lowercase=options.do_lower_case
    )._tokenizer
    return {
        f"{_RUST} {importlib.metadata.version('tokenizers')} {method}": Candidate(
            lambda _, method=method: functools.partial(
                getattr(tokenizer, method), add_special_tokens=False
            ),
            lambda encodings: [encoding.ids for encoding in encodings],
            is_slow=True,
        )
        for method in ("encode_batch", "encode_batch_fast")
    }


def fast_bert(options: TokenizationOptions) -> dict[str, Candidate]:
    """tensorflow_text's FastBertTokenizer."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf
    import tensorflow_text

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tokenizer = tensorflow_text.FastBertTokenizer(
        vocab=Vocabulary.from_file(options.vocab_file).tokens,
        lower_case_nfd_strip_accents=options.do_lower_case,
        token_out_type=tf.int32,
    )
    name = f"tensorflow_text {importlib.metadata.version('tensorflow-text')} FastBertTokenizer"
    return {name: Candidate(lambda _: tokenizer.tokenize, lambda rows: rows.to_list())}


def main(options: TokenizationOptions) -> int:
    vocabulary, casing, texts = Vocabulary.from_file(options.vocab_file), options.do_lower_case, []
    with tempfile.TemporaryDirectory() as folder:
        for path in files.expand_patterns(
            options.text_file or docstring_corpus(folder), "text_file"
        ):
            with open(path, encoding="utf-8") as file:
                texts += [line.rstrip("\n") for line in file if line.strip()]
    warm_up, lines = split(texts, int(options.megabytes * 1e6))
    reference = ReferenceTokenizer(vocabulary.tokens, casing)
    python, own = (
        "plain Python",
        {
            f"this project, {state}": ours(vocabulary, casing, state, warm_up)
            for state in ("cold", "warm", "again")
        },
    )
    candidates = {
        python: Candidate(lambda _: lambda batch: list(map(reference.encode, batch)), is_slow=True),
        **own,
        "this project, with offsets, warm": ours(vocabulary, casing, "warm", warm_up, offsets=True),
    }
    for make in (rust_tokenizers, fast_bert) if options.peers else ():
        try:
            candidates |= make(options)
        except ImportError as error:
            print(f"left out: {error}")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    batches = [lines[start : start + _BATCH] for start in range(0, len(lines), _BATCH)]
    rows = {
        name: [row for batch in batches for row in one.rows(encode(batch))]
        for name, one in candidates.items()
        for encode in [one.prepare(lines)]
    }
    tokens = sum(map(len, rows[python]))
    print(
        "processor time on one core; the column 'x tokenizers' compares with the faster of its methods\n"
        f"{sum(map(len, lines)) / 1e6:.1f} million characters in {len(lines):,} lines, {tokens:,} tokens"
    )
    turns: dict[str, list[float]] = {name: [] for name in candidates}
    for repetition in range(options.repetitions):
        for name, candidate in candidates.items():
            if candidate.is_slow and repetition >= 3:
                continue
            encode = candidate.prepare(lines)
            start = time.process_time()
            for batch in batches:
                encode(batch)
            turns[name].append(time.process_time() - start)
    seconds = {name: statistics.median(values) for name, values in turns.items()}
    rust = min((taken for name, taken in seconds.items() if name.startswith(_RUST)), default=None)
    differ = {name: sum(map(operator.ne, found, rows[python])) for name, found in rows.items()}
    print(
        named_table(
            [
                ("", "tokens/s", "x Python", "x tokenizers", "lines that differ"),
                *(
                    (
                        name,
                        f"{tokens / taken:,.0f}",
                        f"{seconds[python] / taken:.1f}",
                        f"{rust / taken:.1f}" if rust else "-",
                        f"{differ[name]:,}",
                    )
                    for name, taken in seconds.items()
                ),
            ]
        )
    )
    if any(differ[name] for name in own):
        print("\nNOT EXACT: a line differs from the plain algorithm")
        return 1
    return 0


def split(lines: list[str], characters: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Two samples without a line in common: (to warm up with, to measure), each of about
    `characters`."""
    lines = list(dict.fromkeys(lines))
    random.Random(seed).shuffle(lines)
    ends = np.searchsorted(np.cumsum(list(map(len, lines))), [characters, 2 * characters]) + 1
    measured, warm_up = lines[: ends[0]], lines[ends[0] : ends[1]]
    if 10 * sum(map(len, warm_up)) < characters:
        raise UserError(
            f"the text has fewer than {characters * 11 // 10:,} characters: give more of it or lower "
            "--megabytes"
        )
    return warm_up, measured


if __name__ == "__main__":
    cli.run(TokenizationOptions, main)
