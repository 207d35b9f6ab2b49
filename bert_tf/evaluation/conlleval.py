"""Scores of entities, and the report of CoNLL's official scorer, `conlleval.pl` of 2004-01-26, byte
for byte.

Input: the right chunks of the W words of all sentences, concatenated, and the predicted ones; both
may be of any tags, which `data_gen/labeled/tag_schemes.py` reads by the script's rules. Output:
counts, scores, the report, and confusions of types.
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np

from data_gen.labeled.tag_schemes import Chunks

# Stands for the type where only one side has an entity.
NO_ENTITY = "(none)"


@dataclasses.dataclass(frozen=True)
class ChunkCounts:
    """Counts that the scores are computed from.

    Attributes:
      tokens: number of words.
      correct_tags: number of words whose tag is right.
      gold, guessed, correct: type → number of right chunks, of predicted chunks, and of predicted
        chunks that are right.
    """

    tokens: int
    correct_tags: int
    gold: Counter[str]
    guessed: Counter[str]
    correct: Counter[str]

    def overall(self) -> tuple[float, float, float]:
        """Returns precision, recall and F1 of all types together, in percent."""
        return scores(self.correct.total(), self.guessed.total(), self.gold.total())

    def of_type(self, name: str) -> tuple[float, float, float]:
        """Returns precision, recall and F1 of a type, in percent."""
        return scores(self.correct[name], self.guessed[name], self.gold[name])


def count_chunks(gold: Chunks, guess: Chunks, correct_tags: int) -> ChunkCounts:
    """Counts chunks; a predicted one is right if borders and type are."""
    # Sets of spans: borders and type must agree.
    gold_spans = named_spans(gold)
    guessed_spans = named_spans(guess)
    return ChunkCounts(
        tokens=len(gold.types),
        correct_tags=correct_tags,
        gold=_count_types(gold_spans),
        guessed=_count_types(guessed_spans),
        correct=_count_types(gold_spans & guessed_spans),
    )


def report(counts: ChunkCounts) -> str:
    """Returns the report that the script prints."""
    percentages = "precision: %6.2f%%; recall: %6.2f%%; FB1: %6.2f"
    # Byte for byte as the script prints it, also its odd blanks.
    lines = [
        f"processed {counts.tokens} tokens with {counts.gold.total()} phrases; found: "
        f"{counts.guessed.total()} phrases; correct: {counts.correct.total()}.\n"
    ]
    if counts.tokens:
        accuracy = 100 * counts.correct_tags / counts.tokens
        lines.append(f"accuracy: {accuracy:6.2f}%; {percentages % counts.overall()}\n")
    for name in sorted({*counts.gold, *counts.guessed}):
        # Perl pads to 17 bytes, not characters.
        padding = " " * (17 - len(name.encode()))
        values = percentages % counts.of_type(name)
        lines.append(f"{padding}{name}: {values}  {counts.guessed[name]}\n")
    return "".join(lines)


def scores(correct: int, guessed: int, gold: int) -> tuple[float, float, float]:
    """Returns precision, recall and F1, in percent, from counts of chunks; 0 if undefined."""
    # Nothing is correct without a chunk on both sides, so the denominators may be 1 then.
    precision = 100 * correct / max(guessed, 1)
    recall = 100 * correct / max(gold, 1)
    if not correct:
        return precision, recall, 0.0
    return precision, recall, 2 * precision * recall / (precision + recall)


def surface_scores(words: Sequence[str], gold: Chunks, guess: Chunks) -> tuple[float, float, float]:
    """Returns precision, recall and F1 of the different (surface form, type) pairs, in percent, as
    WNUT-17 scores them.

    An entity counts once however often it is mentioned, so that rare entities count as much as
    frequent ones.
    """
    gold_forms = _surface_forms(words, gold)
    guessed_forms = _surface_forms(words, guess)
    return scores(len(gold_forms & guessed_forms), len(guessed_forms), len(gold_forms))


def type_confusion(gold: Chunks, guess: Chunks) -> tuple[np.ndarray, list[str]]:
    """Returns the confusions of types.

    Returns:
      matrix: int64 [C, C], rows the right type, columns the predicted one, of entities with the
        same borders; an entity that only one side has is in the row or the column of `NO_ENTITY`,
        the last one.
      names: of the C classes.
    """
    names = [*sorted({*gold.type_names, *guess.type_names}), NO_ENTITY]
    # Borders → [right type, predicted type].
    types: dict[tuple[int, int], list[str]] = {}
    for side, chunks in enumerate((gold, guess)):
        for first, end, name in named_spans(chunks):
            types.setdefault((first, end), [NO_ENTITY, NO_ENTITY])[side] = name
    matrix = np.zeros((len(names), len(names)), np.int64)
    for right, predicted in types.values():
        matrix[names.index(right), names.index(predicted)] += 1
    return matrix, names


def named_spans(chunks: Chunks) -> set[tuple[int, int, str]]:
    """Returns first word, end (exclusive) and type of every chunk."""
    return {(first, end, chunks.type_names[kind]) for first, end, kind in chunks.spans().tolist()}


def _count_types(spans: set[tuple[int, int, str]]) -> Counter[str]:
    """Returns type → number of spans."""
    counts: Counter[str] = Counter()
    for _, _, name in spans:
        counts[name] += 1
    return counts


def _surface_forms(words: Sequence[str], chunks: Chunks) -> set[tuple[str, str]]:
    """Returns the different pairs of surface form and type."""
    forms = set()
    for first, end, name in named_spans(chunks):
        forms.add((" ".join(words[first:end]), name))
    return forms
