"""Multiple-choice questions: the files of SWAG, HellaSwag and CODAH, and custom files.

    train = read_swag(SourceFile("swag/train.csv", "train_file"))
    text_a, text_b = train.pairs()      # a pair for every choice

Input: files of the formats of `row_formats.py`, compressed or not, on any file system. Output:
`ChoiceQuestions`, whose pairs `pair_features.py` encodes as sequences.

Source: section 4.4 of the paper: one sequence per choice, the given sentence (A) and a possible
continuation (B).
"""

import dataclasses
import functools
import math
import re
import string
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from bert_common.errors import UserError
from data_gen.labeled.named_columns import read_named_columns, read_table
from data_gen.labeled.row_formats import format_of
from data_gen.labeled.rows import LabeledFile, SourceFile, no_column, quoted
from data_gen.labeled.table import Layout, Table

FEWEST_CHOICES = 2
MOST_CHOICES = 26
# Kind of labels that are numbers from 1.
_FROM_1 = "number"
LABEL_KINDS = ("auto", "index", _FROM_1, "letter", "text")
NUMBERED = ("index", _FROM_1)
# Probability that the first choice is never the right one, below which it is taken for an error.
_UNLIKELY = 1e-2
_PREDICT_ONLY = "A file without labels can be predicted (--do_predict), not trained or evaluated on"
# Placeholders for a label in copies of test sets that have the column.
_NO_LABEL = {"", "-1", "None"}
# SWAG has four endings, and files in its columns may have any number.
_ENDING = re.compile(r"ending\d+")
_QUOTED = re.compile('".*"', re.DOTALL)


@dataclasses.dataclass(frozen=True)
class ChoiceQuestions(LabeledFile):
    """The E questions of one split, in file order.

    Attributes:
      ids: unique id of each question in outputs; the number of its row, from 0, if the file has
        none.
      contexts: E texts that come before the questions; "" for none.
      questions: E texts: a question, or the beginning of the sentence that the choices end; "" for
        none.
      choices: 2 to 26 texts per question.
      labels: int32 [E], numbers of the right choices; None for an unlabeled split.
      label_kind: how the labels of the file name the right choice, see `read_custom`.
    """

    ids: list[str]
    contexts: list[str]
    questions: list[str]
    choices: list[tuple[str, ...]]
    labels: np.ndarray | None
    label_kind: str = "index"
    _example_fields = ("ids", "contexts", "questions", "choices", "labels")

    def inputs(self) -> Iterable[tuple[str, ...]]:
        for context, question, choices in zip(
            self.contexts, self.questions, self.choices, strict=True
        ):
            yield context, question, *choices

    def groups(self) -> list[str | int]:
        """Returns the context of each question, or its number if it has none."""
        return [context or row for row, context in enumerate(self.contexts)]

    @property
    def num_choices(self) -> np.ndarray:
        """Number of choices of each question, int64 [E]."""
        return np.array([len(value) for value in self.choices], np.int64)

    def pairs(self) -> tuple[list[str], list[str]]:
        """Returns first and second texts of all choices, question by question; see `pair`."""
        first_texts = []
        second_texts = []
        for context, question, choices in zip(
            self.contexts, self.questions, self.choices, strict=True
        ):
            for choice in choices:
                first, second = pair(context, question, choice)
                first_texts.append(first)
                second_texts.append(second)
        return first_texts, second_texts


class ChoiceColumns(NamedTuple):
    """Names of the columns or keys of a file of questions.

    If all are numbers, they are columns of a file without a header.

    Attributes:
      choices: a column for each choice, or one key.
      label: None for an unlabeled file.
    """

    choices: Sequence[str]
    question: str | None = None
    context: str | None = None
    label: str | None = None
    id: str | None = None


def pair(context: str, question: str, choice: str) -> tuple[str, str]:
    """Returns the two segments of a choice.

    These are the context, and the question followed by the choice; without a context the question,
    and the choice.
    """
    if not context:
        return question, choice
    # The beginning of a sentence and its ending form one segment.
    return context, f"{question} {choice}" if question else choice


def read_swag(source: SourceFile, needs_labels: bool = True) -> ChoiceQuestions:
    """Reads a file in SWAG's columns: `sent1`, `sent2`, `ending0`, `ending1`, … and `label`.

    It is CSV, unless its extension shows another format. The first column, whose header is empty,
    is the id.

    Raises:
      UserError: names file and lines, see `named_columns.py` and `_questions`.
    """
    locate = functools.partial(_locate_swag, source, needs_labels)
    file_format = format_of(source.path) or "csv"
    table = read_table(source, file_format, locate, use_class_names=False)
    columns = dict(zip(table.names, table.columns, strict=True))
    for name, values in columns.items():
        if name not in ("", "label"):
            _strings(table, values, name)
    # The columns have the order of `_locate_swag`, so that the endings are sorted.
    endings = [values for name, values in columns.items() if _ENDING.fullmatch(name)]
    return _questions(
        table,
        ids=columns.get(""),
        contexts=columns["sent1"],
        questions=columns["sent2"],
        choices=_choices(endings),
        labels=columns.get("label"),
        needs_labels=needs_labels,
    )


def _locate_swag(source: SourceFile, needs_labels: bool, first_row: list[str]) -> Layout:
    header = [value.strip() for value in first_row]
    needed = ["sent1", "sent2", "ending0", "ending1"]
    if needs_labels:
        needed.append("label")
    for name in needed:
        if name not in header:
            message = f"{source.path}:1: {no_column(name, source.flag, header)}"
            if name == "label":
                message += f". {_PREDICT_ONLY}"
            elif "gold-ending" in header:
                message += ". SWAG's files with all candidates are not read: take train.csv"
            raise UserError(message)
    # The endings are in the order of their numbers, which need not be the order of the file.
    endings = sorted(filter(_ENDING.fullmatch, header), key=_ending_number)
    # Commas at the ends of all rows make further columns without a name.
    optional = ["", "label"] if not header[0] else ["label"]
    optional = [name for name in optional if name in header]
    names = ["sent1", "sent2", *endings, *optional]
    return Layout(names, [header.index(name) for name in names], has_header=True)


def _ending_number(name: str) -> int:
    # By their text "ending10" would come before "ending2".
    return int(name.removeprefix("ending"))


def read_hellaswag(source: SourceFile, needs_labels: bool = True) -> ChoiceQuestions:
    """Reads HellaSwag's JSON lines: `ind`, `ctx_a`, `ctx_b`, `endings` and, if labels are needed,
    `label`.

    `source` must have the format "jsonl"; for errors see `read_swag`.
    """
    return read_custom(
        source,
        ChoiceColumns(
            choices=("endings",),
            question="ctx_b",
            context="ctx_a",
            label="label" if needs_labels else None,
            id="ind",
        ),
        # The labels are numbers, or strings of digits.
        label_kind="index",
        columns_flag=source.flag,
    )


def read_codah(source: SourceFile, needs_labels: bool = True) -> ChoiceQuestions:
    """Reads a TSV file of CODAH without header: category, text, choices, number of the right one.

    Fields with quotation marks around them are quoted as in CSV, as CODAH's own code reads them.
    For arguments and errors see `read_swag`.
    """
    locate = functools.partial(_locate_codah, source.path)
    table = read_table(source, "tsv", locate)
    columns = [[_unquoted(value) for value in column] for column in table.columns]
    return _questions(
        table,
        questions=columns[0],
        choices=_choices(columns[1:-1]),
        labels=columns[-1],
        needs_labels=needs_labels,
    )


def _locate_codah(path: str, first_row: list[str]) -> Layout:
    if len(first_row) < FEWEST_CHOICES + 3:
        raise UserError(
            f"{path}:1: {len(first_row)} columns found; those of CODAH are expected: category, "
            "text, choices, label"
        )
    # The category is not read.
    numbers = range(1, len(first_row))
    return Layout([str(value) for value in numbers], numbers, has_header=False)


def _unquoted(field: str) -> str:
    if _QUOTED.fullmatch(field):
        return field[1:-1].replace('""', '"')
    return field


def read_custom(
    source: SourceFile,
    names: ChoiceColumns,
    *,
    label_kind: str = "auto",
    columns_flag: str | None = None,
) -> ChoiceQuestions:
    """Reads a file of questions whose columns or keys the caller names.

    CSV and TSV have a column for each choice; a question with fewer choices leaves the last ones
    empty. In JSON lines, Parquet and Arrow files `names.choices` are keys of texts; or it is one
    key, of a list of texts or of an object {"text": [...], "label": [...]} with texts and their
    names.

    Args:
      source: a file in one of `row_formats.FORMATS`.
      label_kind: how labels name the right choice: "index", from 0; "number", from 1; "letter",
        from A; "text"; or "auto": index if all labels of the file are whole numbers (number if no
        label is 0 and one is the number of its choices), letter if all are single letters, else
        text. If all questions name their choices, the labels are these names, whatever
        `label_kind` is.
      columns_flag: flag that errors about columns name; None if each column has its own.

    Raises:
      UserError: names file and lines, see `read_named_columns`, `_questions` and
        `_find_label_kind`.
    """
    roles = {role: column for role, column in names._asdict().items() if column is not None}
    del roles["choices"]
    named = []
    for role, column in roles.items():
        named.append((column, columns_flag or f"{role}_column"))
    for column in names.choices:
        named.append((column, columns_flag or "choices_columns"))
    # One call reads all columns, so that the file is parsed once.
    table = read_named_columns(source, named)
    # The columns of the roles come first, then the columns of the choices.
    columns = dict(zip(roles, table.columns, strict=False))
    texts = {}
    for role in ("context", "question"):
        if role in columns:
            texts[role] = _strings(table, columns[role], roles[role])
    choice_columns = table.columns[len(roles) :]
    choice_names = None
    if len(choice_columns) == 1:
        choices, choice_names = _read_choice_lists(table, choice_columns[0], names.choices[0])
    else:
        for values, column in zip(choice_columns, names.choices, strict=True):
            _strings(table, values, column)
        choices = _choices(choice_columns)
    return _questions(
        table,
        ids=columns.get("id"),
        contexts=texts.get("context"),
        questions=texts.get("question"),
        choices=choices,
        labels=columns.get("label"),
        label_kind=label_kind,
        names=choice_names,
        needs_labels=names.label is not None,
    )


def _choices(columns: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Returns the choices of each row, without the empty ones at its end."""
    rows = []
    for row in zip(*columns, strict=True):
        # An empty choice between others is a fault, which `_check_questions` reports.
        while row and not row[-1].strip():
            row = row[:-1]
        rows.append(row)
    return rows


def _read_choice_lists(
    table: Table, values: list, column: str
) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]] | None]:
    """Returns the texts of the choices in each JSON value, and their names if all values have
    them."""
    choices = []
    names = []
    for row, value in enumerate(values):
        texts = value
        row_names = None
        if isinstance(value, dict):
            texts = value.get("text")
            row_names = value.get("label")
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            table.refuse(row, f"{quoted(column)} must be a list of texts, not {quoted(value)}")
            texts = []
            # A bad row must not change how the other rows are read.
            row_names = []
        if row_names is not None:
            if not isinstance(row_names, list) or len({str(name) for name in row_names}) != len(
                texts
            ):
                table.refuse(
                    row,
                    f'"label" in {quoted(column)} must be {len(texts)} different names, as many as '
                    f"there are texts, not {quoted(row_names)}",
                )
                row_names = range(len(texts))
            names.append(tuple(str(name) for name in row_names))
        choices.append(tuple(texts))
    # Labels can only be names if all questions have them.
    if len(names) < len(choices):
        return choices, None
    return choices, names


def _strings(table: Table, values: list, column: str) -> list[str]:
    """Returns a column of texts, in which null in JSON is an empty text; changes `values`."""
    for row, value in enumerate(values):
        if value is None:
            values[row] = ""
    table.check_strings(values, column)
    return values


def _questions(
    table: Table,
    *,
    choices: list[tuple[str, ...]],
    ids: list | None = None,
    contexts: list[str] | None = None,
    questions: list[str] | None = None,
    labels: list | None = None,
    label_kind: str = "index",
    names: list[tuple[str, ...]] | None = None,
    needs_labels: bool = True,
) -> ChoiceQuestions:
    """Checks questions and numbers their labels.

    Args:
      ids: numbers of the rows by default.
      contexts, questions: empty texts by default.
      names: names of each question's choices, which its label is one of.

    Raises:
      UserError: two questions with the same id, fewer than 2 or more than 26 choices, an empty
        choice, neither question nor context, no labels though they are needed, or a label that is
        none of the choices.
    """
    empty = [""] * len(choices)
    result = ChoiceQuestions(
        path=table.source.path,
        ids=table.numbers() if ids is None else [str(value) for value in ids],
        contexts=contexts or empty,
        questions=questions or empty,
        choices=choices,
        labels=None,
    )
    # The questions are checked before the labels, whose kind must follow from good rows alone.
    _check_questions(table, result)
    label_texts = [str(label).strip() for label in (() if labels is None else labels)]
    # Copies of test sets may have a column of labels without values.
    if set(label_texts) <= _NO_LABEL:
        if needs_labels:
            # Bad rows are reported first.
            table.source.good_rows(table.lines)
            raise UserError(f"{table.source.path} has no labels. {_PREDICT_ONLY}")
        return table.resolve(result)
    if names is None and label_kind == "auto":
        label_kind = _find_label_kind(table, label_texts, choices)
    # A refused row keeps label 0, and is left out when the table is resolved.
    numbers = np.zeros(len(choices), np.int32)
    possible: Sequence[str]
    for row, (label, texts) in enumerate(zip(label_texts, choices, strict=True)):
        if names is not None:
            possible = names[row]
            expected = ", ".join(possible)
        elif label_kind in NUMBERED:
            start = 1 if label_kind == _FROM_1 else 0
            possible = [str(value) for value in range(start, start + len(texts))]
            expected = f"{start} to {start + len(texts) - 1}"
            # "02" is 2, and "00" is 0.
            label = label.lstrip("0") or label[-1:]
        elif label_kind == "letter":
            # A refused row may have no choices, hence the slice below, which never fails.
            possible = string.ascii_uppercase[: len(texts)]
            expected = f"A to {possible[-1:]}"
            label = label.upper()
        else:
            possible = [value.strip() for value in texts]
            expected = "the text of exactly one of them"
        # The texts of two choices may be equal: then the label is ambiguous.
        matches = [number for number, name in enumerate(possible) if name == label]
        if len(matches) == 1:
            numbers[row] = matches[0]
        else:
            table.refuse(
                row,
                f"the label {quoted(label_texts[row])} is none of the {len(texts)} choices: "
                f"{expected} is expected",
            )
    if label_kind == _FROM_1:
        notes: tuple[str, ...] = (f"{table.source.path}: the right choices are counted from 1",)
    else:
        notes = ()
    result = dataclasses.replace(result, labels=numbers, label_kind=label_kind, notes=notes)
    return table.resolve(result)


def _check_questions(table: Table, questions: ChoiceQuestions) -> None:
    """Refuses rows with a wrong number of choices, an empty text, or an id that occurs twice."""
    row_of_id: dict[str, int] = {}
    for row, (id, choices) in enumerate(zip(questions.ids, questions.choices, strict=True)):
        is_empty = [not text.strip() for text in choices]
        if not FEWEST_CHOICES <= len(choices) <= MOST_CHOICES:
            noun = "choice" if len(choices) == 1 else "choices"
            table.refuse(
                row,
                f"{len(choices)} {noun} found, {FEWEST_CHOICES} to {MOST_CHOICES} are expected",
            )
        elif any(is_empty):
            table.refuse(
                row,
                f"choice {is_empty.index(True)}, counted from 0, is empty: fill it in or remove "
                "the question",
            )
        elif not (questions.contexts[row].strip() or questions.questions[row].strip()):
            table.refuse(
                row, "there is neither a question nor a context: fill one in or remove the row"
            )
        elif row_of_id.setdefault(id, row) != row:
            table.refuse(
                row,
                f"the id {quoted(id)} is also that of line {table.lines[row_of_id[id]]}: every "
                "question needs a unique one",
            )


def _find_label_kind(table: Table, labels: list[str], choices: Sequence[Sequence[str]]) -> str:
    """Returns "index", "letter" or "text", the strictest kind that all labels of good rows fit; or
    `_FROM_1` for numbers of which none is 0 and one is the number of the choices.

    Raises:
      UserError: the labels are numbers, and nothing shows where they are counted from.
    """
    present = []
    numbers_of_choices = []
    for line, label, texts in zip(table.lines, labels, choices, strict=True):
        if label not in _NO_LABEL and line not in table.source.faults:
            present.append(label)
            numbers_of_choices.append(len(texts))
    # Only ASCII counts: `isalpha` and `isdigit` accept the letters and digits of all scripts.
    if all(re.fullmatch("[A-Za-z]", value) for value in present):
        return "letter"
    if not all(re.fullmatch("[0-9]+", value) for value in present):
        return "text"
    counted = list(zip(map(int, present), numbers_of_choices, strict=True))
    if any(number == 0 for number, _ in counted):
        return "index"
    if all(number <= count for number, count in counted):
        if any(number == count for number, count in counted):
            return _FROM_1
        # The first of K choices is never right in E questions with the probability (1 - 1/K)^E.
        if math.prod(1 - 1 / count for _, count in counted if count) < _UNLIKELY:
            raise UserError(
                f"{table.source.path}: no label is 0, so that the choices seem to be counted from "
                "1, but none has the number of the last choice: give --label_kind=number, or "
                "--label_kind=index if they are counted from 0"
            )
    return "index"
