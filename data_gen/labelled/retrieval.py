"""Queries, documents, and which of them answer which: the layout of BEIR and custom files.

Input: three files, TSV, CSV or JSON lines. Output: `Retrieval`, which scores of a ranking are computed from.
"""

import dataclasses

import numpy as np

from bert_common.errors import UserError
from data_gen.labelled.labelled_files import parse_labels, read_named_columns
from data_gen.labelled.tables import Table, check_strings, read_table, shown


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
  file_format = "csv" if path.removesuffix(".gz").endswith(".csv") else "tsv"

  def columns_of(header: list[str]) -> tuple[list[int], bool]:
    if header[0] in queries and header[1:2] and header[1] in documents:
      raise UserError(f"--relevance_file: {path}:1 has no header but the ids {shown(header[0])} and "
                      f"{shown(header[1])}: put a line with names above it, e.g. query-id, corpus-id, score")
    return list(range(min(len(header), 3))), True

  table = read_table(path, "relevance_file", file_format, columns_of)
  if len(table.columns) < 2:
    raise UserError(f"--relevance_file: {path} has one column; the id of a query, that of a document and a grade are "
                    "expected, with tabs between them")
  grades = parse_labels(table, table.columns[2], None, regression=True) if len(table.columns) > 2 else np.ones(
      len(table.lines), np.float32)
  relevant: list[dict[int, float]] = [{} for _ in queries]
  for row, (query, document, grade) in enumerate(zip(*table.columns[:2], grades, strict=True)):
    document_number = _number(table, row, document, documents, "document")
    if query in queries and grade > 0:
      relevant[queries[query]][document_number] = float(grade)
  return relevant


def _number(table: Table, row: int, one: str, numbers: dict[str, int], what: str) -> int:
  if one not in numbers:
    raise UserError(f"{table.where(row)}: no {what} has the id {shown(one)}")
  return numbers[one]
