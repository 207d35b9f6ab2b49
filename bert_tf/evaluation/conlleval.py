"""Scores of entities: the report of CoNLL's official scorer, `conlleval.pl` of 2004-01-26, byte for
byte, and more.

Input: the right chunks of the W words of all sentences, concatenated, and those found; both may be
of any tags, which `data_gen/labelled/tag_schemes.py` reads by the script's rules. Output: the
report, that of seqeval, scores of surface forms, confusions of types, and the sentences with the
most errors.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from data_gen.labelled.tag_schemes import Chunks

# What an entity is confused with where there is none between the same words.
NO_ENTITY = "(none)"


@dataclasses.dataclass(frozen=True)
class ChunkCounts:
    """Counts that the scores are made of.

    Attributes:
      tokens, correct_tags: words, and those whose tag is right.
      gold, guessed, correct: type → number of chunks: right ones, found ones, and found ones that
        are right.
    """

    tokens: int
    correct_tags: int
    gold: Counter[str]
    guessed: Counter[str]
    correct: Counter[str]

    def overall(self) -> tuple[float, float, float]:
        """Precision, recall and F1 of all types together, in percent."""
        return scores(self.correct.total(), self.guessed.total(), self.gold.total())

    def of_type(self, name: str) -> tuple[float, float, float]:
        """Precision, recall and F1 of a type, in percent."""
        return scores(self.correct[name], self.guessed[name], self.gold[name])

    def types(self) -> list[str]:
        """The types there are, sorted."""
        return sorted({*self.gold, *self.guessed})


def count_chunks(gold: Chunks, guess: Chunks, correct_tags: int) -> ChunkCounts:
    """Counts chunks; one is right where borders and type are."""
    there, found = _named_spans(gold), _named_spans(guess)
    return ChunkCounts(
        len(gold.types),
        correct_tags,
        *(Counter(name for _, _, name in spans) for spans in (there, found, there & found)),
    )


def report(counts: ChunkCounts) -> str:
    """The report that the script prints."""
    shown = "precision: %6.2f%%; recall: %6.2f%%; FB1: %6.2f"
    lines = [
        f"processed {counts.tokens} tokens with {counts.gold.total()} phrases; found: {counts.guessed.total()} "
        f"phrases; correct: {counts.correct.total()}.\n"
    ]
    if counts.tokens:
        lines.append(
            f"accuracy: {100 * counts.correct_tags / counts.tokens:6.2f}%; {shown % counts.overall()}\n"
        )
    for name in counts.types():
        # To 17 bytes, as Perl counts them.
        padding = " " * (17 - len(name.encode()))
        lines.append(f"{padding}{name}: {shown % counts.of_type(name)}  {counts.guessed[name]}\n")
    return "".join(lines)


def scores(correct: int, guessed: int, gold: int) -> tuple[float, float, float]:
    """Precision, recall and F1, in percent, of counts of chunks."""
    precision = 100 * correct / guessed if guessed else 0.0
    recall = 100 * correct / gold if gold else 0.0
    return (
        precision,
        recall,
        2 * precision * recall / (precision + recall) if precision + recall else 0.0,
    )


def surface_scores(words: Sequence[str], gold: Chunks, guess: Chunks) -> tuple[float, float, float]:
    """Precision, recall and F1 of the different (surface form, type) pairs, in percent, as WNUT-17
    scores them.

    An entity counts once however often it is mentioned: what is measured is the breadth of what is
    found.
    """
    there, found = (
        {(" ".join(words[first:last]), name) for first, last, name in _named_spans(chunks)}
        for chunks in (gold, guess)
    )
    return scores(len(there & found), len(found), len(there))


def seqeval_report(counts: ChunkCounts, digits: int = 4) -> str:
    """The report of `seqeval.metrics.classification_report` in its default mode."""
    names = counts.types()
    rows = [(name, *counts.of_type(name), counts.gold[name]) for name in names]
    support = counts.gold.total()
    values = np.array([row[1:4] for row in rows]).reshape(-1, 3)
    weights = np.array([counts.gold[name] for name in names], np.float64)
    weighted = values.T @ weights / support if support else np.zeros(3)
    rows += [
        ("micro avg", *counts.overall(), support),
        ("macro avg", *(values.mean(0) if names else (0, 0, 0)), support),
        ("weighted avg", *weighted, support),
    ]
    width = max(digits, *(len(row[0]) for row in rows))
    lines = [f"{'':>{width}}  {'precision':>9} {'recall':>9} {'f1-score':>9} {'support':>9}", ""]
    for number, (name, precision, recall, f1, size) in enumerate(rows):
        if number == len(names):
            lines.append("")
        shown = " ".join(f"{value / 100:>9.{digits}f}" for value in (precision, recall, f1))
        lines.append(f"{name:>{width}}  {shown} {size:>9}")
    return "\n".join(lines) + "\n"


def type_confusion(gold: Chunks, guess: Chunks) -> tuple[np.ndarray, list[str]]:
    """Confusions of types.

    Returns:
      matrix: int64 [C, C], rows the right type, columns the guess, of entities with the same
        borders; an entity that only one of them has is in the row or the column of `NO_ENTITY`, the
        last one.
      names: of the C classes.
    """
    names = sorted({*gold.type_names, *guess.type_names})
    number = {name: place for place, name in enumerate(names)}
    gold_types, guess_types = (
        {(first, last): number[name] for first, last, name in _named_spans(chunks)}
        for chunks in (gold, guess)
    )
    matrix = np.zeros((len(names) + 1, len(names) + 1), np.int64)
    for span in gold_types.keys() | guess_types.keys():
        matrix[gold_types.get(span, len(names)), guess_types.get(span, len(names))] += 1
    return matrix, [*names, NO_ENTITY]


def worst_sentences(
    words: Sequence[str],
    row_lengths: np.ndarray,
    gold: Chunks,
    guess: Chunks,
    most: int,
    where: Callable[[int], str],
) -> str:
    """The sentences with the most errors, the worst first: two lines each, with the right entities
    and those found.

        3 errors  dev.txt:12
          right: [PER Jane Austen] was born in [LOC Steventon] .
          found: [ORG Jane] Austen was born in Steventon .

    `where`: number of a word → its `file:line`.
    """
    ends = np.cumsum(row_lengths)
    # Entities that are missing plus entities that are wrong.
    firsts = np.array([first for first, _, _ in _named_spans(gold) ^ _named_spans(guess)], np.int64)
    errors = np.bincount(np.searchsorted(ends, firsts, side="right"), minlength=len(row_lengths))
    blocks = []
    for sentence in np.argsort(-errors, kind="stable")[:most].tolist():
        if not errors[sentence]:
            break
        span = int(ends[sentence] - row_lengths[sentence]), int(ends[sentence])
        blocks.append(
            f"{errors[sentence]} error{'s' if errors[sentence] > 1 else ''}  {where(span[0])}\n"
            f"  right: {_bracketed(words, gold, *span)}\n  found: {_bracketed(words, guess, *span)}\n"
        )
    return "\n".join(blocks)


def _named_spans(chunks: Chunks) -> set[tuple[int, int, str]]:
    return {(first, last, chunks.type_names[kind]) for first, last, kind in chunks.spans().tolist()}


def _bracketed(words: Sequence[str], chunks: Chunks, first: int, last: int) -> str:
    parts = []
    for place in range(first, last):
        opening = f"[{chunks.type_names[chunks.types[place]]} " if chunks.starts[place] else ""
        parts.append(f"{opening}{words[place]}{']' if chunks.ends[place] else ''}")
    return " ".join(parts)
