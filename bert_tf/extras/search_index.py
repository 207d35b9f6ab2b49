"""Exact search for the nearest documents by the cosine of vectors: the index on disk, and its
queries.

  index.json       manifest (`bert_tf/runs/provenance.py`): model, pooling, prompts; how many
  documents, of what size vectors.f32      float32 [N, D] of length 1, read a part at a time
  documents.jsonl  {"id", "text"}, one per line; offsets.i64, int64 [N]: where each begins

Input: a sentence encoder, documents and queries. Output: an index; for each query the nearest
documents.
"""

import dataclasses
import itertools
import json
import os
import sys
from collections.abc import Iterator

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError
from bert_common.progress import Progress
from bert_tf.evaluation.retrieval import search
from bert_tf.extras.search import INDEX_FILE, SearchOptions
from bert_tf.inference.options import InferenceSettings
from bert_tf.inference.predictor import checked_id, parse_line
from bert_tf.runs import provenance
from bert_tf.tasks.inference import texts_of, to_json
from bert_tf.tasks.sentence_embedding.inference import SentenceEmbeddingInference
from data_gen.labelled.tables import numbered_lines
from modeling.checkpoints.load import open_checkpoint
from modeling.sentence_embedding import unit_length

_VECTORS, _DOCUMENTS, _OFFSETS = "vectors.f32", "documents.jsonl", "offsets.i64"
_VERSION = 2
# Vectors of the file and queries that are in memory together.
_DOCUMENTS_AT_ONCE, _QUERIES_AT_ONCE = 1 << 13, 64


def run(options: SearchOptions) -> None:
    """Makes an index, or answers queries with it."""
    loaded = open_checkpoint(options.init_checkpoint, **options.companions())
    if loaded.vectors is None:
        raise UserError(
            f"--init_checkpoint: {options.init_checkpoint} is no sentence encoder, neither of "
            "run_sentence_embedding.py nor of sentence-transformers: the cosines of other vectors mean little"
        )
    model = SentenceEmbeddingInference(
        loaded,
        InferenceSettings(batch_size=options.batch_size, max_seq_length=options.max_seq_length),
    )
    # Texts of both kinds may have prompts of their own.
    names = ("document", "passage", "corpus") if options.documents_file else ("query",)
    model.prompt = loaded.vectors.prompt(*names)
    # What the vectors of an index depend on.
    sources = {
        "model": provenance.content_digest(provenance.weight_files([options.init_checkpoint])),
        "vectors": dataclasses.asdict(loaded.vectors) | {"max_seq_length": None},
        "config": loaded.config.to_dict(),
        "vocabulary": loaded.tokenizer.vocabulary.fingerprint,
    }
    (make_index if options.documents_file else answer)(options, model, sources)
    if model.truncated:
        print(
            f"{model.truncated:,} texts were longer than the {model.max_seq_length} tokens that the model takes and were "
            "truncated",
            file=sys.stderr,
        )


def make_index(
    options: SearchOptions, model: SentenceEmbeddingInference, sources: dict[str, object]
) -> None:
    """Writes an index, whole or not at all; raises `UserError` for a line that is no document or
    has a known id."""
    size, ids, path = 0, set(), options.documents_file
    with files.new_directory(options.index_dir, "index_dir") as directory:
        with (
            Progress("documents", total=None, unit="documents") as progress,
            open(os.path.join(directory, _VECTORS), "wb") as vectors_file,
            open(os.path.join(directory, _DOCUMENTS), "wb") as documents,
            open(os.path.join(directory, _OFFSETS), "wb") as offsets,
        ):
            for part in _parts(path, "documents_file", _DOCUMENTS_AT_ONCE):
                vectors = unit_length(model.embed([(one["text"],) for one in part])).numpy()
                vectors_file.write(vectors.tobytes())
                size = vectors.shape[1]
                for document in part:
                    if str(document["id"]) in ids:
                        raise UserError(f"{path}: two documents have the id {document['id']!r}")
                    ids.add(str(document["id"]))
                    offsets.write(np.int64(documents.tell()).tobytes())
                    documents.write(json_files.line_of(document).encode())
                progress.advance(len(part))
        if not ids:
            raise UserError(f"--documents_file: {path} is empty: one document per line is expected")
        provenance.write_manifest(
            os.path.join(directory, INDEX_FILE),
            _VERSION,
            sources,
            [_VECTORS, _DOCUMENTS, _OFFSETS],
            documents=len(ids),
            size=size,
        )
    print(f"wrote {options.index_dir}: {len(ids):,} documents", file=sys.stderr)


def answer(
    options: SearchOptions, model: SentenceEmbeddingInference, sources: dict[str, object]
) -> None:
    """Writes a line for each query; raises `UserError` for an index of another model, or a damaged
    one."""
    directory = options.index_dir
    try:
        facts = provenance.read_manifest(
            os.path.join(directory, INDEX_FILE), _VERSION, sources, {"documents": int, "size": int}
        )
    except UserError as error:
        raise UserError(
            f"--index_dir: {error}: make the index again with --documents_file and this model"
        ) from None
    vectors = np.memmap(
        os.path.join(directory, _VECTORS),
        np.float32,
        "r",
        shape=(facts["documents"], facts["size"]),
    )
    offsets = np.memmap(
        os.path.join(directory, _OFFSETS), np.int64, "r", shape=(facts["documents"],)
    )
    source = "/dev/stdin" if options.input_file == "-" else options.input_file
    with (
        files.atomic_write(
            "/dev/stdout" if options.output_file == "-" else options.output_file
        ) as file,
        open(os.path.join(directory, _DOCUMENTS), "rb") as documents,
    ):
        for part in _parts(source, "input_file", _QUERIES_AT_ONCE):
            chunks = (
                vectors[start : start + _DOCUMENTS_AT_ONCE]
                for start in range(0, len(vectors), _DOCUMENTS_AT_ONCE)
            )
            queries = unit_length(model.embed([(one["text"],) for one in part])).numpy()
            for query, *row in zip(part, *search(queries, chunks, options.top_k), strict=True):
                found = []
                for score, number in zip(*row, strict=True):
                    documents.seek(offsets[number])
                    found.append({"score": to_json(score), **json.loads(documents.readline())})
                file.write(json.dumps({**query, "documents": found}, ensure_ascii=False) + "\n")
            file.flush()


def _parts(path: str, flag: str, size: int) -> Iterator[list[dict]]:
    """{"id", "text"} of the lines of a file, so many at a time; the id is the number of the line
    where there is none."""
    lines = (
        (number, line.rstrip("\r\n")) for number, line in numbered_lines(path, flag) if line.strip()
    )
    while chunk := list(itertools.islice(lines, size)):
        part = []
        for number, line in chunk:
            try:
                value = parse_line(line.encode(), pairs=False)
                given = value if isinstance(value, dict) else {"text": line}
                (text,) = texts_of(
                    {key: one for key, one in given.items() if key != "id"}, (("text",),)
                )
                part.append({"id": checked_id(given.get("id", number)), "text": text})
            except UserError as error:
                raise UserError(f"{path}:{number}: {error}") from None
        yield part
