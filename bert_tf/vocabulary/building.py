"""The work of `build_vocab.py`: counts words, learns a vocabulary, and measures its fit to a text.

Input: a prepared corpus. Output: `vocab.txt`, `bert_config.json` and `tokenizer_config.json`. The
words are the output of `basic_tokenize` for the text (data_gen/text/word_counts.py), so that a
vocabulary learned from them fits the tokenizer. The pieces are learned by `wordpiece_learner.py`.
"""

import dataclasses
import functools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from bert_common import files, outputs, parallel
from bert_common.errors import UserError, say
from bert_common.options import FILES, Options, option, option_class
from bert_common.progress import Progress
from bert_tf.vocabulary import wordpiece_learner
from data_gen.options import PIPELINES, TEXT_FILES, BeamOptions
from data_gen.text.corpus_kinds import check_plain_text
from data_gen.text.word_counts import MAX_COUNTED_WORDS, CorpusCounts, count_words
from data_gen.tokenization.settings import TokenizerSettings, write_settings
from data_gen.tokenization.vocabulary import UNK, Vocabulary
from data_gen.tokenization.wordpiece import (
    ID_BYTES,
    WordPiece,
)
from modeling.config import PRESETS, BertConfig

# A model needs about so many occurrences of a token to learn it; the rarest tokens of
# `english_uncased` have them.
_ENOUGH_OCCURRENCES = 8
# The files of a vocabulary.
WRITTEN = ("vocab.txt", "bert_config.json", "tokenizer_config.json")


@option_class
class VocabularyOptions(BeamOptions):
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


def run(options: VocabularyOptions) -> None:
    """Builds the vocabulary and prints its fit to the text, for `build_vocab.py`."""
    count = _count
    if options.beam_pipeline_options is not None:
        count_in_pipeline = PIPELINES.load("counts of words")
        count = functools.partial(_count, count_in_pipeline=count_in_pipeline)
    files.make_output_directory(options.output_dir, "output_dir")
    for name in WRITTEN:
        path = os.path.join(options.output_dir, name)
        outputs.check_output_file(path, "output_dir", WRITTEN)
    # Reports a missing package before minutes of counting.
    wordpiece_learner.load_learner()
    start = time.monotonic()
    if options.held_out_file:
        held_out = count(options, "held_out_file", 0.0).words
        if not held_out:
            raise UserError("--held_out_file: there are no words in the text")
        counts = count(options, "input_file", 0.0)
    else:
        counts = count(options, "input_file", options.held_out_fraction)
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


def _count(
    options: VocabularyOptions,
    flag: str,
    held_out_fraction: float,
    count_in_pipeline: Callable[..., CorpusCounts] | None = None,
) -> CorpusCounts:
    """Counts the words of the files of a flag."""
    paths = files.expand_patterns(getattr(options, flag), flag)
    for path in paths:
        check_plain_text(files.check_readable(path, flag), flag)
    if count_in_pipeline is not None:
        return count_in_pipeline(options, paths, held_out_fraction)
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


@option_class
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
