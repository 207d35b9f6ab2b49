"""From word counts to a WordPiece vocabulary of an exact size.

The pieces are found by tensorflow_text's learner, which works top down: starting from all
substrings of all words it keeps those that occur at least `threshold` times other than inside a
longer kept one, and repeats that with the words cut up by the pieces found so far. Its own search
for the threshold that gives a certain size starts at the count of the commonest word and tries some
fifteen of them, 5 to 15 seconds each. Here the search starts near the goal, interpolates, tries two
thresholds at a time, and ends after four to six of them; the rarest pieces beyond that size are cut
off.

Input: the most common words with their counts. Output: tokens in the order of their ids.
"""

import functools
import gc
import importlib.util
import math
import os
import types
from collections.abc import Mapping, Sequence

from bert_common import parallel
from bert_common.errors import UserError, needs_package
from data_gen.tokenization.vocabulary import CLS, MASK, PAD, SEP, UNK
from data_gen.tokenization.wordpiece import find_chunks

# The learner's own defaults.
_NUM_ITERATIONS = 4
_MAX_PIECE_CHARACTERS = 50
# A vocabulary that is larger than asked for by no more than this is cut to size: the pieces lost
# are those whose counts are just above the threshold.
_SLACK = 0.03
# In the released vocabularies [UNK] is id 100: this many [unusedN] stand before it, the others
# after [MASK].
_UNUSED_BEFORE_UNK = 99
# These belong to every vocabulary, even if the corpus lacks them: printable ASCII, and the
# quotation marks, dashes and signs that a word processor or a web page may put in any text.
_COMMON_CHARACTERS = (*map(chr, range(0x21, 0x7F)), *"‘’“”–—…•°×£€")
_LEARNER = ("tools", "wordpiece_vocab", "wordpiece_tokenizer_learner_lib.py")


def special_tokens(num_unused: int) -> list[str]:
    """The first tokens of a vocabulary, in the order of the released ones; with 99 [unusedN] or
    more [UNK], [CLS], [SEP] and [MASK] have the ids 100 to 103."""
    unused = [f"[unused{number}]" for number in range(num_unused)]
    return [PAD, *unused[:_UNUSED_BEFORE_UNK], UNK, CLS, SEP, MASK, *unused[_UNUSED_BEFORE_UNK:]]


def most_common(word_counts: Mapping[str, int], limit: int) -> list[tuple[str, int]]:
    """The most common words with their counts; equally common ones in alphabetical order."""
    return sorted(word_counts.items(), key=lambda item: (-item[1], item[0]))[:limit]


def character_counts(word_counts: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Characters and how often they occur, the most common first."""
    counts: dict[str, int] = {}
    for word, count in word_counts:
        for character in word:
            counts[character] = counts.get(character, 0) + count
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def learn_vocabulary(
    word_counts: Sequence[tuple[str, int]],
    vocab_size: int,
    first_tokens: Sequence[str],
    max_characters: int,
    do_lower_case: bool,
    num_workers: int,
) -> list[str]:
    """Learns a vocabulary.

    Args:
      word_counts: words of `basic_tokenize` with their counts, the most common first.
      first_tokens: special tokens, put first as they are.
      max_characters: at most so many different characters, the most common ones (and
        `_COMMON_CHARACTERS`). Words with others are left out of the learning, and will be [UNK].

    Returns:
      The tokens in the order of their ids: `first_tokens`, single characters as they start a word
        ("x"), the same
      inside a word ("##x"), then pieces with the most common first. Fewer than `vocab_size` only if
      the words do not hold as many pieces.

    Raises:
      UserError: the characters alone are more than `vocab_size`.
    """
    characters = {character for character, _ in character_counts(word_counts)[:max_characters]}
    characters |= {
        character.lower() if do_lower_case else character for character in _COMMON_CHARACTERS
    }
    words = [
        (word, count)
        for word, count in word_counts
        if len(word) <= _MAX_PIECE_CHARACTERS and characters.issuperset(word)
    ]
    first = [
        *first_tokens,
        *sorted(characters),
        # An ideograph is always a word of its own, so never inside one.
        *(
            f"##{character}"
            for character in sorted(characters)
            if len(find_chunks(f"a{character}")) == 1
        ),
    ]
    num_pieces = vocab_size - len(first)
    if num_pieces < 0:
        raise UserError(
            f"--vocab_size={vocab_size} is too small: {len(first_tokens)} special tokens and {len(characters)} characters, "
            f"at the start and inside of words, take {len(first)} (--max_characters leaves out rare ones)"
        )
    if not num_pieces or not words:
        return first
    most = num_pieces * (1 + _SLACK)
    pieces: dict[int, list[str]] = {}
    # Nearly every word above the threshold becomes a piece, and some more parts of words do: with
    # English texts the right threshold is 1.2 to 1.4 times the count of the word that would be the
    # last one.
    counts = sorted((count for word, count in words if len(word) > 1), reverse=True)
    start = counts[num_pieces - 1] if num_pieces <= len(counts) else 1
    probes = [math.ceil(1.2 * start), math.ceil(1.4 * start) + 1]
    while probes:
        pieces.update(
            zip(
                probes,
                parallel.ordered_map(
                    functools.partial(_learn_with_threshold, words),
                    probes,
                    min(num_workers, len(probes)),
                ),
                strict=True,
            )
        )
        sizes = {threshold: len(found) for threshold, found in pieces.items()}
        if any(num_pieces <= size <= most for size in sizes.values()):
            break
        probes = _next_probes(sizes, num_pieces, most)
    enough = [threshold for threshold in pieces if len(pieces[threshold]) >= num_pieces]
    return first + pieces[max(enough) if enough else min(pieces)][:num_pieces]


def _next_probes(sizes: Mapping[int, int], fewest: int, most: float) -> list[int]:
    """Two thresholds nearer to the goal, from `fewest` to `most` pieces, than those known, or none
    if there are no such.

    `sizes` is threshold → number of pieces, which falls as the threshold rises.
    """
    low = max((threshold for threshold, size in sizes.items() if size > most), default=0)
    high = min((threshold for threshold, size in sizes.items() if size < fewest), default=0)
    if high and high - low <= 1:
        return []
    # The number of pieces is close to a power of the threshold: a straight line in logarithms.
    known = sorted(sizes)
    first, second = (low, high) if low and high else (known if high else known[::-1])[:2]
    rise = math.log(max(0.5, sizes[second]) / max(0.5, sizes[first]))
    slope = rise / math.log(second / first) if rise else -0.6
    goals = (fewest + (most - fewest) / 4, most - (most - fewest) / 4)
    guesses = [first * (goal / max(0.5, sizes[first])) ** (1 / slope) for goal in goals]
    # A line may mislead, so one of the two covers a share of the way, whatever the sizes are.
    if low and high:
        margin = (high / low) ** 0.05
        guesses = [min(max(guess, low * margin), high / margin) for guess in guesses]
        if high > 2 * low:
            guesses[0] = math.sqrt(low * high)
    elif high:
        guesses = [max(guesses[0], high / 8), min(max(guesses[1], high / 8), high / 1.25)]
    else:
        guesses = [max(min(guesses[0], low * 8), low * 1.25), min(guesses[1], low * 8)]
    probes = {
        min(max(round(guess), low + 1), high - 1 if high else round(guess) + 1) for guess in guesses
    }
    if len(probes) == 1:
        probes.add(max(low + 1, min(probes) - 1))
    return sorted(probes - sizes.keys())


def _learn_with_threshold(words: list[tuple[str, int]], threshold: int) -> list[str]:
    """The learner's pieces of more than one character, the most common first; runs in the
    workers."""
    learner = load_learner()
    params = learner.Params(
        upper_thresh=None,
        lower_thresh=None,
        num_iterations=_NUM_ITERATIONS,
        max_input_tokens=-1,
        max_token_length=_MAX_PIECE_CHARACTERS,
        max_unique_chars=None,
        vocab_size=None,
        slack_ratio=None,
        include_joiner_token=True,
        joiner="##",
        reserved_tokens=[],
    )
    gc.disable()  # Millions of strings in dicts, and no cycles among them.
    try:
        found = learner.learn_with_thresh(words, threshold, params)
    finally:
        gc.enable()
    return [piece for piece in found if len(piece.removeprefix("##")) > 1]


@functools.cache
def load_learner() -> types.ModuleType:
    """tensorflow_text's module `wordpiece_tokenizer_learner_lib`, without TensorFlow."""
    # By its path: importing the package would import TensorFlow, which takes longer than the
    # learning of a small vocabulary and can't be shared with forked workers. The module itself
    # needs numpy only.
    package = importlib.util.find_spec("tensorflow_text")
    if package is None:
        raise needs_package("learning a vocabulary", "tensorflow_text")
    path = os.path.join(package.submodule_search_locations[0], *_LEARNER)
    spec = importlib.util.spec_from_file_location("wordpiece_tokenizer_learner_lib", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
