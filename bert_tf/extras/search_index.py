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

from bert_common import files, json_files
from bert_common.errors import UserError
from bert_common.progress import Progress
from bert_tf import run_results
from bert_tf.evaluation.retrieval import search
from bert_tf.extras.search import INDEX_FILE, SearchOptions
from bert_tf.inference.options import InferenceSettings
from bert_tf.inference.predictor import checked_id, parse_line
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
  """Makes an index, or answers queries with it."""
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
    print(f"wrote {options.index_dir}: {count:,} documents", file=sys.stderr)
  else:
    answer(options, model, Index(options.index_dir, digest))
  if model.truncated:
    print(f"{model.truncated:,} texts were longer than the {model.max_seq_length} tokens that the model takes and were "
          "truncated", file=sys.stderr)


def make_index(model: SentenceEmbeddingInference, digest: str, documents_file: str, index_dir: str) -> int:
  """Writes an index, whole or not at all; returns the number of documents.

  Args:
    digest: by which the index knows its model again.

  Raises:
    UserError: names file and line: no text, two documents with one id, not UTF-8.
  """
  size, ids = 0, set()
  with (files.new_directory(index_dir, "index_dir") as directory,
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
      progress.advance(len(part))
    if not ids:
      raise UserError(f"--documents_file: {documents_file} is empty: one document per line is expected")
    json_files.write(os.path.join(directory, INDEX_FILE), {
        "version": 1, "documents": len(ids), "size": size, "model": digest})
  return len(ids)


class Index:
  """An index on disk, opened for queries.

  Raises:
    UserError: its files do not belong together, or to the model.
  """

  def __init__(self, directory: str, digest: str):
    facts = json_files.read_object(os.path.join(directory, INDEX_FILE), {"documents": int, "size": int, "model": str})
    count, size = facts["documents"], facts["size"]
    if facts["model"] != digest:
      raise UserError(f"--index_dir: {directory} was made with another model than --init_checkpoint: make it again "
                      "with --documents_file")
    paths = [os.path.join(directory, name) for name in (_VECTORS, _OFFSETS, _DOCUMENTS)]
    self._damage = UserError(f"--index_dir: the files in {directory} are damaged: make it again with --documents_file")
    sizes = [os.path.getsize(path) if os.path.exists(path) else 0 for path in paths]
    if sizes[:2] != [4 * count * size, 8 * count] or not sizes[2]:
      raise self._damage
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
    # Not below 1 by rounding alone: longer vectors are none that `make_index` has written.
    if not (np.abs(scores) < 1.001).all():
      raise self._damage
    found = []
    with open(self._documents, "rb") as file:
      for row in zip(scores, numbers, strict=True):
        found.append([])
        for score, number in zip(*row, strict=True):
          try:
            file.seek(self._offsets[number])
            document = json_files.parse(file.readline().decode())
            json_files.check_object(document, {"text": str}, self._documents)
          except (OSError, ValueError, UserError):
            raise self._damage from None
          found[-1].append({"score": to_json(score), **document})
    return found


def answer(options: SearchOptions, model: SentenceEmbeddingInference, index: Index) -> None:
  """Writes a line for each query with its nearest documents, in the order of a cross-encoder where one is given."""
  rerank = reranker(options.rerank_checkpoint, options.batch_size) if options.rerank_checkpoint else None
  source = "/dev/stdin" if options.input_file == "-" else options.input_file
  with files.atomic_write("/dev/stdout" if options.output_file == "-" else options.output_file) as file:
    for part in _parts(source, "input_file", _QUERIES_AT_ONCE):
      found = index.search(_vectors(model, part), options.top_k)
      for query, documents in zip(part, found, strict=True):
        if rerank:
          documents = rerank(query["text"], documents)
        file.write(json.dumps({**query, "documents": documents}, ensure_ascii=False) + "\n")
      file.flush()


def reranker(checkpoint: str, batch_size: int):
  """A function of a query and its documents that gives these their "relevance" and returns them, the best first.

  The relevance is a probability, or a score of regression.

  Raises:
    UserError: the model is no classifier of pairs with two classes, and no regression.
  """
  loaded = open_checkpoint(checkpoint)
  model = load_task(loaded, choose_task(loaded, "classification"), InferenceSettings(batch_size=batch_size))
  assert isinstance(model, ClassificationInference)
  if "text_b" not in model.text_inputs or model.multi_label or len(model.labels or "12") != 2:
    raise UserError(f"--rerank_checkpoint: {checkpoint} can't rank: a classifier of pairs of texts with two classes, "
                    "of which the second is relevant, or a regression of them is expected")

  def rerank(query: str, documents: list[dict]) -> list[dict]:
    outputs = model.run(model.examples([(query, one["text"]) for one in documents]))
    scores = outputs["score"] if model.labels is None else outputs["probabilities"][:, 1]
    ranked = [{"relevance": to_json(score), **one} for score, one in zip(scores, documents, strict=True)]
    return sorted(ranked, key=lambda one: -one["relevance"])

  return rerank


def _parts(path: str, flag: str, size: int) -> Iterator[list[dict]]:
  """{"id", "text"} of the lines of a file, so many at a time; the id is the number of the line where there is none."""
  lines = ((number, line.rstrip("\r\n")) for number, line in numbered_lines(path, flag) if line.strip())
  while chunk := list(itertools.islice(lines, size)):
    part = []
    for number, line in chunk:
      try:
        value = parse_line(line.encode(), pairs=False)
        given = value if isinstance(value, dict) else {"text": line}
        (text,) = texts_of({key: one for key, one in given.items() if key != "id"}, (("text",),))
        part.append({"id": checked_id(given.get("id", number)), "text": text})
      except UserError as error:
        raise UserError(f"{path}:{number}: {error}") from None
    yield part


def _vectors(model: SentenceEmbeddingInference, texts: list[dict]) -> np.ndarray:
  """float32 [E, D], of length 1."""
  return unit_length(model.embed([(one["text"],) for one in texts])).numpy()
