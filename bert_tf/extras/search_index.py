"""Exact search for the nearest documents by the cosine of vectors, or where the encoder says so by
their dot product: the index on disk, and its queries.

- index.json: manifest (`bert_common/manifests.py`): model, pooling, prompts; number of documents
  N, size of vectors D
- vectors.f32: float32 [N, D], of length 1 for cosines, read a part at a time
- documents.jsonl: {"id", "text"}, one per line
- offsets.i64: int64 [N], where each of these lines begins

Input: a sentence encoder, documents and queries. Output: an index; for each query the nearest
documents.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence

import numpy as np

from bert_common import files, json_files, manifests
from bert_common.errors import UserError, say
from bert_common.progress import Progress
from bert_common.text_lines import numbered_lines
from bert_tf.evaluation.retrieval import search
from bert_tf.extras.search import INDEX_FILE, SearchOptions
from bert_tf.inference.options import InferenceSettings
from bert_tf.inference.predictor import checked_id, parse_line
from bert_tf.runs import contents
from bert_tf.tasks.inference import texts_of, to_json
from bert_tf.tasks.sentence_embedding.inference import SentenceEmbeddingInference
from modeling.checkpoints.load import open_checkpoint
from modeling.checkpoints.sentence_vectors import DenseLayer
from modeling.sentence_embedding import unit_length

_VECTORS_FILE = "vectors.f32"
_DOCUMENTS_FILE = "documents.jsonl"
_OFFSETS_FILE = "offsets.i64"
_FILES = (_VECTORS_FILE, _DOCUMENTS_FILE, _OFFSETS_FILE)
_VERSION = 2
# Documents and queries whose vectors are in memory together.
_DOCUMENTS_AT_ONCE = 1 << 13
_QUERIES_AT_ONCE = 64


def run(options: SearchOptions) -> None:
    """Builds an index, or answers queries with it.

    Raises `UserError` if documents or weights change meanwhile.
    """
    facts = contents.InputFacts.of(options)
    checkpoint = open_checkpoint(options.init_checkpoint, **options.companions())
    if checkpoint.vectors is None:
        raise UserError(
            f"--init_checkpoint: {options.init_checkpoint} is no sentence encoder, neither of "
            "run_sentence_embedding.py nor of sentence-transformers: the cosines of other vectors "
            "mean little"
        )
    checkpoint.say_notes()
    similarity = checkpoint.vectors.similarity
    if similarity not in ("cosine", "dot"):
        raise UserError(
            f"--init_checkpoint: {options.init_checkpoint} compares vectors by {similarity}, which "
            "is not known here: only cosine and dot are"
        )
    settings = InferenceSettings(
        batch_size=options.batch_size, max_seq_length=options.max_seq_length
    )
    model = SentenceEmbeddingInference(checkpoint, settings)
    # The vectors of an index depend on these; a query must come from the same.
    sources = {
        "model": contents.content_digest(contents.weight_files([options.init_checkpoint])),
        "vectors": {
            **dataclasses.asdict(checkpoint.vectors),
            "max_seq_length": None,
            "dense": _dense_digest(model.model.dense),
        },
        "config": checkpoint.config.to_dict(),
        "vocabulary": checkpoint.tokenizer.vocabulary.fingerprint,
    }
    # Sentence encoders may have different prompts for documents and queries.
    if options.documents_file:
        model.prompt = checkpoint.vectors.prompt("document", "passage", "corpus")
        make_index(options, model, sources, facts)
    else:
        model.prompt = checkpoint.vectors.prompt("query")
        answer(options, model, sources)
    if model.truncated:
        say(
            f"{model.truncated:,} texts were longer than the {model.max_seq_length} tokens that "
            "the model takes and were truncated",
            file=sys.stderr,
        )


def make_index(
    options: SearchOptions,
    model: SentenceEmbeddingInference,
    sources: dict[str, object],
    facts: contents.InputFacts,
) -> None:
    """Writes an index, whole or not at all.

    Raises:
      UserError: there is no document, a line is none, or two have the same id.
    """
    # Known with the first vectors.
    vector_size = 0
    ids = set()
    path = options.documents_file
    with files.new_directory(options.index_dir, "index_dir") as directory:
        with (
            Progress("documents", total=None, unit="documents") as progress,
            open(os.path.join(directory, _VECTORS_FILE), "wb") as vectors_file,
            open(os.path.join(directory, _DOCUMENTS_FILE), "wb") as documents_file,
            open(os.path.join(directory, _OFFSETS_FILE), "wb") as offsets_file,
        ):
            for documents in _read_parts(path, "documents_file", _DOCUMENTS_AT_ONCE):
                vectors = _embed(model, documents)
                vectors_file.write(vectors.tobytes())
                vector_size = vectors.shape[1]
                for document in documents:
                    if str(document["id"]) in ids:
                        raise UserError(f"{path}: two documents have the id {document['id']!r}")
                    ids.add(str(document["id"]))
                    offsets_file.write(np.int64(documents_file.tell()).tobytes())
                    documents_file.write(json_files.line_of(document).encode())
                progress.advance(len(documents))
        # An index without documents would have vectors of no size.
        if not ids:
            raise UserError(f"--documents_file: {path} is empty: one document per line is expected")
        facts.check()
        manifests.write_manifest(
            os.path.join(directory, INDEX_FILE),
            _VERSION,
            sources,
            _FILES,
            documents=len(ids),
            size=vector_size,
        )
    say(f"wrote {options.index_dir}: {len(ids):,} documents", file=sys.stderr)


def answer(
    options: SearchOptions, model: SentenceEmbeddingInference, sources: dict[str, object]
) -> None:
    """Writes a line for each query; raises `UserError` if the index is damaged or of another
    model."""
    index_file = os.path.join(options.index_dir, INDEX_FILE)
    source = "/dev/stdin" if options.input_file == "-" else options.input_file
    target = "/dev/stdout" if options.output_file == "-" else options.output_file
    with contextlib.ExitStack() as opened:
        try:
            facts, (vectors_file, documents_file, offsets_file) = manifests.read_manifest(
                index_file, _VERSION, sources, _FILES, {"documents": int, "size": int}, opened
            )
        except UserError as error:
            raise _wrong_index(options, str(error)) from None
        num_documents = facts["documents"]
        # The digests only say that the files are those of the manifest, which may be a stranger's.
        num_bytes = [facts["files"][name][0] for name in _FILES]
        sizes = dict(zip(_FILES, num_bytes, strict=True))
        vector_bytes = num_documents * facts["size"] * 4
        if (sizes[_VECTORS_FILE], sizes[_OFFSETS_FILE]) != (vector_bytes, num_documents * 8):
            raise _wrong_index(options, "its files have not the sizes of its documents")
        # Mapped files need no memory of their own, however large the index is.
        vectors = np.memmap(vectors_file, np.float32, "r", shape=(num_documents, facts["size"]))
        offsets = np.memmap(offsets_file, np.int64, "r", shape=(num_documents,))
        if num_documents < 1 or offsets[0] != 0 or np.any(np.diff(offsets) < 1):
            raise _wrong_index(options, "its offsets do not ascend from 0")
        if offsets[-1] >= sizes[_DOCUMENTS_FILE]:
            raise _wrong_index(options, "its offsets lead beyond its documents")
        file = opened.enter_context(files.atomic_write(target))
        for queries in _read_parts(source, "input_file", _QUERIES_AT_ONCE):
            starts = range(0, num_documents, _DOCUMENTS_AT_ONCE)
            chunks = (
                _finite(vectors[start : start + _DOCUMENTS_AT_ONCE], options) for start in starts
            )
            scores, numbers = search(_embed(model, queries), chunks, options.top_k)
            for row, query in enumerate(queries):
                nearest = []
                for score, number in zip(scores[row], numbers[row], strict=True):
                    documents_file.seek(offsets[number])
                    document = json_files.parse(documents_file.readline().decode())
                    nearest.append({"score": to_json(score), **document})
                line = json.dumps({**query, "documents": nearest}, ensure_ascii=False)
                file.write(line + "\n")
            # A program at the other end of a pipe may wait for these answers.
            file.flush()


def _wrong_index(options: SearchOptions, problem: str) -> UserError:
    return UserError(
        f"--index_dir: {options.index_dir}: {problem}: make the index again with --documents_file "
        "and this model"
    )


def _finite(vectors: np.ndarray, options: SearchOptions) -> np.ndarray:
    """Returns vectors; raises `UserError` for NaN and infinity, which no document is nearest to."""
    if not np.isfinite(vectors).all():
        raise _wrong_index(options, "its vectors hold values that are not finite")
    return vectors


def _embed(model: SentenceEmbeddingInference, inputs: list[dict]) -> np.ndarray:
    """Returns the vectors of texts, float32 [B, D]; of length 1 if cosines are compared."""
    vectors = model.embed([(item["text"],) for item in inputs])
    if model.vectors.similarity == "dot":
        return vectors
    return unit_length(vectors).numpy()


def _dense_digest(layers: Sequence[DenseLayer]) -> list[str]:
    """Returns a digest of each dense layer: their directory may be moved."""
    digests = []
    for layer in layers:
        content = layer.kernel.tobytes() + layer.bias.tobytes() + layer.activation.encode()
        digests.append(hashlib.sha256(content).hexdigest())
    return digests


def _read_parts(path: str, flag: str, size: int) -> Iterator[list[dict]]:
    """Yields {"id", "text"} of the lines of a file, `size` at a time; the default id is the number
    of the line."""
    part = []
    for number, line in numbered_lines(path, flag):
        line = line.rstrip("\r\n")
        if not line.strip():
            continue
        try:
            value = parse_line(line.encode(), pairs=False)
            fields = dict(value) if isinstance(value, dict) else {"text": line}
            document_id = checked_id(fields.pop("id", number))
            (text,) = texts_of(fields, (("text",),))
        except UserError as error:
            raise UserError(f"{path}:{number}: {error}") from None
        # Parts bound the memory: the file may be larger.
        part.append({"id": document_id, "text": text})
        if len(part) == size:
            yield part
            part = []
    if part:
        yield part
