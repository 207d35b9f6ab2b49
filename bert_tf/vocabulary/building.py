"""The work of `build_vocab.py`: counts words, learns a vocabulary, and measures its fit to a text.

Input: a prepared corpus. Output: `vocab.txt`, `bert_config.json` and `tokenizer_config.json`. The
words are counted on all cores, in bounded memory. They are the output of `basic_tokenize` for the
text, so a vocabulary learned from them fits the tokenizer. A worker reads plain text itself, and is
sent text that is gzipped or remote. The word pieces are learned by `wordpiece_learner.py`.
"""

import collections
import dataclasses
import functools
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bert_common import files, outputs, parallel
from bert_common.errors import UserError, say
from bert_common.options import FILES, Options, option
from bert_common.progress import Progress
from bert_tf.vocabulary import wordpiece_learner
from data_gen.options import TEXT_FILES, TextOptions
from data_gen.text.corpus_kinds import check_plain_text
from data_gen.tokenization.settings import TokenizerSettings, write_settings
from data_gen.tokenization.vocabulary import UNK, Vocabulary
from data_gen.tokenization.wordpiece import (
    ID_BYTES,
    WordPiece,
    basic_tokenize,
    find_chunks,
    splits_plainly,
)
from modeling.config import PRESETS, BertConfig

# Maximum number of different words while counting: about 600 MB.
MAX_COUNTED_WORDS = 5_000_000
# A model needs about so many occurrences of a token to learn it; the rarest tokens of
# `english_uncased` have them.
_ENOUGH_OCCURRENCES = 8
# Size of the text that a worker gets at a time. It decides which lines are held out, so it must not
# depend on the number of workers.
_PORTION_BYTES = 1 << 22
# The files of a vocabulary.
WRITTEN = ("vocab.txt", "bert_config.json", "tokenizer_config.json")


@dataclasses.dataclass(frozen=True, kw_only=True)
class VocabularyOptions(TextOptions):
    """Vocabulary:"""

    input_file: str = option(None, TEXT_FILES, required=True, path=FILES)
    output_dir: str = option(
        None, "Directory of vocab.txt and the configurations.", required=True, path=True
    )
    vocab_size: int = option(
        None,
        "Number of tokens, special ones and [unusedN] included.",
        minimum=10,
        maximum=1 << 22,
        required=True,
    )
    do_lower_case: bool = option(
        True, "Lower-case the text and strip accents (an uncased vocabulary)."
    )
    strip_accents: bool | None = option(
        None,
        "Strip accents; false keeps them in lower-cased text, as for German or Spanish.",
        default_text="as --do_lower_case",
    )
    num_unused: int = option(
        0,
        "Reserved tokens [unused0], [unused1], …; 994 as in the released uncased vocabulary.",
        minimum=0,
    )
    model_size: str = option(
        "base", "Size of the model in bert_config.json.", choices=tuple(sorted(PRESETS))
    )
    max_characters: int = option(
        1000,
        "Maximum number of different characters in the vocabulary; words with rarer ones will be "
        "[UNK]. Chinese and Japanese need 5,000 and more.",
        minimum=1,
    )
    max_words: int = option(
        300_000,
        "Maximum number of different words to learn the word pieces from, the most common ones. "
        "Learning takes some 200 MB a core, and ten seconds a round, for each 100,000.",
        minimum=1,
    )
    held_out_file: str | None = option(
        None, "Text for the statistics alone, as --input_file.", path=FILES
    )
    held_out_fraction: float = option(
        0.01,
        "Share of the input that is kept for the statistics, without --held_out_file.",
        minimum=0,
        maximum=0.5,
    )


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


def run(options: VocabularyOptions) -> None:
    """Builds the vocabulary and prints its fit to the text, for `build_vocab.py`."""
    files.make_output_directory(options.output_dir, "output_dir")
    for name in WRITTEN:
        path = os.path.join(options.output_dir, name)
        outputs.check_output_file(path, "output_dir", WRITTEN)
    # Reports a missing package before minutes of counting.
    wordpiece_learner.load_learner()
    start = time.monotonic()
    if options.held_out_file:
        held_out = _count(options, "held_out_file", 0.0).words
        counts = _count(options, "input_file", 0.0)
    else:
        counts = _count(options, "input_file", options.held_out_fraction)
        held_out = counts.held_out
    if not counts.words:
        raise UserError("--input_file: there are no words in the input")
    words = wordpiece_learner.most_common(counts.words, options.max_words)
    _print_counts(options, counts, words, time.monotonic() - start)

    say("learning the subwords …")
    tokens = wordpiece_learner.learn_vocabulary(
        words,
        options.vocab_size,
        wordpiece_learner.special_tokens(options.num_unused),
        options.max_characters,
        options.do_lower_case,
        options.workers,
    )
    vocabulary = Vocabulary(tokens)
    with files.atomic_write(os.path.join(options.output_dir, "vocab.txt")) as file:
        for token in tokens:
            file.write(f"{token}\n")
    config = dataclasses.replace(PRESETS[options.model_size], vocab_size=len(tokens))
    config.to_file(os.path.join(options.output_dir, "bert_config.json"))
    settings = TokenizerSettings(options.do_lower_case, options.strip_accents)
    write_settings(options.output_dir, settings)
    say(
        f"wrote {len(tokens):,} tokens, {vocabulary.is_continuation.sum():,} of them "
        f"##continuations, to {options.output_dir} ({time.monotonic() - start:.0f} s in all)\n"
    )
    say(coverage_table(vocabulary, {"corpus": counts.words, "held out": held_out}))
    _warn_of_size(tokens, options.vocab_size, counts.words)


def _print_counts(
    options: VocabularyOptions,
    counts: CorpusCounts,
    words: Sequence[tuple[str, int]],
    seconds: float,
) -> None:
    """Prints the size of the text, and the parts of it that are not learned from."""
    total = counts.words.total()
    used = sum(dict(words).values())
    say(
        f"counted {total:,} words, {len(counts.words):,} different ones, in "
        f"{counts.num_bytes:,} bytes ({seconds:.0f} s)"
    )
    if counts.pruned_words:
        share = counts.pruned_occurrences / (total + counts.pruned_occurrences)
        say(
            f"note: more than {MAX_COUNTED_WORDS:,} different words: {counts.pruned_words:,} rare "
            f"ones ({share:.3%} of the text) were dropped"
        )
    if used < total:
        say(
            f"note: learning from the {len(words):,} most common words, {used / total:.3%} of the "
            "text (--max_words)"
        )
    characters = wordpiece_learner.character_counts(list(counts.words.items()))
    rare = characters[options.max_characters :]
    if rare:
        _, all_counts = zip(*characters, strict=True)
        share = sum(all_counts[options.max_characters :]) / sum(all_counts)
        say(
            f"note: {len(rare):,} rare characters, {share:.4%} of the text, are left out "
            "(--max_characters)"
        )


def _warn_of_size(tokens: Sequence[str], vocab_size: int, counts: Mapping[str, int]) -> None:
    """Prints a warning, with a better size, if the text is too small for the vocabulary."""
    rare = 0
    size = 0
    for token in tokens:
        rare += 0 < counts.get(token, 0) < _ENOUGH_OCCURRENCES
        # Special tokens and characters are needed in any case.
        size += token.startswith("[") or len(token.removeprefix("##")) == 1
    for word, count in counts.items():
        size += count >= _ENOUGH_OCCURRENCES and len(word) > 1
    if len(tokens) < vocab_size:
        problem = (
            f"the text does not hold {vocab_size:,} subwords: the vocabulary has {len(tokens):,}, "
            "as in bert_config.json"
        )
    elif 2 * rare > len(tokens):
        problem = (
            f"{rare:,} of the {len(tokens):,} tokens are words that occur less than "
            f"{_ENOUGH_OCCURRENCES} times in the text: too seldom for a model to learn them"
        )
    else:
        return
    say(
        f"warning: {problem}. --vocab_size={size} would suit the text: room for its characters and "
        f"for as many subwords as it has words that occur {_ENOUGH_OCCURRENCES} times or more"
    )


def _count(options: VocabularyOptions, flag: str, held_out_fraction: float) -> CorpusCounts:
    """Counts the words of the files of a flag."""
    paths = files.expand_patterns(getattr(options, flag), flag)
    for path in paths:
        check_plain_text(files.check_readable(path, flag), flag)
    size = sum(files.file_size(path) for path in paths)
    with Progress("counting words", total=size, unit="B") as progress:
        return count_words(
            paths,
            options.do_lower_case,
            functools.partial(parallel.ordered_map, num_workers=options.workers),
            MAX_COUNTED_WORDS,
            held_out_fraction,
            options.on_bad_utf8,
            progress.advance,
            options.strip_accents,
        )


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
    for words, held_out, num_bytes, stored in ordered_map(count_words_of, _portions(paths)):
        counts.words.update(words)
        counts.held_out.update(held_out)
        counts.num_bytes += num_bytes
        if len(counts.words) > max_words:
            _prune(counts, max_words // 2)
        progress(stored)
    return counts


def _prune(counts: CorpusCounts, max_words: int) -> None:
    """Drops all words up to the number of occurrences that leaves at most `max_words`."""
    by_count = collections.Counter(counts.words.values())
    remaining = len(counts.words)
    limit = 0
    while remaining > max_words:
        limit += 1
        remaining -= by_count[limit]
        counts.pruned_words += by_count[limit]
        counts.pruned_occurrences += limit * by_count[limit]
    # A new counter: deleted entries would keep their memory.
    words: collections.Counter = collections.Counter()
    for word, count in counts.words.items():
        if count > limit:
            words[word] = count
    counts.words = words


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


def _portions(paths: Sequence[str]) -> Iterator[Portion]:
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


class Coverage(NamedTuple):
    """Fit of a vocabulary to a text: numbers of words, their tokens, [UNK]s, words of one token."""

    words: int
    tokens: int
    unknown: int
    single: int

    @property
    def subwords_per_word(self) -> float:
        return self.tokens / max(self.words, 1)

    @property
    def unknown_share(self) -> float:
        """Share of [UNK] among the tokens."""
        return self.unknown / max(self.tokens, 1)


def coverage(vocabulary: Vocabulary, counts: Mapping[str, int]) -> Coverage:
    """Returns the fit of a vocabulary to words of `basic_tokenize` with their counts."""
    wordpiece = WordPiece(vocabulary)
    unk = wordpiece.id_bytes(UNK)
    words = tokens = unknown = single = 0
    for word, count in counts.items():
        ids = wordpiece.ids(word)
        words += count
        tokens += count * (len(ids) // ID_BYTES)
        unknown += count * (ids == unk)
        single += count * (len(ids) == ID_BYTES and ids != unk)
    return Coverage(words, tokens, unknown, single)


def coverage_table(vocabulary: Vocabulary, texts: Mapping[str, Mapping[str, int]]) -> str:
    """Returns a table of the fit of a vocabulary to texts: their words and tokens, and the shares
    of words that are one token and of tokens that are [UNK].

    Args:
      texts: name → words of `basic_tokenize` with their counts; empty ones are left out.
    """
    rows = [
        f"{'':<10} {'words':>12} {'tokens':>12} {'subwords/word':>14} {'whole words':>12} "
        f"{'[UNK]':>9}"
    ]
    for name, counts in texts.items():
        fit = coverage(vocabulary, counts)
        if fit.words:
            rows.append(
                f"{name:<10} {fit.words:>12,} {fit.tokens:>12,} {fit.subwords_per_word:>14.3f} "
                f"{fit.single / fit.words:>12.2%} {fit.unknown_share:>9.4%}"
            )
    return "\n".join(rows)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConfigOptions(Options):
    """The model's shape."""

    vocab_file: str = option(
        None, "The vocabulary, one token per line, which determines vocab_size.", required=True
    )
    output_dir: str = option(None, "Directory of bert_config.json.", required=True)
    num_hidden_layers: int = option(12, "Number of layers.", minimum=1)
    hidden_size: int = option(
        768, "Number of hidden units; feed-forward layers have four times as many.", minimum=1
    )
    num_attention_heads: int = option(12, "Number of attention heads.", minimum=1)
    max_position_embeddings: int = option(512, "Length of the longest sequence.", minimum=1)
    causal: bool = option(False, "Left-to-right model, whose pre-training predicts the next token.")
    initializer_range: float = option(0.02, "Standard deviation of initial weights.", above=0)
    hidden_dropout_prob: float = option(
        0.1, "Dropout of embeddings and layers.", minimum=0, below=1
    )
    attention_probs_dropout_prob: float = option(
        0.1, "Dropout of the attention probabilities.", minimum=0, below=1
    )


def write_config(options: ConfigOptions) -> None:
    """Writes `bert_config.json` into --output_dir."""
    vocabulary = Vocabulary.from_file(files.check_readable(options.vocab_file, "vocab_file"))
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=options.hidden_size,
        num_hidden_layers=options.num_hidden_layers,
        num_attention_heads=options.num_attention_heads,
        intermediate_size=4 * options.hidden_size,
        hidden_dropout_prob=options.hidden_dropout_prob,
        attention_probs_dropout_prob=options.attention_probs_dropout_prob,
        max_position_embeddings=options.max_position_embeddings,
        type_vocab_size=2,
        initializer_range=options.initializer_range,
        causal=options.causal,
    )
    files.make_output_directory(options.output_dir, "output_dir")
    path = outputs.check_output_file(
        os.path.join(options.output_dir, "bert_config.json"), "output_dir", WRITTEN
    )
    config.to_file(path)
    say(
        f"wrote {path}: L={config.num_hidden_layers} H={config.hidden_size} "
        f"A={config.num_attention_heads}, {config.vocab_size:,} tokens"
    )
