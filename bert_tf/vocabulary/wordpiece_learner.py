"""From word counts to a WordPiece vocabulary of an exact size.

The pieces are found by tensorflow_text's learner, which works top down: starting from all
substrings of all words it keeps those that occur at least `threshold` times other than inside a
longer kept one, and repeats that with the words cut up by the pieces so far. Its own search for the
threshold that gives a certain size starts at the count of the commonest word and tries some fifteen
of them, 5 to 15 seconds each. Here the search starts near the goal, interpolates, tries two
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

# Defaults of the learner.
_NUM_ITERATIONS = 4
_MAX_PIECE_CHARACTERS = 50
# Share by which a vocabulary may be too large. It is cut to size then, and loses the pieces whose
# counts are just above the threshold.
_SLACK = 0.03
# In the released vocabularies [UNK] is id 100: so many [unusedN] are before it, the others after
# [MASK].
_UNUSED_BEFORE_UNK = 99
# Characters of every vocabulary, even if the corpus lacks them: printable ASCII, and the quotation
# marks, dashes and signs that a word processor or a web page may put in any text.
_COMMON_CHARACTERS = (*(chr(code) for code in range(0x21, 0x7F)), *"‘’“”–—…•°×£€")
_LEARNER = ("tools", "wordpiece_vocab", "wordpiece_tokenizer_learner_lib.py")


def special_tokens(num_unused: int) -> list[str]:
    """Returns the first tokens, in the order of the released vocabularies; with 99 [unusedN] or
    more [UNK], [CLS], [SEP] and [MASK] have the ids 100 to 103."""
    unused = [f"[unused{number}]" for number in range(num_unused)]
    return [PAD, *unused[:_UNUSED_BEFORE_UNK], UNK, CLS, SEP, MASK, *unused[_UNUSED_BEFORE_UNK:]]


def most_common(word_counts: Mapping[str, int], limit: int) -> list[tuple[str, int]]:
    """Returns the most common words with their counts, equal ones in alphabetical order."""
    return _by_frequency(word_counts)[:limit]


def character_counts(word_counts: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Returns characters with their numbers of occurrences, the most common first."""
    counts: dict[str, int] = {}
    for word, count in word_counts:
        for character in word:
            counts[character] = counts.get(character, 0) + count
    return _by_frequency(counts)


def _by_frequency(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Returns the items by falling count; equal ones in alphabetical order."""
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
      max_characters: maximum number of different characters, the most common ones (and
        `_COMMON_CHARACTERS`). Words with other characters are not learned from, and will be [UNK].

    Returns:
      The tokens in the order of their ids: `first_tokens`, single characters as they start a word
        ("x"), the same inside a word ("##x"), then pieces with the most common first. Fewer than
        `vocab_size` only if the words do not hold as many pieces.

    Raises:
      UserError: the characters alone are more than `vocab_size`.
    """
    characters = {character for character, _ in character_counts(word_counts)[:max_characters]}
    for character in _COMMON_CHARACTERS:
        characters.add(character.lower() if do_lower_case else character)
    tokens = [*first_tokens, *sorted(characters)]
    for character in sorted(characters):
        # An ideograph is always a word of its own, so never inside one.
        if len(find_chunks(f"a{character}")) == 1:
            tokens.append(f"##{character}")
    num_pieces = vocab_size - len(tokens)
    if num_pieces < 0:
        raise UserError(
            f"--vocab_size={vocab_size} is too small: {len(first_tokens)} special tokens and "
            f"{len(characters)} characters, at the start and inside of words, take {len(tokens)} "
            "(--max_characters leaves out rare ones)"
        )
    words = []
    for word, count in word_counts:
        if len(word) <= _MAX_PIECE_CHARACTERS and characters.issuperset(word):
            words.append((word, count))
    if num_pieces and words:
        tokens += _learn_pieces(words, num_pieces, num_workers)
    return tokens


def _learn_pieces(words: list[tuple[str, int]], num_pieces: int, num_workers: int) -> list[str]:
    """Returns so many pieces of more than one character, the most common first; fewer only if the
    words do not hold as many."""
    max_pieces = num_pieces * (1 + _SLACK)
    pieces: dict[int, list[str]] = {}
    # Nearly every word above the threshold becomes a piece, and some more parts of words do: with
    # English texts the right threshold is 1.2 to 1.4 times the count of the word that would be the
    # last one.
    counts = sorted((count for word, count in words if len(word) > 1), reverse=True)
    start = counts[num_pieces - 1] if num_pieces <= len(counts) else 1
    probes = [math.ceil(1.2 * start), math.ceil(1.4 * start) + 1]
    learn = functools.partial(_learn_with_threshold, words)
    while probes:
        workers = min(num_workers, len(probes))
        results = parallel.ordered_map(learn, probes, workers)
        pieces.update(zip(probes, results, strict=True))
        sizes = {threshold: len(learned) for threshold, learned in pieces.items()}
        if any(num_pieces <= size <= max_pieces for size in sizes.values()):
            break
        probes = _next_probes(sizes, num_pieces, max_pieces)
    # The highest threshold with enough pieces; else the lowest, which has the most.
    best = min(pieces)
    for threshold, result in pieces.items():
        if len(result) >= num_pieces:
            best = max(best, threshold)
    return pieces[best][:num_pieces]


def _next_probes(sizes: Mapping[int, int], fewest: int, largest: float) -> list[int]:
    """Returns up to two thresholds nearer to the goal, from `fewest` to `largest` pieces, than
    those tried; none if there are no such.

    `sizes` is threshold → number of pieces, which falls as the threshold rises.
    """
    # The goal is between these thresholds; 0 stands for none.
    low = max((threshold for threshold, size in sizes.items() if size > largest), default=0)
    high = min((threshold for threshold, size in sizes.items() if size < fewest), default=0)
    if high and high - low <= 1:
        return []
    # Sizes are about a power of the threshold: a line in logarithms, -0.6 if two are equal.
    tried = sorted(sizes)
    if low and high:
        first = low
        second = high
    elif high:
        first, second = tried[:2]
    else:
        second, first = tried[-2:]
    rise = math.log(max(0.5, sizes[second]) / max(0.5, sizes[first]))
    slope = rise / math.log(second / first) if rise else -0.6
    guesses = []
    for share in (0.25, 0.75):
        goal = fewest + share * (largest - fewest)
        guesses.append(first * (goal / max(0.5, sizes[first])) ** (1 / slope))
    # A line may mislead: at least one guess goes some of the way, whatever the sizes are.
    if low and high:
        margin = (high / low) ** 0.05
        guesses = [min(max(guess, low * margin), high / margin) for guess in guesses]
        if high > 2 * low:
            guesses[0] = math.sqrt(low * high)
    elif high:
        guesses = [max(guesses[0], high / 8), min(max(guesses[1], high / 8), high / 1.25)]
    else:
        guesses = [max(min(guesses[0], low * 8), low * 1.25), min(guesses[1], low * 8)]
    probes = set()
    for guess in guesses:
        upper = high - 1 if high else round(guess) + 1
        probes.add(min(max(round(guess), low + 1), upper))
    if len(probes) == 1:
        probes.add(max(low + 1, min(probes) - 1))
    return sorted(probes - sizes.keys())


def _learn_with_threshold(words: list[tuple[str, int]], threshold: int) -> list[str]:
    """Returns the learner's pieces of more than one character, the most common first; runs in the
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
    # The learner makes millions of strings in dicts, and no cycles among them.
    gc.disable()
    try:
        pieces = learner.learn_with_thresh(words, threshold, params)
    finally:
        gc.enable()
    # Single characters are in every vocabulary already.
    return [piece for piece in pieces if len(piece.removeprefix("##")) > 1]


@functools.cache
def load_learner() -> types.ModuleType:
    """Returns tensorflow_text's module `wordpiece_tokenizer_learner_lib`, without TensorFlow."""
    # Loaded by its path: importing the package would import TensorFlow, which takes longer than
    # learning a small vocabulary and can't be shared with forked workers. The module itself needs
    # numpy only.
    package = importlib.util.find_spec("tensorflow_text")
    if package is None:
        raise needs_package("learning a vocabulary", "tensorflow_text")
    path = os.path.join(package.submodule_search_locations[0], *_LEARNER)
    spec = importlib.util.spec_from_file_location("wordpiece_tokenizer_learner_lib", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
