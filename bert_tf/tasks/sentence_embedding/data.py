"""From pairs of texts, and retrieval sets, to examples in memory.

Input: files (`data_gen/labelled/sentence_pairs.py`). Output: sequences of all different texts, which
`bert_tf/tasks/sentence_embedding/task.py` trains on.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from bert_tf.tasks.sentence_embedding.examples import SentenceExamples
from bert_tf.tasks.sentence_embedding.options import (
  LABELLED,
  NLI,
  PAIRS,
  SEARCHED,
  SQUAD,
  STS_B,
  TEXT,
  SentenceEmbeddingOptions,
)
from bert_tf.tasks.splits import Split, TaskData
from data_gen.labelled import sentence_pairs
from data_gen.labelled.pair_features import encode_pairs
from data_gen.labelled.sentence_pairs import Retrieval, SentencePairs, read_retrieval
from data_gen.tokenization.tokenizer import Tokenizer
from modeling.checkpoints.companion_files import SENTENCE_EMBEDDING
from modeling.checkpoints.load import Checkpoint
from modeling.checkpoints.sentence_transformers import known_vectors
from modeling.sentence_embedding import NO_TEXT


@dataclasses.dataclass(frozen=True)
class SentenceSplit(Split):
  """A file and its texts.

  Attributes:
    task: one of `--task_name`; None for a retrieval set.
    queries, documents: int64 [Q] and [N], their rows among the texts; empty for sets with scores or labels.
    relevant: for each query document → grade.
  """

  task: str | None
  queries: np.ndarray
  documents: np.ndarray
  relevant: list[dict[int, float]]

  @property
  def is_labelled(self) -> bool:
    return self.is_ranked or super().is_labelled

  @property
  def is_ranked(self) -> bool:
    """Whether documents are ranked, rather than pairs scored."""
    return bool(len(self.queries))


def read_data(options: SentenceEmbeddingOptions, opened: Checkpoint) -> TaskData:
  """Reads what a run needs and makes sequences of it."""
  opened.config.check_sequence_length(options.max_seq_length, "--max_seq_length")
  notes: list[str] = []
  sources: dict[str, SentencePairs | Retrieval] = {}
  if options.do_train:
    sources["train"] = _read(options, options.task_name, "train", options.train_file).first(options.max_train_examples)
  if options.do_predict:
    sources["test"] = _read(options, options.evaluated_task, "test", options.test_file).first(
        options.max_predict_examples)
  if options.evaluates:
    sources |= _development_sources(options, notes)
  splits = {name: _encode(opened.tokenizer, source, _task_of(options, name), options.max_seq_length, name, notes)
            for name, source in sources.items()}
  return TaskData(
      train=splits.pop("train", None), test={"test": splits.pop("test")} if "test" in splits else {}, dev=splits,
      notes=notes, description={
          "kind": SENTENCE_EMBEDDING, "task_name": options.task_name,
          "pooling": known_vectors(opened.vectors, options.pooling).pooling, "normalize": options.normalize,
          "max_seq_length": options.max_seq_length})


def _task_of(options: SentenceEmbeddingOptions, name: str) -> str | None:
  return {"train": options.task_name, "retrieval": None}.get(name, options.evaluated_task)


def _development_sources(options: SentenceEmbeddingOptions, notes: list[str]) -> dict:
  found: dict = {}
  if "dev" in options.metric_names():
    found["dev"] = _read(options, options.evaluated_task, "dev", options.dev_file)
  if options.retrieval_files:
    found["retrieval"], left_out = read_retrieval(
        **options.retrieval_files, id_column=options.id_column, text_column=options.text_column)
    if left_out:
      notes.append(f"{options.queries_file}: {left_out:,} queries have no relevant document and are left out")
  found |= {name: _read(options, options.evaluated_task, name, path) for name, path in options.named_eval_files.items()}
  count = options.max_eval_examples
  return {name: source.first(count) if isinstance(source, SentencePairs) else source for name, source in found.items()}


def _read(options: SentenceEmbeddingOptions, task: str, split: str, path: str | None) -> SentencePairs:
  flag = f"{split}_file" if split in ("train", "dev", "test") else "eval_files"
  if path is not None:
    files.check_readable(path, flag)
  if task == STS_B:
    return sentence_pairs.read_sts_b(options.data_dir or "", split if flag != "eval_files" else "dev", path)
  assert path is not None  # `options.check` has seen to that.
  if task == SQUAD:
    return sentence_pairs.read_questions(path, flag)
  first = (options.text_a_column or "sentence1", "text_a_column")
  columns = [first, (options.text_b_column, "text_b_column")]
  if task == TEXT:
    return sentence_pairs.read_texts(path, flag, first if options.text_a_column else None, options.file_format)
  label = None if task == PAIRS or split == "test" and options.label_column is None else (
      options.label_column_of(task), "label_column")
  if task == NLI:
    return sentence_pairs.read_nli(
        path, flag, [*columns, (options.label_column_of(task), "label_column")], options.file_format)
  if task == PAIRS:
    columns += [(name, "negative_columns") for name in options.negative_columns]
  return sentence_pairs.read_columns(path, flag, columns, label, options.highest_score, task == LABELLED,
                                     options.file_format)


def _encode(tokenizer: Tokenizer, source: SentencePairs | Retrieval, task: str | None, max_seq_length: int,
            name: str, notes: list[str]) -> SentenceSplit:
  columns = source.columns if isinstance(source, SentencePairs) else [source.queries, source.documents]
  texts, rows = _number_texts(columns)
  features = encode_pairs(tokenizer, texts, None, max_seq_length)
  if features.truncated:
    notes.append(f"{name}: {features.truncated:,} of {len(texts):,} texts were truncated to {max_seq_length} tokens")
  values = {} if source.labels is None else {"label_ids": source.labels}
  ranking: tuple = (np.empty(0, np.int64), np.empty(0, np.int64), [])
  if not isinstance(source, SentencePairs):
    ranking = (*rows, source.relevant)
  elif name != "train" and task in SEARCHED:
    ranking = _ranking_of(rows)
  same_length = isinstance(source, SentencePairs)
  examples = SentenceExamples(
      {"input_ids": features.input_ids, "segment_ids": features.segment_ids}, features.row_lengths, values,
      texts=np.stack(rows, axis=1) if same_length else np.empty((0, 1), np.int64))
  if name == "train" and task in (*SEARCHED, TEXT) and len(np.unique(rows[0])) < 2:
    raise UserError(f"--train_file: {source.path} has one anchor only: there is nothing to tell its positive from")
  return SentenceSplit(source, examples, task, *ranking)


def _number_texts(columns: Sequence[Sequence[str]]) -> tuple[list[str], list[np.ndarray]]:
  """The different texts, and of each column the rows among them, int64; `NO_TEXT` for an empty one."""
  numbers: dict[str, int] = {}
  rows = [np.array([numbers.setdefault(text, len(numbers)) if text.strip() else NO_TEXT for text in texts], np.int64)
          for texts in columns]
  return list(numbers), rows


def _ranking_of(rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, list[dict[int, float]]]:
  """Pairs as a retrieval set: anchors are queries, all other texts documents."""
  documents = np.unique(np.concatenate(rows[1:]))
  documents = documents[documents != NO_TEXT]
  relevant: dict[int, dict[int, float]] = defaultdict(dict)
  for anchor, document in zip(rows[0].tolist(), np.searchsorted(documents, rows[1]).tolist(), strict=True):
    relevant[anchor][document] = 1.0
  return np.array(list(relevant), np.int64), documents, list(relevant.values())
