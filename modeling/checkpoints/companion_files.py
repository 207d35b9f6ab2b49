"""A checkpoint of any format, and the companion files of its weights: configuration, vocabulary, casing.

  bert_config.json        the original's and ours
  vocab.txt               everybody's; Hugging Face's newer tools write its entries into tokenizer.json only
  tokenizer_config.json   do_lower_case, else that of the normalizer in tokenizer.json; the vocabulary's fingerprint

Input: a directory and what the reader of a format found there. Output: a `StoredWeights`.
"""

import atexit
import dataclasses
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError
from data_gen.tokenization.vocabulary import (
  TOKENIZER_CONFIG_FILE,
  Vocabulary,
  check_fingerprint,
  read_casing,
  read_fingerprint,
  short,
  write_tokenizer_config,
)
from modeling.checkpoints.weights import HEADS, heads_of
from modeling.config import BertConfig

CONFIG_FILE = "bert_config.json"
VOCAB_FILE = "vocab.txt"
# What a fine-tuned model is for: kind, names of the labels, lengths, thresholds.
TASK_FILE = "task.json"
# The options of a run, and its starts.
FLAGS_FILE = "flags.json"
# In the directory of a fine-tuning run: a directory with its best weights, and a file in it with their metrics.
BEST_DIRECTORY = "best"
BEST_RECORD = "best.json"
# What their readers need of them, see `json_files.read_object`.
_BEST_FIELDS = {"step": int, "metric": str, "metrics": dict[str, float]}
TASK_FIELDS = {**dict.fromkeys(("kind", "task_name", "words", "label_scheme", "truncate", "pooling"), str | None),
               **dict.fromkeys(("max_seq_length", "min_context"), int | None),
               "labels": list[str] | None, **dict.fromkeys(("pair", "normalize"), bool | None)}
# "kind" of a model whose vectors are compared.
SENTENCE_EMBEDDING = "sentence_embedding"
# Names of tasks in command lines and in `task.json` of earlier versions → those of today.
FORMER_TASK_NAMES = {"classifier": "classification", "squad": "question_answering", "ner": "token_classification",
                     "ner_features": "token_classification_from_features"}

_TOKENIZER_FILE = "tokenizer.json"


@dataclasses.dataclass(frozen=True)
class StoredWeights:
  """Weights that can be read by the names of the original (see `weights.py`).

  Every reader of a format makes one. Optimizer slots, counters and the like are not in it.

  Attributes:
    description: format and path, for messages.
    tensors: name → shape of each weight.
    read: name → float array of that shape. Raises `UserError` where the file is damaged, or the values are not finite.
    config: the configuration found with the weights, or None.
    vocab_file: path of the vocabulary found with the weights, or None.
    do_lower_case: whether the vocabulary is of lower-cased text, or None where it is unknown.
    vocab_sha256: `Vocabulary.fingerprint` of the vocabulary that it was trained with, or None where it is unknown.
    directory: where the weights are, and what else this project wrote with them; None where it is none of ours.
    path: of the weights: a prefix, or the first file.
  """

  description: str
  tensors: Mapping[str, tuple[int, ...]]
  read: Callable[[str], np.ndarray]
  config: BertConfig | None = None
  vocab_file: str | None = None
  do_lower_case: bool | None = None
  vocab_sha256: str | None = None
  directory: str | None = None
  path: str | None = None

  @property
  def heads(self) -> list[str]:
    """The heads that it has weights of, by the keys of `model.heads`."""
    return heads_of(self.tensors)

  def fingerprint(self) -> str:
    """SHA-256 of all weights by name, the same whatever their format."""
    digest = hashlib.sha256()
    for name in sorted(self.tensors):
      digest.update(f"{name} {self.tensors[name]}".encode() + np.asarray(self.read(name), np.float32).tobytes())
    return digest.hexdigest()

  def classes(self, head: str) -> int | None:
    """C of one of `HEADS`; None where that head is not in the checkpoint, or has no classes."""
    shape = self.tensors.get(HEADS[head].signature_name)
    return shape[0] if shape and not HEADS[head].parts else None


def read_best_record(directory: str) -> dict:
  """`best.json` in a directory of best weights: step, metric and metrics; empty where there is none.

  Raises:
    UserError: it is damaged, or does not have the metric that it names.
  """
  path = os.path.join(directory, BEST_RECORD)
  record = json_files.read_object(path, _BEST_FIELDS)
  if record:
    json_files.check_object(record, {"metrics": {record["metric"]: float}}, path)
  return record


def read_task_file(path: str) -> dict:
  """What `task.json` has a value of, the kind of task under the name of today; empty where there is none.

  Raises:
    UserError: it can't be read, is no JSON object, or has a value of another type.
  """
  task = {name: value for name, value in json_files.read_object(path, TASK_FIELDS).items() if value is not None}
  return {**task, "kind": FORMER_TASK_NAMES.get(task["kind"], task["kind"])} if "kind" in task else task


def with_companion_files(checkpoint: StoredWeights, directory: str) -> StoredWeights:
  """Adds what lies in the directory of the weights and their reader has not found itself.

  Raises:
    UserError: a file is damaged.
  """
  config_file = os.path.join(directory, CONFIG_FILE)
  config = checkpoint.config
  if config is None and files.exists(config_file):
    config = BertConfig.from_file(config_file)
  tokenizer_file = os.path.join(directory, _TOKENIZER_FILE)
  # Another program may have anything in it.
  tokenizer = json_files.read(tokenizer_file) if files.exists(tokenizer_file) else {}
  tokenizer = tokenizer if isinstance(tokenizer, dict) else {}
  normalizer = tokenizer.get("normalizer")
  casings = [read_casing(directory), normalizer.get("lowercase") if isinstance(normalizer, dict) else None]
  beside = os.path.join(directory, VOCAB_FILE)
  vocab_file: str | None = beside
  if not files.exists(beside):
    vocab_file = _extracted_vocabulary(tokenizer, tokenizer_file) or checkpoint.vocab_file
  return dataclasses.replace(
      checkpoint, config=config, vocab_file=vocab_file, directory=directory,
      do_lower_case=next((fact for fact in casings if isinstance(fact, bool)), checkpoint.do_lower_case),
      vocab_sha256=read_fingerprint(directory))


def write_companion_files(directory: str, config: BertConfig, vocab_file: str | None, do_lower_case: bool | None,
                          vocab_sha256: str | None = None, **more: object) -> None:
  """Writes the vocabulary, where there is one, and what tokenizers must know; the configuration is up to the format.

  `more` are further keys of `tokenizer_config.json`.
  """
  if vocab_file is not None:
    files.copy(vocab_file, os.path.join(directory, VOCAB_FILE))
  fingerprint = vocab_sha256 if vocab_file is None else Vocabulary.from_file(vocab_file).fingerprint
  write_tokenizer_config(directory, do_lower_case, fingerprint, **{
      "model_max_length": config.max_position_embeddings, "strip_accents": None, "tokenize_chinese_chars": True,
      "unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]",
      **more})


def _extracted_vocabulary(tokenizer: dict, path: str) -> str | None:
  """A `vocab.txt` with the entries of a `tokenizer.json`, which is there until the program ends; None without any."""
  model = tokenizer.get("model")
  if not isinstance(model, dict) or model.get("type") != "WordPiece" or not isinstance(model.get("vocab"), dict):
    return None
  ids = dict(model["vocab"])
  added = tokenizer.get("added_tokens")
  for token in added if isinstance(added, list) else ():
    if isinstance(token, dict) and isinstance(token.get("content"), str):
      ids.setdefault(token["content"], token.get("id"))
  tokens = {id: token for token, id in ids.items() if isinstance(id, int)}
  if sorted(tokens) != list(range(len(ids))):
    raise UserError(f"{path}: the ids of the vocabulary are not 0...{len(ids) - 1}, each once")
  folder = tempfile.mkdtemp(prefix="vocabulary.")
  atexit.register(shutil.rmtree, folder, ignore_errors=True)
  vocab_file = os.path.join(folder, VOCAB_FILE)
  with open(vocab_file, "w", encoding="utf-8", newline="") as file:
    file.writelines(tokens[id] + "\n" for id in range(len(tokens)))
  return vocab_file


def check_vocabulary(vocabulary: Vocabulary, checkpoint: StoredWeights | None, where: str = "--vocab_file",
                     remedy: str = "use that one") -> str | None:
  """Refuses a vocabulary that the weights do not belong to.

  Allowed is the custom of giving custom words to a release's [unused] entries, whose embeddings are untrained.

  Args:
    vocabulary: what is going to be used.
    checkpoint: the weights; None where there are none.
    where: what the vocabulary comes from, for errors: a flag, or words.
    remedy: what to do about another one, for errors.

  Returns:
    a line with the number of [unused] entries were replaced, or None.

  Raises:
    UserError: names both vocabularies and the first difference.
  """
  if checkpoint is None:
    return None
  fingerprint = checkpoint.vocab_sha256
  if fingerprint is not None and vocabulary.has_fingerprint(fingerprint):
    return None
  if checkpoint.vocab_file is None:
    if fingerprint is None:
      return None
    raise UserError(f"{where}: {_named(vocabulary)} is not the vocabulary of {checkpoint.description} "
                    f"({short(fingerprint)} in its {TOKENIZER_CONFIG_FILE}): give the one that belongs to it")
  is_its_own = vocabulary.path is not None and files.same_file(vocabulary.path, checkpoint.vocab_file)
  own = vocabulary if is_its_own else Vocabulary.from_file(checkpoint.vocab_file)
  check_fingerprint(own, fingerprint)
  replaced = own.replaced_unused(vocabulary)
  if replaced is None:
    raise UserError(f"{where}: {_named(vocabulary)} is not the vocabulary of {checkpoint.description}, which is "
                    f"{_named(own)}: {own.describe_difference(vocabulary)}: {remedy}, or take a checkpoint that "
                    "was trained with yours")
  return None if not replaced else (
      f"{vocabulary.path}: {replaced:,} [unused] entries of the checkpoint's vocabulary have tokens here, whose "
      "embeddings are untrained so far")


def _named(vocabulary: Vocabulary) -> str:
  return f"{vocabulary.path or 'the vocabulary'} (fingerprint {short(vocabulary.fingerprint)})"
