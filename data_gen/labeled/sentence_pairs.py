"""Texts that belong together: pairs, triples with hard negatives, pairs with scores, single texts;
and queries with the documents that answer them.

    columns = [("question", "text_a_column"), ("answer", "text_b_column")]
    train = read_columns(SourceFile("train.csv", "train_file"), columns)

Input: TSV, CSV or JSON lines (`named_columns.py`), GLUE's STS-B, files like MNLI's and
SQuAD, the layout of BEIR. Output: `SentencePairs`, or `Retrieval`, from which ranking metrics are
computed.
"""

import dataclasses
import functools
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Self

import numpy as np

from bert_common.errors import UserError
from bert_common.text_lines import numbered_lines
from data_gen.labeled import glue
from data_gen.labeled.named_columns import read_named_columns, read_table
from data_gen.labeled.row_formats import format_of
from data_gen.labeled.rows import LabeledFile, Skip, SourceFile, items_of, quoted
from data_gen.labeled.squad import read_squad
from data_gen.labeled.table import Layout

# STS-B's scores are 0 to 5.
_HIGHEST_STS_SCORE = 5.0
_POSITIVE = "entailment"
_NEGATIVE = "contradiction"


@dataclasses.dataclass(frozen=True)
class SentencePairs(LabeledFile):
    """E examples of K texts each, in file order.

    Attributes:
      columns: K lists of E texts: anchors, positives, then hard negatives; "" for a missing
        negative.
      labels: float32 [E], -1 to 1, similarity of the first two texts; None if they all belong
        together or the file has no scores.
    """

    columns: list[list[str]]
    labels: np.ndarray | None = None
    _example_fields = ("labels",)

    def __len__(self) -> int:
        return len(self.columns[0])

    def take(self, rows: np.ndarray) -> Self:
        columns = [items_of(texts, rows) for texts in self.columns]
        return dataclasses.replace(super().take(rows), columns=columns)

    def inputs(self) -> Iterable[tuple[str, ...]]:
        return zip(*self.columns, strict=True)

    def groups(self) -> list[str]:
        """Returns the anchors, or the positives if these repeat more often, as paragraphs with
        several questions do."""
        return min(self.columns[:2], key=lambda texts: len(set(texts)))


def read_columns(
    source: SourceFile,
    columns: Sequence[tuple[str, str]],
    label: tuple[str, str] | None = None,
    highest_score: float = 1.0,
) -> SentencePairs:
    """Reads a file with a column for each text.

    Args:
      columns: (name of a column, name of the flag that sets it) of the anchor, the positive and
        hard negatives, which may be empty.
      label: the same for the score, which is divided by `highest_score`; None for no score.

    Raises:
      UserError: names file and lines: see `read_named_columns`; an empty text; a score that is
        higher than `highest_score`.
    """
    named = list(columns)
    if label is not None:
        named.append(label)
    table = read_named_columns(source, named)
    texts = []
    for number, (name, _) in enumerate(columns):
        # Only hard negatives, from the third column on, may be several, or none.
        is_negative = number >= 2
        for values in _columns_of_lists(table.columns[number], several=is_negative):
            table.check_strings(values, name, may_be_empty=is_negative)
            texts.append(values)
    labels = None
    if label is not None:
        labels = table.scores(table.columns[-1]) / np.float32(highest_score)
        for row in np.flatnonzero(np.abs(labels) > 1).tolist():
            table.refuse(
                row,
                f"the score is {quoted(table.columns[-1][row])}, at most {highest_score:g} is "
                "expected: give the highest as --highest_score",
            )
    return table.resolve(SentencePairs(source.path, texts, labels))


def _columns_of_lists(values: list, several: bool) -> list[list]:
    """Returns the columns of texts that may be in lists, as FlagEmbedding writes them.

    Args:
      values: texts, or lists of texts; what is none of these stays as it is.
      several: a list may have any number of texts: column k holds the k-th of each list, or "".
        Otherwise only lists of one are taken for their text.
    """
    if list not in set(map(type, values)):
        return [values]
    lists = []
    for value in values:
        has_texts = type(value) is list and (several or len(value) == 1)
        lists.append(value if has_texts else [value])
    columns = []
    for number in range(max(map(len, lists))):
        columns.append([texts[number] if number < len(texts) else "" for texts in lists])
    return columns


def read_texts(source: SourceFile, column: tuple[str, str] | None) -> SentencePairs:
    """Reads single texts, each as its own positive; without a column, one text per line."""
    if column is not None:
        texts = read_columns(source, [column])
        # The anchor is its own positive: two passes with different dropout make the pair (SimCSE).
        return dataclasses.replace(texts, columns=texts.columns * 2)
    line_numbers = []
    lines = []
    for number, line in numbered_lines(source.path, source.flag, source.add):
        if line.strip():
            line_numbers.append(number)
            lines.append(line.strip())
    if not lines:
        raise UserError(f"{source.path} is empty: one text per line is expected")
    return source.resolve(SentencePairs(source.path, [lines, lines]), line_numbers)


def read_sts_b(
    data_dir: str, split: str, path: str | None, skip_bad_rows: Skip = None
) -> SentencePairs:
    """Reads a split of GLUE's STS-B; for arguments and errors see `glue.read_split`."""
    texts = glue.read_split(glue.find_task("sts-b"), data_dir, split, path, skip_bad_rows)
    labels = texts.labels
    if labels is not None:
        labels = labels / np.float32(_HIGHEST_STS_SCORE)
    columns = [texts.text_a, ([] if texts.text_b is None else texts.text_b)]
    return SentencePairs(texts.path, columns, labels, notes=texts.notes)


def read_nli(source: SourceFile, columns: Sequence[tuple[str, str]]) -> SentencePairs:
    """Reads natural language inference as triples: premise, entailed hypothesis, contradiction.

    Each entailed hypothesis is an example. Its hard negative is a contradiction of the same
    premise, if there is one; several of them take turns. Other labels are ignored.

    Args:
      columns: (name of a column, name of the flag that sets it) of premise, hypothesis and label.

    Raises:
      UserError: see `read_named_columns`; no row is an entailment.
    """
    table = read_named_columns(source, columns)
    for (name, _), values in zip(columns, table.columns, strict=True):
        table.check_strings(values, name)
    # Bad rows must be gone before hypotheses are grouped, as triples have no lines.
    rows = table.resolve(SentencePairs(source.path, table.columns))
    # Premise → its positives and negatives. Examples are in the order in which premises first
    # occur with either label.
    hypotheses: dict[str, dict[str, list[str]]] = {}
    for premise, hypothesis, label in zip(*rows.columns, strict=True):
        if label in (_POSITIVE, _NEGATIVE) and premise.strip() and hypothesis.strip():
            by_label = hypotheses.setdefault(premise, defaultdict(list))
            by_label[label].append(hypothesis)
    triples = []
    for premise, by_label in hypotheses.items():
        negatives = by_label[_NEGATIVE] or [""]
        for number, positive in enumerate(by_label[_POSITIVE]):
            triples.append((premise, positive, negatives[number % len(negatives)]))
    if not triples:
        raise UserError(
            f"{source.path}: no row is labeled {_POSITIVE!r} (column {quoted(columns[2][0])})"
        )
    return dataclasses.replace(rows, columns=[list(value) for value in zip(*triples, strict=True)])


def read_questions(path: str, flag: str) -> SentencePairs:
    """Reads questions and their paragraphs from a SQuAD file, without impossible questions.

    Raises:
      UserError: see `read_squad`; no question remains.
    """
    data = read_squad(path, flag)
    questions = []
    paragraphs = []
    for question in data.questions:
        paragraph = data.contexts[question.context]
        # The paragraph of an impossible question is not relevant for it.
        if not question.is_impossible and question.text.strip() and paragraph.strip():
            questions.append(question.text)
            paragraphs.append(paragraph)
    if not questions:
        raise UserError(f"--{flag}: {path} has no question that its paragraph answers")
    return SentencePairs(path, [questions, paragraphs])


@dataclasses.dataclass(frozen=True)
class Retrieval:
    """Q queries and N documents.

    Attributes:
      path: the file of the queries.
      relevant: document number → grade, above 0, for each query.
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
    """Returns queries and documents, and the number of queries left out because no document is
    relevant for them.

    Args:
      queries_file, documents_file: ids and texts, in the columns with these names.
      relevance_file: TSV or CSV with a header; the first columns are the ids of a query and a
        document, the optional third one is the grade: 0 is not relevant.

    Raises:
      UserError: names file and line: see `named_columns.py`; an id that occurs twice, or that no
        document has; a query and a document with two grades.
    """
    query_ids, queries = _read_texts(queries_file, "queries_file", id_column, text_column)
    document_ids, documents = _read_texts(documents_file, "documents_file", id_column, text_column)
    file_format = "csv" if format_of(relevance_file) == "csv" else "tsv"
    locate = functools.partial(_locate_relevance, relevance_file, query_ids, document_ids)
    table = read_table(SourceFile(relevance_file, "relevance_file"), file_format, locate)
    grades = np.ones(len(table.lines), np.float32)
    if len(table.columns) > 2:
        grades = table.scores(table.columns[2])
    relevant: list[dict[int, float]] = [{} for _ in queries]
    judgments: dict[tuple[str, str], float] = {}
    for row, (query, document) in enumerate(zip(*table.columns[:2], strict=True)):
        if document not in document_ids:
            table.refuse(row, f"no document has the id {quoted(document)}")
        elif judgments.setdefault((query, document), grades[row]) != grades[row]:
            table.refuse(row, f"{quoted(query)} and {quoted(document)} have two different grades")
        # Judgments may name queries of other splits, as BEIR shares one file of queries.
        elif query in query_ids and grades[row] > 0:
            relevant[query_ids[query]][document_ids[document]] = float(grades[row])
    # Metrics of a part of the judgments would be wrong, so that bad rows are never skipped.
    table.source.good_rows(table.lines)
    answered = np.flatnonzero([len(value) for value in relevant])
    if not len(answered):
        raise UserError(
            f"--relevance_file: {relevance_file} has no relevant document for any query of "
            f"{queries_file}"
        )
    retrieval = Retrieval(
        path=queries_file,
        queries=items_of(queries, answered),
        documents=documents,
        document_ids=list(document_ids),
        relevant=items_of(relevant, answered),
    )
    return retrieval, len(queries) - len(answered)


def _locate_relevance(
    path: str, query_ids: Collection[str], document_ids: Collection[str], header: list[str]
) -> Layout:
    # A first row of ids is not a header, and would be lost as one.
    if len(header) < 2 or (header[0] in query_ids and header[1] in document_ids):
        raise UserError(
            f"--relevance_file: {path}:1: a header is expected, then the id of a query, that of a "
            "document and a grade, with tabs between them: query-id, corpus-id, score"
        )
    names = header[:3]
    return Layout(names, range(len(names)), has_header=True)


def _read_texts(
    path: str, flag: str, id_column: str, text_column: str
) -> tuple[dict[str, int], list[str]]:
    """Returns id → number, and the texts in the order of these numbers."""
    named = [(id_column, "id_column"), (text_column, "text_column")]
    table = read_named_columns(SourceFile(path, flag), named)
    ids, texts = table.columns
    table.check_strings(texts, text_column)
    row_of_id: dict[str, int] = {}
    for row, id in enumerate(str(value) for value in ids):
        first_row = row_of_id.setdefault(id, row)
        if first_row != row:
            table.refuse(
                row, f"the id {quoted(id)} is there twice, first at {path}:{table.lines[first_row]}"
            )
    table.source.good_rows(table.lines)
    return row_of_id, texts
