"""Columns of a file of rows, with the line that each row begins on, and what their values mean.

Input: rows that `named_columns.py` has read. Output: `Table`, whose columns the readers of this
package interpret as texts, scores and labels.
"""

import ast
import dataclasses
import json
import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bert_common.errors import UserError
from data_gen.labeled.rows import File, SourceFile, listed, quoted

# float() accepts more than this, e.g. 1_0 and the digits of all scripts.
_COMMA = re.compile(r"[-+]?[0-9]+,([0-9]+)")
_NUMBER = re.compile(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*")


class Layout(NamedTuple):
    """The columns to read of a TSV or CSV file.

    Attributes:
      names: name of each column, for the caller.
      numbers: number of each column in the file, from 0.
      has_header: the first row is a header, not an example.
      delimiter: between the fields of the file.
      is_all_quoted: every field of its first row is in quotation marks.
    """

    names: Sequence[str]
    numbers: Sequence[int]
    has_header: bool
    delimiter: str = ","
    is_all_quoted: bool = False


def check_twins(path: str, layout: Layout, header: Sequence[str]) -> None:
    """Raises `UserError` if two columns of a file have the name of one that is read."""
    if not layout.has_header:
        return
    names = [value.strip() for value in header]
    for number in layout.numbers:
        count = names.count(names[number])
        if count > 1 and names[number]:
            raise UserError(
                f"{path}:1: {count} columns are called {quoted(names[number])}: rename all but one"
            )


@dataclasses.dataclass(frozen=True)
class Table:
    """Some columns of a file with E rows, bad rows included.

    Attributes:
      source: the file and the faults of its rows; callers add what they find in the columns.
      lines: [E], the line (from 1) that each row begins on.
      names: names of the columns.
      columns: in the same order, each a list of E values: str, or any JSON value in JSON lines. The
        values of a bad row are arbitrary.
    """

    source: SourceFile
    lines: Sequence[int]
    names: Sequence[str]
    columns: list[list]

    def numbers(self) -> list[str]:
        """Returns "0", "1", …: ids for the rows of a file that has none."""
        return [str(value) for value in range(len(self.lines))]

    def refuse(self, row: int, fault: str) -> None:
        """Records a fault of a row."""
        self.source.add(self.lines[row], fault)

    def resolve(self, examples: File) -> File:
        """Returns the examples made of the rows, without the bad ones; see `SourceFile.resolve`."""
        return self.source.resolve(examples, self.lines)

    def note_repeated_ids(self, ids: Sequence[str]) -> None:
        """Notes how many rows have the id of an earlier one, if any has."""
        row_of_id: dict[str, int] = {}
        repeated = [row for row, id in enumerate(ids) if row_of_id.setdefault(id, row) != row]
        if repeated:
            where = f"{self.source.unit} {self.lines[repeated[0]]}"
            self.source.guesses.append(repeated_ids(len(repeated), ids[repeated[0]], where))

    def check_strings(self, values: list, column: str, may_be_empty: bool = True) -> None:
        """Refuses rows whose value is not a string (JSON may hold anything), or is empty.

        Values that are not strings are replaced by "" in `values`.
        """
        for row, value in enumerate(values):
            if type(value) is not str:
                self.refuse(row, f"{quoted(column)} must be a string, not {quoted(value)}")
                # Later steps may rely on strings, although the row is refused.
                values[row] = ""
            elif not may_be_empty and not value.strip():
                self.refuse(
                    row,
                    f"the text is empty (column {quoted(column)}): remove the row or fill it in",
                )

    def scores(self, values: list) -> np.ndarray:
        """Returns the values as float32 [E]; refuses rows without a finite number.

        Spreadsheets in many languages write decimal commas.
        """
        texts = [value.strip() for value in values if type(value) is str]
        decimals = [_COMMA.fullmatch(text) for text in texts]
        # In 1,234 a comma may stand between thousands.
        has_decimals = any(match and len(match[1]) != 3 for match in decimals)
        if has_decimals and not any("." in text for text in texts):
            self.source.guesses.append("the scores have decimal commas: 0,5 is read as 0.5")
            values = [value.replace(",", ".") if type(value) is str else value for value in values]
        scores = np.zeros(len(values), np.float32)
        for row, value in enumerate(values):
            number = _parse_number(value)
            # The bound keeps float32 finite, and NaN fails the comparison.
            if abs(number) < 1e38:
                scores[row] = number
            else:
                self.refuse(row, f"the score {quoted(value)} is not a finite number")
        return scores

    def label_sets(self, values: list, separator: str | None = None) -> list[list[str]]:
        """Returns the labels of each example; none for a row that is refused.

        Args:
          separator: None for one label per example. Otherwise an example has any number: a string
            is split at separators, and a list holds one label per element, or 0 and 1 for each
            class, which are then called "0", "1", …  Empty parts are dropped.
        """
        sets: list[list[str]] = []
        if separator is not None:
            values = [_split_labels(value, separator) for value in values]
            if _are_indicators(values):
                self.source.guesses.append(
                    f"lists of {len(values[0])} numbers 0 and 1: a 1 marks a label of the example"
                )
                return [_numbers_of_ones(parts) for parts in values]
        for row, value in enumerate(values):
            # doccano writes a single label as a list, too.
            is_list = separator is not None or (type(value) is list and len(value) == 1)
            parts = value if is_list else [value]
            names = []
            for part in parts:
                if type(part) is str:
                    names.append(part.strip())
                # JSON spells True as true, which is also how a reader of the file would write it.
                elif type(part) in (int, bool):
                    names.append(json.dumps(part))
                else:
                    self.refuse(
                        row,
                        f"a label must be a string or a whole number, not {quoted(part)} (for "
                        "scores give --regression, for several labels --multi_label)",
                    )
                    names = []
                    break
            # A separator never leaves empty parts, so that this is a row without a label.
            if "" in names:
                self.refuse(row, "the label is empty")
                names = []
            sets.append(names)
        return sets

    def marked_columns(self, columns: Sequence[list], names: Sequence[str]) -> list[list[str]]:
        """Returns the names of the columns that hold 1 for each example, and not 0.

        Args:
          columns: K lists of E values.
          names: of the K columns.
        """
        sets: list[list[str]] = [[] for _ in self.lines]
        for name, values in zip(names, columns, strict=True):
            for row, value in enumerate(values):
                number = _parse_number(int(value) if type(value) is bool else value)
                if number == 1:
                    sets[row].append(name)
                elif number != 0:
                    self.refuse(row, f"0 or 1 is expected, not {quoted(value)} (column {name})")
        return sets

    def label_numbers(
        self,
        sets: list[list[str]],
        labels: Sequence[str],
        several: bool = False,
        ignore_case: bool = False,
    ) -> np.ndarray:
        """Returns positions in `labels`; refuses rows with any other label.

        Returns:
          int32 [E]; if examples may have several labels, uint8 [E, C] with 1 for each of them.
        """
        # A dictionary, as some tasks have thousands of classes.
        number_of_label = {label: number for number, label in enumerate(labels)}
        if ignore_case:
            folded = {label.casefold(): number for number, label in enumerate(labels)}
        else:
            folded = {}
        numbers: np.ndarray
        if several:
            numbers = np.zeros((len(sets), len(labels)), np.uint8)
        else:
            numbers = np.zeros(len(sets), np.int32)
        for row, names in enumerate(sets):
            for name in names:
                number = number_of_label.get(name, folded.get(name.casefold()))
                if number is None:
                    self.refuse(
                        row,
                        f"the label {quoted(name)} is not known; the labels are {listed(labels)}",
                    )
                elif several:
                    numbers[row, number] = 1
                else:
                    numbers[row] = number
        return numbers


def repeated_ids(count: int, id: object, where: str) -> str:
    """Returns the remark on rows with the id of an earlier one, of which the first is named."""
    return (
        f"{count:,} rows have the id of an earlier one, the first is {quoted(id)} in {where}: "
        "predictions can't be told apart by it"
    )


def _parse_number(value: object) -> float:
    """Returns the number that a string or a JSON value holds, or NaN."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value)
    if isinstance(value, float):
        return value
    # A larger int may not fit into a float. True and False are int, but no scores.
    if type(value) is int and abs(value) < 1 << 127:
        return float(value)
    return math.nan


def _split_labels(value: object, separator: str) -> list:
    """Returns the labels in a string with separators or in a list, without empty ones."""
    if isinstance(value, str) and re.fullmatch(r"\s*\[.*\]\s*", value):
        # CSV holds lists as Python or JSON spells them, or without quotation marks.
        text = value.strip()
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            value = text[1:-1]
    if isinstance(value, str):
        return list(filter(str.strip, value.split(separator)))
    if not isinstance(value, list):
        return [value]
    return [part for part in value if not isinstance(part, str) or part.strip()]


def _are_indicators(rows: list[list]) -> bool:
    """Returns whether each list holds 0 or 1 for every class: a list of labels repeats none."""
    repeats = False
    for parts in rows:
        if len(parts) != len(rows[0]) or not all(part in (0, 1) for part in parts):
            return False
        repeats = repeats or len(set(parts)) < len(parts)
    return repeats and len(rows[0]) > 1


def _numbers_of_ones(parts: list) -> list[str]:
    return [str(number) for number, part in enumerate(parts) if part == 1]
