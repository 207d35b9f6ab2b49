"""Texts that belong together: pairs, triples with hard negatives, pairs with scores, texts alone;
and queries with the documents that answer them.

    train = read_columns("train.csv", "train_file", ("question", "answer"))

Input: TSV, CSV or JSON lines (`tables.py`), GLUE's STS-B, files like MNLI's and SQuAD's, the layout
of BEIR. Output: `SentencePairs`, or `Retrieval`, which scores of a ranking are computed from.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from typing import Self

import numpy as np

from bert_common.errors import UserError
from data_gen.labelled import glue
from data_gen.labelled.rows import BadRows, LabelledFile, items_of
from data_gen.labelled.squad import read_squad
from data_gen.labelled.tables import numbered_lines, read_named_columns, read_table, shown

# STS-B's scores are 0 to 5.
_HIGHEST_STS_SCORE = 5.0
_POSITIVE, _NEGATIVE = "entailment", "contradiction"


@dataclasses.dataclass(frozen=True)
class SentencePairs(LabelledFile):
    """Examples of K texts each, in file order; E examples.

    Attributes:
      columns: K lists of E texts: anchors, what belongs to them, then hard negatives; "" for a
        negative that is missing.
      labels: float32 [E], -1 to 1: how much the first two belong together; None where they do, or
        it is not known.
    """

    columns: list[list[str]]
    labels: np.ndarray | None = None
    _of_examples = ("labels",)

    def __len__(self) -> int:
        return len(self.columns[0])

    def take(self, chosen: np.ndarray) -> Self:
        return dataclasses.replace(
            super().take(chosen), columns=[items_of(texts, chosen) for texts in self.columns]
        )

    def groups(self) -> list[str]:
        """Anchors, or what belongs to them where that is repeated more often, as paragraphs with
        several questions are."""
        return min(self.columns[:2], key=lambda texts: len(set(texts)))


def read_columns(
    path: str,
    flag: str,
    columns: Sequence[tuple[str, str]],
    label: tuple[str, str] | None = None,
    highest_score: float = 1.0,
    file_format: str = "auto",
    skip_bad_rows: bool | None = None,
) -> SentencePairs:
    """Reads a file with a column for each text.

    Args:
      columns: (name of a column, name of the flag that names it) of the anchor, what belongs to it,
        and hard negatives, which may be empty.
      label: the same of the score, which is divided by `highest_score`; None where there is none.

    Raises:
      UserError: names file and lines: see `read_named_columns`; an empty text; a score that is
        higher.
    """
    table = read_named_columns(
        path, flag, [*columns, *([label] if label else [])], file_format, skip_bad_rows
    )
    texts = table.columns[: len(columns)]
    for number, ((name, _), values) in enumerate(zip(columns, texts, strict=True)):
        table.check_strings(values, name, may_be_empty=number >= 2)
    labels = None
    if label is not None:
        labels = table.scores(table.columns[-1]) / np.float32(highest_score)
        for row in np.flatnonzero(np.abs(labels) > 1).tolist():
            table.refuse(
                row,
                f"the score is {shown(table.columns[-1][row])}, at most {highest_score:g} is expected: give "
                "the highest as --highest_score",
            )
    return table.resolve(SentencePairs(path, texts, labels))


def read_texts(
    path: str,
    flag: str,
    column: tuple[str, str] | None,
    file_format: str = "auto",
    skip_bad_rows: bool | None = None,
) -> SentencePairs:
    """Reads texts alone, each an anchor that belongs to itself; one a line where no column is
    named."""
    if column is not None:
        found = read_columns(
            path, flag, [column], file_format=file_format, skip_bad_rows=skip_bad_rows
        )
        return dataclasses.replace(found, columns=found.columns * 2)
    bad = BadRows(path, skip_bad_rows)
    numbers, texts = [], []
    for number, line in numbered_lines(path, flag, bad):
        if line.strip():
            numbers.append(number)
            texts.append(line.strip())
    if not texts:
        raise UserError(f"{path} is empty: one text per line is expected")
    return bad.resolve(SentencePairs(path, [texts, texts]), numbers)


def read_sts_b(
    data_dir: str, split: str, path: str | None, skip_bad_rows: bool | None = None
) -> SentencePairs:
    """Reads a split of GLUE's STS-B; arguments and errors as of `glue.read_split`."""
    found = glue.read_split(glue.find_task("sts-b"), data_dir, split, path, skip_bad_rows)
    labels = None if found.labels is None else found.labels / np.float32(_HIGHEST_STS_SCORE)
    return SentencePairs(found.path, [found.text_a, found.text_b or []], labels, notes=found.notes)


def read_nli(
    path: str,
    flag: str,
    columns: Sequence[tuple[str, str]],
    file_format: str = "auto",
    skip_bad_rows: bool | None = None,
) -> SentencePairs:
    """Reads natural-language inference: a premise and what it entails; what contradicts it is a
    hard negative.

    Each entailed hypothesis is an example. Its negative is a contradiction of the same premise, one
    after the other where there are several; other labels are passed over.

    Args:
      columns: of premise, hypothesis and label.

    Raises:
      UserError: see `read_named_columns`; no row is an entailment.
    """
    table = read_named_columns(path, flag, columns, file_format, skip_bad_rows)
    for (name, _), values in zip(columns, table.columns, strict=True):
        table.check_strings(values, name)
    good = table.resolve(SentencePairs(path, table.columns))
    hypotheses: dict[str, dict[str, list[str]]] = defaultdict(
        lambda: {_POSITIVE: [], _NEGATIVE: []}
    )
    for premise, hypothesis, label in zip(*good.columns, strict=True):
        if label in (_POSITIVE, _NEGATIVE) and premise.strip() and hypothesis.strip():
            hypotheses[premise][label].append(hypothesis)
    rows = [
        (
            premise,
            positive,
            of_it[_NEGATIVE][number % len(of_it[_NEGATIVE])] if of_it[_NEGATIVE] else "",
        )
        for premise, of_it in hypotheses.items()
        for number, positive in enumerate(of_it[_POSITIVE])
    ]
    if not rows:
        raise UserError(f"{path}: no row is labelled {_POSITIVE!r} (column {shown(columns[2][0])})")
    return dataclasses.replace(good, columns=[list(column) for column in zip(*rows, strict=True)])


def read_questions(path: str, flag: str) -> SentencePairs:
    """Reads questions and their paragraphs from a file in SQuAD's layout; what its paragraph does
    not answer is left out.

    Raises:
      UserError: see `read_squad`; no question is left.
    """
    data = read_squad(path, flag)
    pairs = [
        (question.text, data.contexts[question.context])
        for question in data.questions
        if not question.is_impossible
        and question.text.strip()
        and data.contexts[question.context].strip()
    ]
    if not pairs:
        raise UserError(f"--{flag}: {path} has no question that its paragraph answers")
    return SentencePairs(path, [list(texts) for texts in zip(*pairs, strict=True)])


@dataclasses.dataclass(frozen=True)
class Retrieval:
    """Q queries and N documents.

    Attributes:
      path: the file of the queries.
      relevant: for each query document number → grade, above 0.
    """

    path: str
    queries: list[str]
    documents: list[str]
    document_ids: list[str]
    relevant: list[dict[int, float]]
    labels: None = None

    def __len__(self) -> int:
        return len(self.queries)


def read_retrieval(
    queries_file: str, documents_file: str, relevance_file: str, id_column: str, text_column: str
) -> tuple[Retrieval, int]:
    """Reads the three files; also how many queries are left out as no document is relevant for
    them.

    Args:
      queries_file, documents_file: ids and texts, in the columns of these names.
      relevance_file: TSV or CSV with a header; the first columns are the ids of a query and a
        document, the third, where there is one, the grade: 0 is not relevant.

    Raises:
      UserError: names file and line: see `tables.py`; an id that occurs twice, or is not known.
    """
    query_ids, queries = _read_texts(queries_file, "queries_file", id_column, text_column)
    document_ids, documents = _read_texts(documents_file, "documents_file", id_column, text_column)

    def locate(header: list[str]) -> tuple[list[int], bool]:
        if len(header) < 2 or header[0] in query_ids and header[1] in document_ids:
            raise UserError(
                f"--relevance_file: {relevance_file}:1: a header is expected, then the id of a query, that of a "
                "document and a grade, with tabs between them: query-id, corpus-id, score"
            )
        return list(range(min(len(header), 3))), True

    file_format = "csv" if relevance_file.removesuffix(".gz").endswith(".csv") else "tsv"
    table = read_table(BadRows(relevance_file), "relevance_file", file_format, locate)
    grades = (
        table.scores(table.columns[2])
        if len(table.columns) > 2
        else np.ones(len(table.lines), np.float32)
    )
    relevant: list[dict[int, float]] = [{} for _ in queries]
    for row, (query, document, grade) in enumerate(zip(*table.columns[:2], grades, strict=True)):
        if document not in document_ids:
            table.refuse(row, f"no document has the id {shown(document)}")
        elif query in query_ids and grade > 0:
            relevant[query_ids[query]][document_ids[document]] = float(grade)
    table.bad.good_rows(table.lines)
    kept = [number for number, of_it in enumerate(relevant) if of_it]
    if not kept:
        raise UserError(
            f"--relevance_file: {relevance_file} has no relevant document for any query of {queries_file}"
        )
    return Retrieval(
        queries_file,
        [queries[number] for number in kept],
        documents,
        list(document_ids),
        [relevant[number] for number in kept],
    ), len(queries) - len(kept)


def _read_texts(
    path: str, flag: str, id_column: str, text_column: str
) -> tuple[dict[str, int], list[str]]:
    """Id → number, and texts."""
    table = read_named_columns(path, flag, [(id_column, "id_column"), (text_column, "text_column")])
    ids, texts = table.columns
    table.check_strings(texts, text_column)
    numbers: dict[str, int] = {}
    for row, one in enumerate(map(str, ids)):
        if numbers.setdefault(one, row) != row:
            table.refuse(
                row,
                f"the id {shown(one)} is there twice, first at {path}:{table.lines[numbers[one]]}",
            )
    table.bad.good_rows(table.lines)
    return numbers, texts
