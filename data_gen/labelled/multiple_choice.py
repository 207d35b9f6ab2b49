"""Questions with choices: SWAG's files, HellaSwag's, CODAH's, and custom files.

    train = read_swag("swag/train.csv", "train_file")
    text_a, text_b = train.pairs()      # a pair for every choice

Input: CSV, TSV or JSON lines (`tables.py`), gzipped or not, on any file system. Output:
`ChoiceQuestions`, whose pairs `pair_features.py` makes sequences of.

Source: section 4.4 of the paper: four sequences a question, each the given sentence (A) and a
continuation (B).
"""

import dataclasses
import re
import string
from collections.abc import Sequence

import numpy as np

from bert_common.errors import UserError
from data_gen.labelled.rows import BadRows, LabelledFile
from data_gen.labelled.tables import Table, no_column, read_named_columns, read_table, shown

FEWEST_CHOICES, MOST_CHOICES = 2, 26
LABEL_KINDS = ("auto", "index", "letter", "text")
# What stands in place of a label in copies of test sets that have the column.
_NO_LABEL = ("", "-1", "None")
_LABEL_FORMS = {"index": re.compile(r"[0-9]+"), "letter": re.compile(r"[A-Za-z]")}
_ENDING = re.compile(r"ending\d+")
_QUOTED = re.compile('".*"', re.S)


@dataclasses.dataclass(frozen=True)
class ChoiceQuestions(LabelledFile):
    """Questions of one split, in file order; E questions.

    Attributes:
      ids: what a question is called in outputs, all different; the number of its row, from 0, where
        the file has none.
      contexts: E texts that come before the questions; "" where there is none.
      questions: E texts: a question, or the beginning of the sentence that the choices end; ""
        where there is none.
      choices: 2 to 26 texts of each question.
      labels: int32 [E], numbers of the right choices; None for an unlabelled split.
    """

    ids: list[str]
    contexts: list[str]
    questions: list[str]
    choices: list[tuple[str, ...]]
    labels: np.ndarray | None
    _of_examples = ("ids", "contexts", "questions", "choices", "labels")

    def groups(self) -> list[str | int]:
        """Questions with the same context."""
        return [context or row for row, context in enumerate(self.contexts)]

    @property
    def num_choices(self) -> np.ndarray:
        """int64 [E]."""
        return np.array(list(map(len, self.choices)), np.int64)

    def pairs(self) -> tuple[list[str], list[str]]:
        """First and second texts of all choices, those of a question side by side, see `pair`."""
        rows = [
            pair(context, question, choice)
            for context, question, choices in zip(
                self.contexts, self.questions, self.choices, strict=True
            )
            for choice in choices
        ]
        first, second = zip(*rows, strict=True)
        return list(first), list(second)


def pair(context: str, question: str, choice: str) -> tuple[str, str]:
    """The two segments of a choice: the context, and the question with the choice after it; without
    a context the question, and the choice."""
    if not context:
        return question, choice
    return context, f"{question} {choice}" if question else choice


def read_swag(
    path: str, flag: str, needs_labels: bool = True, skip_bad_rows: bool | None = None
) -> ChoiceQuestions:
    """Reads a CSV file in SWAG's columns: `sent1`, `sent2`, `ending0`, `ending1`, … and `label`.

    The first column, whose header is empty, is the id.

    Raises:
      UserError: names file and lines, see `tables.py` and `_questions`.
    """
    layout: list[str] = []

    def locate(first_row: list[str]) -> tuple[list[int], bool]:
        names = [name.strip() for name in first_row]
        for name in ("sent1", "sent2", "ending0", "ending1", *(["label"] if needs_labels else [])):
            if name not in names:
                hint = ". A file without labels can be predicted (--do_predict), not trained or evaluated on"
                raise UserError(
                    f"{path}:1: {no_column(name, flag, names)}{hint if name == 'label' else ''}"
                )
        endings = sorted(
            filter(_ENDING.fullmatch, names), key=lambda name: int(name.removeprefix("ending"))
        )
        layout[:] = [*(name for name in ("", "label") if name in names), "sent1", "sent2", *endings]
        return [names.index(name) for name in layout], True

    table = read_table(BadRows(path, skip_bad_rows), flag, "csv", locate)
    columns = dict(zip(layout, table.columns, strict=True))
    choices = [values for name, values in columns.items() if _ENDING.fullmatch(name)]
    return _questions(
        table,
        columns.get("", table.numbers()),
        columns["sent1"],
        columns["sent2"],
        _rows(choices),
        columns.get("label"),
        needs_labels=needs_labels,
    )


def read_hellaswag(
    path: str, flag: str, needs_labels: bool = True, skip_bad_rows: bool | None = None
) -> ChoiceQuestions:
    """Reads HellaSwag's JSON lines: `ind`, `ctx_a`, `ctx_b`, `endings` and, where labels are
    needed, `label`.

    Args and errors as of `read_swag`.
    """
    return read_own(
        path,
        flag,
        choices_columns=("endings",),
        question_column="ctx_b",
        context_column="ctx_a",
        label_column="label" if needs_labels else None,
        id_column="ind",
        label_kind="index",
        file_format="jsonl",
        asked_by=flag,
        skip_bad_rows=skip_bad_rows,
    )


def read_codah(
    path: str, flag: str, needs_labels: bool = True, skip_bad_rows: bool | None = None
) -> ChoiceQuestions:
    """Reads a TSV file of CODAH: category, text, choices, number of the right one; no header. See
    `read_swag`.

    Fields with quotation marks around them are quoted as in CSV, as CODAH's own code reads them.
    """

    def locate(first_row: list[str]) -> tuple[list[int], bool]:
        if len(first_row) < FEWEST_CHOICES + 3:
            raise UserError(
                f"{path}:1: {len(first_row)} columns found; those of CODAH are expected: category, text, "
                "choices, label"
            )
        return list(range(len(first_row))), False

    table = read_table(BadRows(path, skip_bad_rows), flag, "tsv", locate)
    _, texts, *endings, labels = [
        [field[1:-1].replace('""', '"') if _QUOTED.fullmatch(field) else field for field in column]
        for column in table.columns
    ]
    return _questions(
        table,
        table.numbers(),
        [""] * len(texts),
        texts,
        _rows(endings),
        labels,
        needs_labels=needs_labels,
    )


def read_own(
    path: str,
    flag: str,
    *,
    choices_columns: Sequence[str],
    question_column: str | None = None,
    context_column: str | None = None,
    label_column: str | None = None,
    id_column: str | None = None,
    label_kind: str = "auto",
    file_format: str = "auto",
    asked_by: str | None = None,
    skip_bad_rows: bool | None = None,
) -> ChoiceQuestions:
    """Reads a custom file.

    In CSV and TSV there is a column for each choice; the last ones may be empty where a question
    has fewer. In JSON lines `choices_columns` are keys of texts; or it is one key, of a list of
    texts or of an object {"text": [...], "label": [...]} with texts and their names.

    Args:
      choices_columns, question_column, context_column, label_column, id_column: names of columns or
      keys, or, if all are
        numbers, columns of a file without a header. Without `label_column` the file is unlabelled.
      label_kind: how the right choice is named: "index", from 0; "letter", from A; "text"; or
        "auto": index where all labels of the file are whole numbers, letter where all are single
        letters, else text. Where choices have names, the labels are these.
      file_format: "tsv", "csv", "jsonl", or "auto": by the extension of the name.
      asked_by: name of the flag that asks for the columns, where they have no flags of their own.

    Raises:
      UserError: names file and lines, see `tables.py` and `_questions`.
    """
    singles = {
        "context": context_column,
        "question": question_column,
        "label": label_column,
        "id": id_column,
    }
    named = {kind: name for kind, name in singles.items() if name is not None}
    table = read_named_columns(
        path,
        flag,
        [
            *((name, asked_by or f"{kind}_column") for kind, name in named.items()),
            *((name, asked_by or "choices_columns") for name in choices_columns),
        ],
        file_format,
        skip_bad_rows,
    )
    columns = dict(zip(named, table.columns, strict=False))
    contexts, questions = [
        _strings(table, columns[kind], named[kind]) if kind in named else [""] * len(table.lines)
        for kind in ("context", "question")
    ]
    parts = table.columns[len(named) :]
    names = None
    if len(parts) == 1:
        choices, own_names = map(
            list,
            zip(
                *(
                    _texts(table, row, value, choices_columns[0])
                    for row, value in enumerate(parts[0])
                ),
                strict=True,
            ),
        )
        names = own_names if all(own_names) else None
    else:
        choices = _rows(
            [_strings(table, part, name) for part, name in zip(parts, choices_columns, strict=True)]
        )
    ids = list(map(str, columns["id"])) if "id" in named else table.numbers()
    return _questions(
        table,
        ids,
        contexts,
        questions,
        choices,
        columns.get("label"),
        label_kind,
        names,
        needs_labels=label_column is not None,
    )


def _rows(columns: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The choices of each row, without those at its end that are empty."""
    return [
        row[: max((number for number, text in enumerate(row, 1) if text.strip()), default=0)]
        for row in zip(*columns, strict=True)
    ]


def _texts(
    table: Table, row: int, value: object, key: str
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """(texts of the choices, their names or None) of a JSON value."""
    texts, names = (
        (value.get("text"), value.get("label")) if isinstance(value, dict) else (value, None)
    )
    if not isinstance(texts, list) or not all(type(text) is str for text in texts):
        table.refuse(row, f"{shown(key)} must be a list of texts, not {shown(value)}")
        return ("",), ("",)
    if names is None:
        return tuple(texts), None
    if not isinstance(names, list) or len(set(map(str, names))) != len(texts):
        table.refuse(
            row,
            f'"label" in {shown(key)} must be {len(texts)} different names, as many as there are texts, '
            f"not {shown(names)}",
        )
        names = range(len(texts))
    return tuple(texts), tuple(map(str, names))


def _strings(table: Table, values: list, key: str) -> list[str]:
    """The values of a column of texts; null in JSON is an empty text."""
    values = ["" if value is None else value for value in values]
    table.check_strings(values, key)
    return values


def _questions(
    table: Table,
    ids: list[str],
    contexts: list[str],
    questions: list[str],
    choices: list[tuple[str, ...]],
    labels: list | None,
    label_kind: str = "index",
    names: list[tuple[str, ...]] | None = None,
    *,
    needs_labels: bool = True,
) -> ChoiceQuestions:
    """Checks questions and numbers their labels; `names` are those of the choices, where the labels
    are these.

    Raises:
      UserError: two questions with the same id, fewer than 2 or more than 26 choices, an empty
        choice, neither question nor context, no labels though they are needed, or a label that is
        none of the choices.
    """
    first: dict[str, int] = {}
    for row, (id, texts) in enumerate(zip(ids, choices, strict=True)):
        empty = next((number for number, text in enumerate(texts) if not text.strip()), None)
        if not FEWEST_CHOICES <= len(texts) <= MOST_CHOICES:
            count = f"{len(texts)} choice{'' if len(texts) == 1 else 's'}"
            table.refuse(row, f"{count} found, {FEWEST_CHOICES} to {MOST_CHOICES} are expected")
        elif empty is not None:
            table.refuse(
                row, f"choice {empty}, counted from 0, is empty: fill it in or remove the question"
            )
        elif not (contexts[row].strip() or questions[row].strip()):
            table.refuse(
                row, "there is neither a question nor a context: fill one in or remove the row"
            )
        elif first.setdefault(id, row) != row:
            table.refuse(
                row,
                f"the id {shown(id)} is also that of line {table.lines[first[id]]}: every question needs one "
                "of its own",
            )
    given = [str(label).strip() for label in labels or ()]
    if set(given) <= set(_NO_LABEL):
        if needs_labels:
            table.bad.good_rows(table.lines)
            raise UserError(
                f"{table.bad.path} has no labels: it can be predicted (--do_predict), not trained or evaluated "
                "on"
            )
        return table.resolve(
            ChoiceQuestions(table.bad.path, ids, contexts, questions, choices, None)
        )
    if names is None and label_kind == "auto":
        present = [
            label
            for line, label in zip(table.lines, given, strict=True)
            if label not in _NO_LABEL and line not in table.bad.faults
        ]
        label_kind = next(
            (kind for kind, form in _LABEL_FORMS.items() if all(map(form.fullmatch, present))),
            "text",
        )
    numbers = np.zeros(len(choices), np.int32)
    for row, (label, texts) in enumerate(zip(given, choices, strict=True)):
        # What the labels of this question may be, in the order of its choices.
        known: Sequence[str]
        if names is not None:
            known, expected = names[row], ", ".join(names[row])
        elif label_kind == "index":
            known, expected = (
                [str(number) for number in range(len(texts))],
                f"0 to {len(texts) - 1}",
            )
            label = label.lstrip("0") or label[-1:]
        elif label_kind == "letter":
            known = string.ascii_uppercase[: len(texts)]
            expected = f"A to {known[-1:]}"
            label = label.upper()
        else:
            known, expected = [text.strip() for text in texts], "the text of exactly one of them"
        found = [number for number, one in enumerate(known) if one == label]
        if len(found) == 1:
            numbers[row] = found[0]
        else:
            table.refuse(
                row,
                f"the label {shown(given[row])} is none of the {len(texts)} choices: {expected} is expected",
            )
    return table.resolve(
        ChoiceQuestions(table.bad.path, ids, contexts, questions, choices, numbers)
    )
