"""The work of `build_vocab.py`: counts, learns, writes, and measures how well the vocabulary fits a
text.

Input: a prepared corpus. Output: `vocab.txt`, `bert_config.json` and `tokenizer_config.json`. The
words are counted on all cores, in bounded memory, and are what `basic_tokenize` makes of the text,
so a vocabulary learnt from them fits the tokenizer; a worker reads plain text itself, and is sent
what is gzipped or remote. The word pieces are learnt by `wordpiece_learner.py`.
"""

import collections
import dataclasses
import functools
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from bert_common import files, outputs, parallel
from bert_common.errors import UserError
from bert_common.options import FILES, Options, option
from bert_common.progress import Progress
from bert_tf.vocabulary import wordpiece_learner
from data_gen.options import TEXT_FILES, TextOptions
from data_gen.tokenization.vocabulary import UNK, Vocabulary, write_tokenizer_config
from data_gen.tokenization.wordpiece import (
    ID_BYTES,
    WordPiece,
    basic_tokenize,
    find_chunks,
    splits_plainly,
)
from modeling.config import PRESETS, BertConfig

# So many different words are kept while counting: about 600 MB.
_MAX_COUNTED_WORDS = 5_000_000
# A token that a model is to learn should occur so often; the rarest of `english_uncased` do.
_ENOUGH_OCCURRENCES = 8
# Text given to a worker at a time. It decides which lines are held out, so it is the same for any
# number of workers.
_PORTION_BYTES = 1 << 22


@dataclasses.dataclass(frozen=True, kw_only=True)
class VocabularyOptions(TextOptions):
    """Vocabulary:"""

    input_file: str = option(None, TEXT_FILES, required=True, path=FILES)
    output_dir: str = option(
        None, "Where vocab.txt and the configurations are written.", required=True, path=True
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
        "Different characters in the vocabulary; words with rarer ones will be [UNK]. Chinese and Japanese need "
        "5,000 and more.",
        minimum=1,
    )
    max_words: int = option(
        300_000,
        "Different words the word pieces are learnt from, the most common ones. Learning takes some 200 MB a "
        "core, and ten seconds a round, for each 100,000.",
        minimum=1,
    )
    held_out_file: str | None = option(
        None, "Text for the statistics, as --input_file; it is not learnt from.", path=FILES
    )
    held_out_fraction: float = option(
        0.01,
        "Without --held_out_file: share of the input that is kept for the statistics.",
        minimum=0,
        maximum=0.5,
    )


@dataclasses.dataclass(frozen=True)
class Portion:
    """Whole lines of a file: what a worker counts at a time.

    Attributes:
      offset: where the lines begin in its text.
      stored: their bytes as they are stored; 0 for those that come with a later portion.
      data: their text; None where it is to be read from the file, `stored` bytes from `offset` on.
    """

    path: str
    offset: int
    stored: int
    data: bytes | None = None


@dataclasses.dataclass
class CorpusCounts:
    """Counts of the words of a corpus, those of held-out lines apart; bytes of text read; the
    number of words dropped on the way to save memory (one that came back is counted again), and of
    their occurrences."""

    words: collections.Counter
    held_out: collections.Counter
    num_bytes: int = 0
    pruned_words: int = 0
    pruned_occurrences: int = 0


def run(options: VocabularyOptions) -> None:
    """The command: builds the vocabulary and prints how well it fits."""
    files.make_output_directory(options.output_dir, "output_dir")
    inputs = {
        name: files.expand_patterns(given, name)
        for name in ("input_file", "held_out_file")
        if (given := getattr(options, name))
    }
    for name in WRITTEN:
        outputs.check_output_file(
            os.path.join(options.output_dir, name), "output_dir", inputs, WRITTEN
        )
    # Before minutes of counting, for the line about a package that is missing.
    wordpiece_learner.load_learner()
    held_out = _count(options, "held_out_file", 0.0).words if options.held_out_file else None
    start = time.monotonic()
    counts = _count(
        options, "input_file", 0.0 if held_out is not None else options.held_out_fraction
    )
    if not counts.words:
        raise UserError("--input_file: there are no words in the input")
    words = wordpiece_learner.most_common(counts.words, options.max_words)
    # What was counted, and what of it is not learnt from.
    total, used = counts.words.total(), sum(count for _, count in words)
    print(
        f"counted {total:,} words, {len(counts.words):,} different ones, in {counts.num_bytes:,} bytes "
        f"({time.monotonic() - start:.0f} s)"
    )
    if counts.pruned_words:
        print(
            f"note: more than {_MAX_COUNTED_WORDS:,} different words: {counts.pruned_words:,} rare ones "
            f"({counts.pruned_occurrences / (total + counts.pruned_occurrences):.3%} of the text) were dropped"
        )
    if used < total:
        print(
            f"note: learning from the {len(words):,} most common words, {used / total:.3%} of the text (--max_words)"
        )
    characters = [
        count for _, count in wordpiece_learner.character_counts(list(counts.words.items()))
    ]
    if rare_characters := characters[options.max_characters :]:
        print(
            f"note: {len(rare_characters):,} rare characters, {sum(rare_characters) / sum(characters):.4%} of the text, "
            "are left out (--max_characters)"
        )

    print("learning the subwords …", flush=True)
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
        file.writelines(f"{token}\n" for token in tokens)
    config = dataclasses.replace(PRESETS[options.model_size], vocab_size=len(tokens))
    config.to_file(os.path.join(options.output_dir, "bert_config.json"))
    write_tokenizer_config(options.output_dir, options.do_lower_case, None)

    continuations = sum(token.startswith("##") and len(token) > 2 for token in tokens)
    print(
        f"wrote {len(tokens):,} tokens, {continuations:,} of them ##continuations, to {options.output_dir} "
        f"({time.monotonic() - start:.0f} s in all)\n"
    )
    print(
        coverage_table(
            vocabulary, {"learnt from": counts.words, "held out": held_out or counts.held_out}
        )
    )
    rare = sum(0 < counts.words.get(token, 0) < _ENOUGH_OCCURRENCES for token in tokens)
    warning = ""
    if len(tokens) < options.vocab_size:
        warning = (
            f"the text does not hold {options.vocab_size:,} subwords: the vocabulary has {len(tokens):,}, as in "
            "bert_config.json"
        )
    elif 2 * rare > len(tokens):
        warning = (
            f"{rare:,} of the {len(tokens):,} tokens are words that occur less than {_ENOUGH_OCCURRENCES} times in "
            "the text: too seldom for a model to learn them"
        )
    if warning:
        # Special tokens and characters, and words that occur often enough.
        size = sum(
            token.startswith("[") or len(token.removeprefix("##")) == 1 for token in tokens
        ) + sum(
            count >= _ENOUGH_OCCURRENCES and len(word) > 1 for word, count in counts.words.items()
        )
        print(
            f"warning: {warning}. --vocab_size={size} would suit the text: room for its "
            f"characters and for as many subwords as it has words that occur {_ENOUGH_OCCURRENCES} times or more"
        )


def _count(options: VocabularyOptions, flag: str, held_out_fraction: float) -> CorpusCounts:
    paths = files.expand_patterns(getattr(options, flag), flag)
    for path in paths:
        files.check_readable(path, flag)
    with Progress("counting words", total=sum(map(files.file_size, paths)), unit="B") as progress:
        return count_words(
            paths,
            options.do_lower_case,
            functools.partial(parallel.ordered_map, num_workers=options.workers),
            _MAX_COUNTED_WORDS,
            held_out_fraction,
            options.on_bad_utf8,
            progress.advance,
        )


def count_words(
    paths: Sequence[str],
    do_lower_case: bool,
    ordered_map: Callable[..., Iterator],
    max_words: int,
    held_out_fraction: float = 0.0,
    on_bad_utf8: str = "error",
    progress: Callable[[int], None] = lambda amount: None,
) -> CorpusCounts:
    """Counts the words of text files.

    Args:
      paths: UTF-8 text, gzipped or not.
      ordered_map: `map`, or one of that kind that does the work elsewhere.
      max_words: most different words kept. When there are more, the rarest are dropped until half
        as many are left, so that what is dropped was rare in a long stretch of text.
      held_out_fraction: share of the text, the end of each 4 MB of it, that is counted apart.
      progress: is called with the bytes read since, as they are stored.
    """
    counts = CorpusCounts(collections.Counter(), collections.Counter())
    count_words_of = functools.partial(count_portion, do_lower_case, held_out_fraction, on_bad_utf8)
    for words, held_out, num_bytes, stored in ordered_map(count_words_of, _portions(paths)):
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
            counts.pruned_occurrences += sum(
                count * number for count, number in by_count.items() if count <= limit
            )
            counts.words = collections.Counter(
                {word: count for word, count in counts.words.items() if count > limit}
            )
        progress(stored)
    return counts


def count_portion(
    do_lower_case: bool, held_out_fraction: float, on_bad_utf8: str, portion: Portion
) -> tuple[dict[str, int], dict[str, int], int, int]:
    """The words of a portion and those of its held-out end, its bytes of text and as stored; runs
    in the workers."""
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
                f"{portion.path}: not UTF-8 at byte {portion.offset + error.start} (0x{data[error.start]:02x}): "
                "convert the file, or --on_bad_utf8=replace"
            ) from None
        text = data.decode("utf-8", errors="replace")
    held_out = ""
    if held_out_fraction:
        # From the start of a line on, so that no word is torn.
        start = text.find("\n", int(len(text) * (1 - held_out_fraction))) + 1
        if start:
            text, held_out = text[:start], text[start:]
    return (
        _words_of(text, do_lower_case),
        _words_of(held_out, do_lower_case),
        len(data),
        portion.stored,
    )


def _words_of(text: str, do_lower_case: bool) -> dict[str, int]:
    # A chunk can be tokenized without what is around it, so it is enough to tokenize each different
    # one once.
    chunks = collections.Counter(text.split() if splits_plainly(text) else find_chunks(text))
    words: dict[str, int] = collections.defaultdict(int)
    for chunk, count in chunks.items():
        for word in basic_tokenize(chunk, do_lower_case):
            words[word] += count
    return dict(words)


def _portions(paths: Sequence[str]) -> Iterator[Portion]:
    for path in paths:
        with files.user_error(f"can't read {path}"), files.open_unzipped(path) as (raw, file):
            offset = position = 0
            if file is raw and not files.is_remote(path):
                # The portions that `readlines` would make, without reading all of the file.
                size = os.path.getsize(path)
                while offset < size:
                    file.seek(offset + _PORTION_BYTES)
                    file.readline()
                    end = min(file.tell(), size)
                    yield Portion(path, offset, end - offset)
                    offset = end
                continue
            while lines := file.readlines(_PORTION_BYTES):
                data = b"".join(lines)
                yield Portion(path, offset, raw.tell() - position, data)
                offset += len(data)
                position = raw.tell()


# The files of a vocabulary.
WRITTEN = ("vocab.txt", "bert_config.json", "tokenizer_config.json")


def coverage_table(vocabulary: Vocabulary, texts: Mapping[str, Mapping[str, int]]) -> str:
    """How a vocabulary fits texts, name → words of `basic_tokenize` with their counts: a row for
    each that is not empty.

    Its words and punctuation marks, its tokens, and the shares of words that are one token and of
    tokens that are [UNK].
    """
    wordpiece = WordPiece(vocabulary)
    unk = wordpiece.id_bytes(UNK)
    rows = [
        f"{'':<10} {'words':>12} {'tokens':>12} {'subwords/word':>14} {'whole words':>12} {'[UNK]':>9}"
    ]
    for name, counts in texts.items():
        words = tokens = unknown = whole = 0
        for word, count in counts.items():
            ids = wordpiece.ids(word)
            words += count
            tokens += count * (len(ids) // ID_BYTES)
            unknown += count * (ids == unk)
            whole += count * (len(ids) == ID_BYTES and ids != unk)
        if words:
            rows.append(
                f"{name:<10} {words:>12,} {tokens:>12,} {tokens / words:>14.3f} {whole / words:>12.2%} "
                f"{unknown / tokens:>9.4%}"
            )
    return "\n".join(rows)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConfigOptions(Options):
    """The model's shape."""

    vocab_file: str = option(None, "The vocabulary, one token a line: its size.", required=True)
    output_dir: str = option(None, "Where bert_config.json goes.", required=True)
    num_hidden_layers: int = option(12, "Layers.", minimum=1)
    hidden_size: int = option(
        768, "Hidden units; feed-forward layers have four times as many.", minimum=1
    )
    num_attention_heads: int = option(12, "Attention heads.", minimum=1)
    max_position_embeddings: int = option(512, "The longest sequence.", minimum=1)
    causal: bool = option(
        False, "Every token sees those before it only; pre-training predicts the next one."
    )
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
    shape = {
        name: getattr(options, name)
        for name in (
            "num_hidden_layers",
            "hidden_size",
            "num_attention_heads",
            "max_position_embeddings",
            "initializer_range",
            "hidden_dropout_prob",
            "attention_probs_dropout_prob",
        )
    }
    config = BertConfig.from_dict(
        {
            "vocab_size": len(vocabulary),
            "intermediate_size": 4 * options.hidden_size,
            "type_vocab_size": 2,
            **shape,
            **({"is_decoder": True} if options.causal else {}),
        }
    )
    files.make_output_directory(options.output_dir, "output_dir")
    path = outputs.check_output_file(
        os.path.join(options.output_dir, "bert_config.json"), "output_dir", {}, WRITTEN
    )
    config.to_file(path)
    print(
        f"wrote {path}: L={config.num_hidden_layers} H={config.hidden_size} A={config.num_attention_heads}, "
        f"{config.vocab_size:,} tokens"
    )
