"""Texts that belong together: pairs, triples with hard negatives, pairs with labels or scores, texts alone; and queries
with the documents that answer them.

    train = read_columns("train.csv", "train_file", ("question", "answer"))

Input: TSV, CSV or JSON lines (`tables.py`), GLUE's STS-B, files like MNLI's and SQuAD's, the layout of BEIR. Output:
`SentencePairs`, or `Retrieval`, which scores of a ranking are computed from.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from bert_common.errors import UserError
from data_gen.labelled import glue
from data_gen.labelled.squad import read_squad
from data_gen.labelled.tables import (
  check_strings,
  first_items,
  numbered_lines,
  parse_labels,
  read_named_columns,
  read_table,
  shown,
)

# STS-B's scores are 0 to 5.
_HIGHEST_STS_SCORE = 5.0
_POSITIVE, _NEGATIVE = "entailment", "contradiction"


@dataclasses.dataclass(frozen=True)
class SentencePairs:
  """Examples of K texts each, in file order; E examples.

  Attributes:
    path: the file.
    columns: K lists of E texts: anchors, what belongs to them, then hard negatives; "" for a negative that is missing.
    labels: float32 [E], 0 to 1: whether, or how much, the first two belong together; None where they do, or it is not
      known.
  """

  path: str
  columns: list[list[str]]
  labels: np.ndarray | None = None

  def __len__(self) -> int:
    return len(self.columns[0])

  def first(self, count: int | None) -> "SentencePairs":
    """The first so many examples; all of them for None."""
    return dataclasses.replace(first_items(self, count, "labels"), columns=[texts[:count] for texts in self.columns])


def read_columns(path: str, flag: str, columns: Sequence[tuple[str, str]], label: tuple[str, str] | None = None,
                 highest_label: float = 1.0, only_classes: bool = False, file_format: str = "auto") -> SentencePairs:
  """Reads a file with a column for each text.

  Args:
    path: the file.
    flag: name of the flag it came from, for errors.
    columns: (name of a column, name of the flag that names it) of the anchor, what belongs to it, and hard negatives,
      which may be empty.
    label: the same of the score or label; None where there is none.
    highest_label: by which scores are divided.
    only_classes: labels are 0 and 1.

  Raises:
    UserError: names file and line: see `read_named_columns`; an empty text; a label that can't be.
  """
  table = read_named_columns(path, flag, [*columns, *([label] if label else [])], file_format)
  texts = table.columns[:len(columns)]
  for number, ((name, _), values) in enumerate(zip(columns, texts, strict=True)):
    check_strings(table, values, name, may_be_empty=number >= 2)
  if label is None:
    return SentencePairs(path, texts)
  highest = 1.0 if only_classes else highest_label
  labels = parse_labels(table, table.columns[-1], None, regression=True)
  wrong = np.flatnonzero(~np.isin(labels, (0, 1)) if only_classes else np.abs(labels) > highest)
  if len(wrong):
    expected = "0 or 1 is expected" if only_classes else (
        f"at most {highest:g} is expected; if scores are higher, give the highest as --highest_score")
    raise UserError(f"{table.where(wrong[0])}: the label is {shown(table.columns[-1][wrong[0]])}, {expected}")
  return SentencePairs(path, texts, labels / np.float32(highest))


def read_texts(path: str, flag: str, column: tuple[str, str] | None, file_format: str = "auto") -> SentencePairs:
  """Reads texts alone, each an anchor that belongs to itself; one a line where no column is named."""
  if column is not None:
    texts = read_columns(path, flag, [column], file_format=file_format).columns[0]
  else:
    texts = [text for _, line in numbered_lines(path, flag) if (text := line.strip())]
  if not texts:
    raise UserError(f"{path} is empty: one text per line is expected")
  return SentencePairs(path, [texts, texts])


def read_sts_b(data_dir: str, split: str, path: str | None) -> SentencePairs:
  """Reads a split of GLUE's STS-B; arguments and errors as of `glue.read_split`."""
  found = glue.read_split(glue.find_task("sts-b"), data_dir, split, path)
  labels = None if found.labels is None else found.labels / np.float32(_HIGHEST_STS_SCORE)
  return SentencePairs(found.path, [found.text_a, found.text_b or []], labels)


def read_nli(path: str, flag: str, columns: Sequence[tuple[str, str]], file_format: str = "auto") -> SentencePairs:
  """Reads natural-language inference: a premise and what it entails; what contradicts it is a hard negative.

  Each entailed hypothesis is an example. Its negative is a contradiction of the same premise, one after the other where
  there are several; other labels are passed over.

  Args:
    path, flag: as of `read_columns`.
    columns: of premise, hypothesis and label.

  Raises:
    UserError: see `read_named_columns`; no row is an entailment.
  """
  table = read_named_columns(path, flag, list(columns), file_format)
  for (name, _), values in zip(columns, table.columns, strict=True):
    check_strings(table, values, name)
  hypotheses: dict[str, dict[str, list[str]]] = defaultdict(lambda: {_POSITIVE: [], _NEGATIVE: []})
  for premise, hypothesis, label in zip(*table.columns, strict=True):
    if label in (_POSITIVE, _NEGATIVE) and premise.strip() and hypothesis.strip():
      hypotheses[premise][label].append(hypothesis)
  rows = [(premise, positive, of_it[_NEGATIVE][number % len(of_it[_NEGATIVE])] if of_it[_NEGATIVE] else "")
          for premise, of_it in hypotheses.items() for number, positive in enumerate(of_it[_POSITIVE])]
  if not rows:
    raise UserError(f"{path}: no row is labelled {_POSITIVE!r} (column {shown(columns[2][0])})")
  return SentencePairs(path, [list(column) for column in zip(*rows, strict=True)])


def read_questions(path: str, flag: str) -> SentencePairs:
  """Reads questions and their paragraphs from a file in SQuAD's layout; what its paragraph does not answer is left out.

  Raises:
    UserError: see `read_squad`; no question is left.
  """
  data = read_squad(path, flag)
  pairs = [(question.text, data.contexts[question.context]) for question in data.questions
           if not question.is_impossible and question.text.strip() and data.contexts[question.context].strip()]
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


def read_retrieval(queries_file: str, documents_file: str, relevance_file: str, id_column: str, text_column: str
                   ) -> tuple[Retrieval, int]:
  """Reads the three files; also how many queries are left out as no document is relevant for them.

  Args:
    queries_file, documents_file: ids and texts, in the columns of these names.
    relevance_file: TSV or CSV with a header; the first columns are the ids of a query and a document, the third, where
      there is one, the grade: 0 is not relevant.

  Raises:
    UserError: names file and line: see `tables.py`; an id that occurs twice, or is not known.
  """
  query_ids, queries = _read_texts(queries_file, "queries_file", id_column, text_column)
  document_ids, documents = _read_texts(documents_file, "documents_file", id_column, text_column)
  relevant = _read_relevant(relevance_file, query_ids, document_ids)
  kept = [number for number, of_it in enumerate(relevant) if of_it]
  if not kept:
    raise UserError(f"--relevance_file: {relevance_file} has no relevant document for any query of {queries_file}")
  return Retrieval(queries_file, [queries[number] for number in kept], documents, list(document_ids),
                   [relevant[number] for number in kept]), len(queries) - len(kept)


def _read_texts(path: str, flag: str, id_column: str, text_column: str) -> tuple[dict[str, int], list[str]]:
  """Id → number, and texts."""
  table = read_named_columns(path, flag, [(id_column, "id_column"), (text_column, "text_column")])
  ids, texts = table.columns
  check_strings(table, texts, text_column)
  numbers: dict[str, int] = {}
  for row, one in enumerate(map(str, ids)):
    if numbers.setdefault(one, row) != row:
      raise UserError(f"{table.where(row)}: the id {shown(one)} is there twice, first at {table.where(numbers[one])}")
  return numbers, texts


def _read_relevant(path: str, queries: dict[str, int], documents: dict[str, int]) -> list[dict[int, float]]:
  """For each query document number → grade, above 0."""
  def columns_of(header: list[str]) -> tuple[list[int], bool]:
    if len(header) < 2 or header[0] in queries and header[1] in documents:
      raise UserError(f"--relevance_file: {path}:1: a header is expected, then the id of a query, that of a document "
                      "and a grade, with tabs between them: query-id, corpus-id, score")
    return list(range(min(len(header), 3))), True

  table = read_table(path, "relevance_file", "csv" if path.removesuffix(".gz").endswith(".csv") else "tsv", columns_of)
  grades = parse_labels(table, table.columns[2], None, regression=True) if len(table.columns) > 2 else np.ones(
      len(table.lines), np.float32)
  relevant: list[dict[int, float]] = [{} for _ in queries]
  for row, (query, document, grade) in enumerate(zip(*table.columns[:2], grades, strict=True)):
    if document not in documents:
      raise UserError(f"{table.where(row)}: no document has the id {shown(document)}")
    if query in queries and grade > 0:
      relevant[queries[query]][documents[document]] = float(grade)
  return relevant
