"""Labeled texts made of the columns of a file.

    columns = {"text_a_column": "text", "label_column": "label"}
    train = read_labeled_file(SourceFile("train.csv", "train_file"), **columns)
    source = SourceFile("dev.csv", "dev_file")
    dev = read_labeled_file(source, **columns, labels=train.label_names)

Input: a file in one of `row_formats.FORMATS`. Output: `LabeledTexts`, for `pair_features.py`. The
official GLUE files are read by `glue.py`.
"""

import dataclasses
import itertools
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np

from bert_common.errors import UserError
from data_gen.labeled.column_kinds import SCORES, kind_of
from data_gen.labeled.named_columns import COLUMN_NUMBER, read_named_columns
from data_gen.labeled.rows import LabeledFile, SourceFile, items_of, listed, quoted
from data_gen.labeled.table import Table

# Labels of examples without one: numbers of data sets of the hub and of losses, and pandas' words.
_NO_NUMBER = ("-1", "-100")
_MISSING = {"nan", "NaN", "<NA>"}
_WHOLE_NUMBER = re.compile(r"[-+]?[0-9]{1,18}")


class UnusableRow(NamedTuple):
    """A row of a file to predict that has no usable text.

    Attributes:
      number: of the row in the file, from 0.
      id: as in the other rows.
      reason: what is wrong with it.
    """

    number: int
    id: str
    reason: str


@dataclasses.dataclass(frozen=True)
class LabeledTexts(LabeledFile):
    """The E examples of one split.

    Attributes:
      ids: id of each example in outputs: GLUE's "index" (QQP's "id") if the file has one, else the
        number of its row, "0", "1", …
      text_b: second texts, "" for an example without one; None for a task of single sentences.
      labels: int32 [E], class numbers; float32 [E], scores, for regression; uint8 [E, C], 1 for
        each class of an example, for several labels; None for an unlabeled split.
      label_names: names of the C classes.
      unusable: rows of the file that are no examples, if predictions have a line for them, too.
    """

    ids: list[str]
    text_a: list[str]
    text_b: list[str] | None
    labels: np.ndarray | None
    label_names: tuple[str, ...] = ()
    unusable: tuple[UnusableRow, ...] = ()
    _example_fields = ("ids", "text_a", "text_b", "labels")

    def first(self, count: int | None) -> Self:
        examples = super().first(count)
        # The number of examples before an unusable row: one after the last example is left out.
        unusable = []
        for index, row in enumerate(self.unusable):
            if len(examples) == len(self) or row.number - index < len(examples):
                unusable.append(row)
        return dataclasses.replace(examples, unusable=tuple(unusable))

    def in_file_order(self) -> Iterator[int | UnusableRow]:
        """Yields the number of each example, with the unusable rows at their places."""
        unusable = list(self.unusable)
        for example in range(len(self)):
            while unusable and unusable[0].number == example + len(self.unusable) - len(unusable):
                yield unusable.pop(0)
            yield example
        yield from unusable

    def inputs(self) -> Iterable[tuple[str, ...]]:
        if self.text_b is None:
            return zip(self.text_a, strict=True)
        return zip(self.text_a, self.text_b, strict=True)

    def groups(self) -> list[str]:
        return self.text_a

    def strata(self) -> list | None:
        if self.labels is None or self.labels.dtype != np.int32:
            return None
        return self.labels.tolist()


def read_labeled_file(
    source: SourceFile,
    *,
    text_a_column: str,
    text_b_column: str | None = None,
    label_column: str | None = None,
    labels: Sequence[str] | None = None,
    order: Callable[[list[str]], Sequence[str]] = list,
    ignore_case: bool = False,
    regression: bool = False,
    separator: str | None = None,
    label_columns: Sequence[str] = (),
    id_column: str | None = None,
    keep_unusable: bool = False,
) -> LabeledTexts:
    """Reads a file of examples; the columns are found as by `read_named_columns`.

    Args:
      source: a file in one of `FORMATS`.
      text_a_column, text_b_column, label_column: names of columns. An example with an empty second
        text has one text.
      labels: the classes; the number of a label is its position. None for the labels in the file,
        sorted, by value if all are whole numbers. White space around labels is dropped.
      order: gets the sorted classes of the file and returns them in the order of their numbers.
      ignore_case: find a label of the file in `labels` also by another spelling of its case.
      separator: character between several labels of an example; None if each has one. In JSON
        lines the labels may also be a list.
      label_columns: in place of `label_column`, a column of 0 and 1 for each class.
      id_column: column of the ids; None for the numbers of the rows.
      keep_unusable: bad rows are no error but `LabeledTexts.unusable`, unless all are bad.

    Raises:
      UserError: names file and lines: as `read_named_columns`; an empty first text; a label that is
        not in `labels` or not a finite number. If the file gives the classes: fewer than
        two, or none where an example may have several; or the first row of a file that is read by
        column numbers looks like a header.
    """
    named = [(text_a_column, "text_a_column")]
    if text_b_column is not None:
        named.append((text_b_column, "text_b_column"))
    num_texts = len(named)
    if label_column is not None:
        named.append((label_column, "label_column"))
    named += [(name, "label_columns") for name in label_columns]
    if id_column is not None:
        named.append((id_column, "id_column"))
    table = read_named_columns(source, named)
    ids = _take_ids(table, has_ids=id_column is not None)
    # The columns are in the order of `named`: texts, then the labels.
    text_a = table.columns[0]
    table.check_strings(text_a, text_a_column, may_be_empty=False)
    text_b = None
    if num_texts == 2:
        text_b = table.columns[1]
        table.check_strings(text_b, named[1][0])
    numbers = None
    if label_columns:
        sets = table.marked_columns(table.columns[num_texts:], label_columns)
        labels = order(list(label_columns)) if labels is None else labels
        numbers = table.label_numbers(sets, labels, several=True)
    elif label_column is not None and regression:
        numbers = table.scores(table.columns[-1])
    elif label_column is not None:
        sets = table.label_sets(table.columns[-1], separator)
        if labels is None:
            labels = order(_find_classes(table, sets, label_column, separator is not None))
        numbers = table.label_numbers(sets, labels, separator is not None, ignore_case)
    texts = LabeledTexts(
        path=source.path,
        ids=ids,
        text_a=text_a,
        text_b=text_b,
        labels=numbers,
        label_names=tuple(() if labels is None else labels),
    )
    if keep_unusable and table.source.faults:
        return _with_unusable_rows(texts, table)
    return table.resolve(texts)


def _with_unusable_rows(texts: LabeledTexts, table: Table) -> LabeledTexts:
    """Returns the good rows as examples, and the bad ones beside them."""
    # All rows but one may be bad: none of them is lost.
    table.source.skip_bad_rows = max(len(texts) - 1, 1)
    good = table.source.good_rows(table.lines)
    guesses = [f"{texts.path}: {guess}" for guess in table.source.guesses]
    bad = np.setdiff1d(np.arange(len(texts)), good)
    unusable = []
    # The faults are one for each bad row now, in their order.
    for row, (line, fault) in zip(bad.tolist(), table.source.faults.items(), strict=True):
        unusable.append(UnusableRow(row, texts.ids[row], f"{table.source.unit} {line}: {fault}"))
    note = (
        f"{texts.path}: {len(unusable):,} of {len(texts):,} rows can't be predicted and have the "
        f"reason in place of a label; the first is {unusable[0].reason}"
    )
    return dataclasses.replace(texts.take(good), unusable=tuple(unusable), notes=(*guesses, note))


def _take_ids(table: Table, has_ids: bool) -> list[str]:
    """Returns the ids in the last column, which is removed; else the numbers of the rows."""
    if not has_ids:
        return table.numbers()
    ids = []
    # Removing the last column keeps the positions of the others, and the labels stay the last.
    for value in table.columns.pop():
        if not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False)
        ids.append(value)
    table.note_repeated_ids(ids)
    return ids


def _refuse_unlabeled(table: Table, sets: list[list[str]]) -> None:
    """Refuses the rows of labels that other programs write where there is none, such as -1."""
    names = set(itertools.chain.from_iterable(sets)).difference(_NO_NUMBER, _MISSING, "-")
    are_numbers = all(_WHOLE_NUMBER.fullmatch(name) for name in names)
    # Two classes may be called -1 and 1.
    unlabeled = _MISSING if are_numbers and "0" not in names else {*_NO_NUMBER, *_MISSING}
    # Annotators of SNLI, its translations and OCNLI disagree; beside + it is a class, or beside a
    # single other name.
    if len(names) > 1 and "+" not in names:
        unlabeled = unlabeled | {"-"}
    for row, labels in enumerate(sets):
        if len(labels) == 1 and labels[0] in unlabeled:
            table.refuse(
                row,
                f"the label {labels[0]} means that there is none: remove the row; if it is a "
                "class, give the classes names",
            )


def _find_classes(
    table: Table, sets: list[list[str]], label_column: str, several: bool
) -> list[str]:
    """Returns the labels of the good rows, sorted, by value if all are whole numbers.

    Args:
      sets: the labels of each row.
      several: an example may have several labels.
    """
    path = table.source.path
    if not several:
        _refuse_unlabeled(table, sets)
    # The label of a refused row must not become a class.
    good_sets = items_of(sets, table.source.good_rows(table.lines))
    counts = Counter(itertools.chain.from_iterable(good_sets))
    column = f"(column {quoted(label_column)})"
    if not counts:
        raise UserError(f"{path}: no example has a label {column}")
    if len(counts) < 2 and not several:
        raise UserError(
            f"{path}: every example has the label {quoted(good_sets[0][0])}: at least two classes "
            f"are expected {column}"
        )
    # In a file that is read by column numbers a header would pass for an example and add a class:
    # its label is the only one that occurs once.
    if COLUMN_NUMBER.fullmatch(label_column) and table.lines[0] == 1:
        once = [label for label, count in counts.items() if count == 1]
        if len(counts) > 1 and once == good_sets[0]:
            raise UserError(
                f"{path}:1: the label {quoted(once[0])} occurs nowhere else: this looks like a "
                "header. Name the columns as it does, or remove it"
            )
    # Sorted, the numbers of the classes don't depend on the order of the rows.
    classes = sorted(counts)
    # An accent may be a part of its letter, or a character of its own: both look alike.
    composed = {unicodedata.normalize("NFC", name).casefold() for name in classes}
    if len(composed) < len(classes):
        table.source.guesses.append(
            f"some of the {len(classes)} classes differ in their case only, or in how accents are "
            f"written: {listed(classes[:9])}"
        )
    # Scores in quotation marks would make a class of every number.
    if kind_of(counts) == SCORES:
        example = next(name for name in reversed(classes) if kind_of([name]) == SCORES)
        if "," in example:
            hint = " (also with decimal commas), --multi_label for several labels of an example"
        else:
            hint = ""
        raise UserError(
            f"{path}: the labels are numbers such as {example} {column}: give --regression for "
            f"scores{hint}; classes need names that are no decimal numbers"
        )
    if all(_WHOLE_NUMBER.fullmatch(value) for value in classes):
        # By their text 10 would come before 2.
        classes.sort(key=int)
    return classes
