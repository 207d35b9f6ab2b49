"""Exact search for the nearest documents by the cosine of vectors: the index on disk, and its queries.

Input: a model of `run_sentence_embedding.py`, documents and queries. Output: a directory with the vectors, which are
read a part at a time; for each query the nearest documents. It works for any number of documents that fits on the disk.
"""

import itertools
import json
import os
import sys
from collections.abc import Iterator

import numpy as np

from bert_common import directories, files, json_files, run_results
from bert_common.errors import UserError
from bert_common.progress import Progress
from bert_tf.evaluation.retrieval import search
from bert_tf.inference.options import InferenceSettings
from bert_tf.inference.predictor import checked_id, parse_line
from bert_tf.inference.search_options import INDEX_FILE, SearchOptions
from bert_tf.inference.task_table import choose_task, load_task
from bert_tf.tasks.classification.inference import ClassificationInference
from bert_tf.tasks.inference import texts_of, to_json
from bert_tf.tasks.sentence_embedding.inference import SentenceEmbeddingInference
from data_gen.labelled.tables import numbered_lines
from modeling.checkpoints.companion_files import SENTENCE_EMBEDDING
from modeling.checkpoints.load import open_checkpoint
from modeling.sentence_embedding import unit_length

_VECTORS, _DOCUMENTS, _OFFSETS = "vectors.f32", "documents.jsonl", "offsets.i64"
# Vectors of the file and queries that are in memory together.
_DOCUMENTS_AT_ONCE, _QUERIES_AT_ONCE = 1 << 13, 64


def run(options: SearchOptions) -> None:
  """Makes an index, or answers queries with it, for `search.py`."""
  loaded = open_checkpoint(options.init_checkpoint, **options.companions())
  if (loaded.task or {}).get("kind") != SENTENCE_EMBEDDING:
    raise UserError(f"--init_checkpoint: {options.init_checkpoint} is no model of run_sentence_embedding.py: the "
                    "cosines of other vectors mean little")
  settings = InferenceSettings(batch_size=options.batch_size, max_seq_length=options.max_seq_length)
  model = load_task(loaded, SENTENCE_EMBEDDING, settings)
  assert isinstance(model, SentenceEmbeddingInference) and loaded.source
  digest = run_results.digest(
      [loaded.source.fingerprint(), loaded.tokenizer.vocabulary.fingerprint, model.vectors.pooling])
  if options.documents_file:
    count = make_index(model, digest, options.documents_file, options.index_dir)
    _log(f"wrote {options.index_dir}: {count:,} documents")
  else:
    _answer(options, model, digest)
  if model.truncated:
    _log(f"{model.truncated:,} texts were longer than the {model.max_seq_length} tokens that the model takes and were "
         "truncated")


def _answer(options: SearchOptions, model: SentenceEmbeddingInference, digest: str) -> None:
  index = Index(options.index_dir, digest)
  reranker = Reranker(options.rerank_checkpoint, options.batch_size) if options.rerank_checkpoint else None
  source = "/dev/stdin" if options.input_file == "-" else options.input_file
  target = "/dev/stdout" if options.output_file == "-" else options.output_file
  with files.atomic_write(target) as file:
    for part in _parts(source, "input_file", _QUERIES_AT_ONCE):
      answers = index.search(_vectors(model, part), options.top_k)
      for one, found in zip(part, reranker(part, answers) if reranker else answers, strict=True):
        file.write(json.dumps({**one, "documents": found}, ensure_ascii=False) + "\n")
      file.flush()


def make_index(model: SentenceEmbeddingInference, digest: str, documents_file: str, index_dir: str) -> int:
  """Writes an index, whole or not at all; returns the number of documents.

  Args:
    digest: by which the index knows its model again.

  Raises:
    UserError: names file and line: no text, two documents with one id, not UTF-8.
  """
  count = size = 0
  ids: set[str] = set()
  with (directories.new_directory(index_dir, "index_dir") as directory,
        Progress("documents", total=None, unit="documents") as progress,
        open(os.path.join(directory, _VECTORS), "wb") as vectors_file,
        open(os.path.join(directory, _DOCUMENTS), "wb") as documents,
        open(os.path.join(directory, _OFFSETS), "wb") as offsets):
    for part in _parts(documents_file, "documents_file", _DOCUMENTS_AT_ONCE):
      vectors = _vectors(model, part)
      vectors_file.write(vectors.tobytes())
      size = vectors.shape[1]
      for document in part:
        if str(document["id"]) in ids:
          raise UserError(f"{documents_file}: two documents have the id {document['id']!r}")
        ids.add(str(document["id"]))
        offsets.write(np.int64(documents.tell()).tobytes())
        documents.write(json_files.line_of(document).encode())
      count += len(part)
      progress.advance(len(part))
    if not count:
      raise UserError(f"--documents_file: {documents_file} is empty: one document per line is expected")
    json_files.write(os.path.join(directory, INDEX_FILE), {
        "version": 1, "documents": count, "size": size, "model": digest})
  return count


class Index:
  """An index on disk, opened for queries.

  Raises:
    UserError: its files do not belong together, or to the model.
  """

  def __init__(self, directory: str, digest: str):
    facts = json_files.read_object(os.path.join(directory, INDEX_FILE),
                                   {"documents": int, "size": int, "model": str})
    count, size = facts["documents"], facts["size"]
    if facts["model"] != digest:
      raise UserError(f"--index_dir: {directory} was made with another model than --init_checkpoint: make it again "
                      "with --documents_file")
    paths = [os.path.join(directory, name) for name in (_VECTORS, _OFFSETS, _DOCUMENTS)]
    sizes = [os.path.getsize(path) if os.path.exists(path) else 0 for path in paths]
    if sizes[:2] != [4 * count * size, 8 * count] or not sizes[2]:
      raise self._damaged(directory)
    self._directory = directory
    self._vectors = np.memmap(paths[0], np.float32, "r", shape=(count, size))
    self._offsets = np.memmap(paths[1], np.int64, "r", shape=(count,))
    self._documents = paths[2]

  def search(self, queries: np.ndarray, k: int) -> list[list[dict]]:
    """The k nearest documents of each query, the best first, each with its "score", a cosine.

    Args:
      queries: float32 [Q, D] of length 1.

    Raises:
      UserError: the files are damaged.
    """
    chunks = (self._vectors[start:start + _DOCUMENTS_AT_ONCE]
              for start in range(0, len(self._vectors), _DOCUMENTS_AT_ONCE))
    scores, numbers = search(queries, chunks, k)
    if not np.isfinite(scores).all():
      raise self._damaged(self._directory)
    with open(self._documents, "rb") as file:
      return [[{"score": to_json(score), **self._document(file, number)} for score, number in zip(*row, strict=True)]
              for row in zip(scores, numbers, strict=True)]

  def _document(self, file, number: int) -> dict:
    try:
      file.seek(self._offsets[number])
      document = json_files.parse(file.readline().decode())
      json_files.check_object(document, {"text": str}, self._documents)
    except (OSError, ValueError, UserError):
      raise self._damaged(self._directory) from None
    return document

  @staticmethod
  def _damaged(directory: str) -> UserError:
    return UserError(f"--index_dir: the files in {directory} are damaged: make it again with --documents_file")


class Reranker:
  """A cross-encoder, which orders documents by reading them together with the query.

  Raises:
    UserError: it is no classifier of pairs with two classes, and no regression.
  """

  def __init__(self, checkpoint: str, batch_size: int):
    loaded = open_checkpoint(checkpoint)
    model = load_task(loaded, choose_task(loaded, "classification"), InferenceSettings(batch_size=batch_size))
    assert isinstance(model, ClassificationInference)
    if "text_b" not in model.text_inputs or model.multi_label or len(model.labels or "12") != 2:
      raise UserError(f"--rerank_checkpoint: {checkpoint} can't rank: a classifier of pairs of texts with two classes, "
                      "of which the second is relevant, or a regression of them is expected")
    self._model = model

  def __call__(self, queries: list[dict], found: list[list[dict]]) -> list[list[dict]]:
    """The same documents with their "relevance", a probability or a score of regression, the best first."""
    pairs = [(query["text"], document["text"]) for query, row in zip(queries, found, strict=True) for document in row]
    outputs = self._model.run(self._model.examples(pairs))
    scores = iter(outputs["score"] if self._model.labels is None else outputs["probabilities"][:, 1])
    ranked = [[{"relevance": to_json(next(scores)), **document} for document in row] for row in found]
    return [sorted(row, key=lambda one: -one["relevance"]) for row in ranked]


def _parts(path: str, flag: str, size: int) -> Iterator[list[dict]]:
  """{"id", "text"} of the lines of a file, so many at a time; the id is the number of the line where there is none."""
  lines = ((number, line.rstrip("\r\n")) for number, line in numbered_lines(path, flag) if line.strip())
  while part := [_document_of(line, f"{path}:{number}", number) for number, line in itertools.islice(lines, size)]:
    yield part


def _document_of(line: str, where: str, number: int) -> dict:
  try:
    value = parse_line(line.encode(), pairs=False)
    if not isinstance(value, dict):
      return {"id": number, "text": line}
    (text,) = texts_of({key: part for key, part in value.items() if key != "id"}, (("text",),))
    return {"id": checked_id(value.get("id", number)), "text": text}
  except UserError as error:
    raise UserError(f"{where}: {error}") from None


def _vectors(model: SentenceEmbeddingInference, texts: list[dict]) -> np.ndarray:
  """float32 [E, D], of length 1."""
  return unit_length(model.embed([(one["text"],) for one in texts])).numpy()


def _log(line: str) -> None:
  print(line, file=sys.stderr, flush=True)
