"""From a checkpoint to a SavedModel that takes strings.

`export_model.py` turns flags into one call of `export`. The graphs are made in `inference/servers.py`.
"""

import dataclasses
import json
import os
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from common import files
from common.errors import UserError
from data_gen.labelled.pair_features import encode_pairs
from data_gen.labelled.squad import Question, SquadData
from data_gen.labelled.squad_features import make_windows as exact_windows
from inference.agreement import Agreement, compare
from inference.heads import choose_task, class_labels, input_length, span_settings
from inference.servers import AnswerServer, ClassifierServer, FeatureServer, FillMaskServer, Server
from modeling.checkpoints.load import LoadedCheckpoint, load_weights, open_checkpoint
from modeling.classification import BertForClassification
from modeling.encoder import BertEncoder
from modeling.pretraining import BertForPreTraining
from modeling.question_answering import BertForQuestionAnswering
from tasks.question_answering.window_graph import SpanSettings

SAMPLE_FILE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "inference", "sample.jsonl")
AGREEMENT_FILE = os.path.join("assets.extra", "tokenizer_agreement.json")

_POOLER = "bert/pooler/dense/kernel"
# Texts that the export and the network are compared on. More than rounding is a mistake of ours.
_CHECKED = 8
_TOLERANCE = 1e-3


@dataclasses.dataclass(frozen=True)
class ExportOptions:
  """What is exported, and how long inputs may be.

  Attributes:
    task: one of `TASKS`.
    max_seq_length: None for that of the fine-tuned run; where there is none, 512 (squad: 384) or as many as the
      network has positions.
    top_k: candidates for a mask.
    spans: fields of `SpanSettings` that differ from the fine-tuned run's or, where there is none, the defaults.
  """

  task: str
  max_seq_length: int | None = None
  top_k: int = 5
  spans: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Export:
  """What was exported.

  Attributes:
    directory: the SavedModel.
    signatures: name → (inputs, outputs), each name → "dtype [shape]".
    agreements: of the tokenizers, on the built-in sample and on the user's file.
    max_difference: the largest difference of a number between the export, loaded back, and the network.
    notes: what the user should know.
  """

  directory: str
  signatures: dict[str, tuple[dict[str, str], dict[str, str]]]
  agreements: list[Agreement]
  max_difference: float
  notes: list[str]

  def describe(self) -> str:
    """The report as a user reads it."""
    lines = [f"note: {note}" for note in self.notes]
    lines += [agreement.describe() for agreement in self.agreements]
    lines.append(f"loaded back: the largest difference from the network is {self.max_difference:.1e}")
    for name, (inputs, outputs) in self.signatures.items():
      lines.append(f"signature {name}")
      lines += [f"  {'in ' if values is inputs else 'out'} {key}: {value}" for values in (inputs, outputs)
                for key, value in values.items()]
    size = sum(os.path.getsize(os.path.join(folder, file)) for folder, _, found in os.walk(self.directory)
               for file in found)
    return "\n".join([*lines, f"wrote {self.directory} ({size / 1e6:.1f} MB)"])


def export(checkpoint: str, export_dir: str, options: ExportOptions, *, bert_config_file: str | None = None,
           vocab_file: str | None = None, do_lower_case: bool | None = None, check_file: str | None = None) -> Export:
  """Exports a checkpoint.

  Args:
    checkpoint: whatever `read_checkpoint` reads.
    export_dir: a directory that does not exist; it appears when it is complete and has been loaded back.
    options: task and lengths.
    bert_config_file, vocab_file, do_lower_case: None where they are found beside the checkpoint.
    check_file: text, a line at a time, to compare the tokenizers on.

  Raises:
    UserError: the directory exists, the checkpoint can't be read or lacks the head that the task needs, vocabulary or
      configuration are missing or don't fit, the lengths don't fit, or `check_file` can't be read.
  """
  files.refuse_existing(export_dir, "export_dir")
  check_lines = _read_lines(check_file) if check_file else []
  opened = open_checkpoint(checkpoint, bert_config_file=bert_config_file, vocab_file=vocab_file,
                        do_lower_case=do_lower_case)
  choose_task(opened, options.task)
  notes: list[str] = []
  server = TASKS[options.task](opened, options, notes)
  sample = read_sample()
  special_tokens = options.task == "fill_mask"
  agreements = [compare("built-in sample", sample, opened.tokenizer, server.tokenizer, special_tokens)]
  if check_lines:
    agreements.append(compare(check_file, check_lines, opened.tokenizer, server.tokenizer, special_tokens))
  with files.new_directory(export_dir, "export_dir") as directory:
    try:
      server.save(directory)
    except tf.errors.OpError as error:
      raise UserError(f"--export_dir: can't write {export_dir}: {' '.join(error.message.split())[:200]}") from None
    os.makedirs(os.path.join(directory, os.path.dirname(AGREEMENT_FILE)), exist_ok=True)
    files.write_json(os.path.join(directory, AGREEMENT_FILE),
                     {agreement.name: agreement.to_dict() for agreement in agreements})
    loaded = tf.saved_model.load(directory)
    differing = {difference.text for difference in agreements[0].differences}
    # For fill_mask, only texts with masks have outputs.
    texts = [text for text in sample if text not in differing and ("[MASK]" in text or not special_tokens)][:_CHECKED]
    max_difference = _max_difference(server, loaded, _reference_features(server, opened, texts), texts)
    if not max_difference < _TOLERANCE:
      raise RuntimeError(f"the export differs from the network by {max_difference}")
  return Export(export_dir, {name: _describe(function) for name, function in sorted(loaded.signatures.items())},
                agreements, max_difference, notes)


def read_sample() -> list[str]:
  """The built-in texts that tokenizers are compared on, with what goes wrong in them."""
  with open(SAMPLE_FILE, encoding="utf-8") as file:
    return [json.loads(line) for line in file]


def _features(opened: LoadedCheckpoint, options: ExportOptions, notes: list[str]) -> Server:
  model = BertEncoder(opened.config)
  model.build()
  load_weights(model, opened.source)
  has_pooler = _POOLER in opened.source.tensors
  if not has_pooler:
    notes.append("the checkpoint has no pooler, so there is no pooled_output")
  return FeatureServer(model, opened.tokenizer, input_length(opened, options.task, options.max_seq_length), has_pooler)


def _classifier(opened: LoadedCheckpoint, options: ExportOptions, notes: list[str]) -> Server:
  if _POOLER not in opened.source.tensors:
    raise UserError(f"{opened.source.description} has no pooler ({_POOLER}), which a classifier stands on")
  labels = class_labels(opened)
  model = _loaded(BertForClassification(opened.config, 1 if labels is None else len(labels)), opened)
  task = opened.task or {}
  if labels is not None and "labels" not in task and "id2label" not in opened.config.extra:
    notes.append(f"nothing tells the names of the classes: they are 0 to {len(labels) - 1}")
  pair = task.get("pair", True)
  if "pair" not in task:
    notes.append("nothing tells whether the network is for pairs: give an empty text_b for single texts")
  length = input_length(opened, options.task, options.max_seq_length)
  return ClassifierServer(model, opened.tokenizer, length, labels or [], pair)


def _fill_mask(opened: LoadedCheckpoint, options: ExportOptions, unused_notes: list[str]) -> Server:
  model = _loaded(BertForPreTraining(opened.config), opened)
  length = input_length(opened, options.task, options.max_seq_length)
  return FillMaskServer(model, opened.tokenizer, length, options.top_k)


def _squad(opened: LoadedCheckpoint, options: ExportOptions, unused_notes: list[str]) -> Server:
  chosen = span_settings(opened, options.max_seq_length, options.spans)
  settings = SpanSettings(**{field.name: getattr(chosen, field.name) for field in dataclasses.fields(SpanSettings)})
  return AnswerServer(_loaded(BertForQuestionAnswering(opened.config), opened), opened.tokenizer, settings)


# Name → what makes a `Server` of an opened checkpoint.
TASKS: dict[str, Callable[[LoadedCheckpoint, ExportOptions, list[str]], Server]] = {
    "features": _features, "classifier": _classifier, "squad": _squad, "fill_mask": _fill_mask}


def _loaded(model, opened: LoadedCheckpoint):
  model.build_weights()
  load_weights(model, opened.source)
  return model


def _read_lines(path: str) -> list[str]:
  files.check_readable(path, "check_file")
  try:
    # Lines end with "\n" only: other separators are for the tokenizer.
    with open(path, encoding="utf-8", newline="\n") as file:
      lines = [line.removesuffix("\n") for line in file]
  except UnicodeDecodeError as error:
    raise UserError(f"--check_file: {path} is not UTF-8: {error.reason}") from None
  if not lines:
    raise UserError(f"--check_file: {path} is empty")
  return lines


def _inputs(server: Server, texts: list[str]) -> dict[str, tf.Tensor]:
  """The texts, and as second texts the same in another order."""
  return {name: tf.constant(texts[number:] + texts[:number]) for number, name in enumerate(server.inputs)}


def _reference_features(server: Server, opened: LoadedCheckpoint, texts: list[str]) -> dict[str, np.ndarray]:
  """Features of `_inputs` by the tokenizer and the code that the network was trained with."""
  tokenizer = opened.tokenizer
  second = texts[1:] + texts[:1]
  if isinstance(server, AnswerServer):
    questions = [Question(str(number), text, number, (), False) for number, text in enumerate(texts)]
    settings = server.settings
    _, rows = exact_windows(
        SquadData("sample", second, questions, has_answers=False, has_impossible=False), tokenizer, training=False,
        max_seq_length=settings.max_seq_length, doc_stride=settings.doc_stride,
        max_query_length=settings.max_query_length)
    ids, segments, lengths = rows.input_ids, rows.segment_ids, rows.row_lengths
  elif isinstance(server, FillMaskServer):
    vocabulary, room = tokenizer.vocabulary, server.max_seq_length - 2
    encoded = [[vocabulary.cls_id, *tokenizer.encode(text, special_tokens=True)[:room], vocabulary.sep_id]
               for text in texts]
    ids, lengths = np.concatenate(encoded), np.array([*map(len, encoded)])
    segments = np.zeros_like(ids)
  else:
    rows = encode_pairs(tokenizer, texts, second if len(server.inputs) > 1 else None, server.max_seq_length)
    ids, segments, lengths = rows.input_ids, rows.segment_ids, rows.row_lengths
  mask = np.arange(lengths.max()) < lengths[:, None]
  features = {"input_ids": np.full(mask.shape, tokenizer.vocabulary.pad_id, np.int32),
              "input_mask": mask.astype(np.int32), "segment_ids": np.zeros(mask.shape, np.int32)}
  features["input_ids"][mask], features["segment_ids"][mask] = ids, segments
  return features


def _max_difference(server: Server, loaded, features: dict[str, np.ndarray], texts: list[str]) -> float:
  """Both signatures of the export against the network on the same inputs."""
  tensors = {name: tf.constant(value) for name, value in features.items()}
  expected = server.serve_token_ids(**tensors)
  if isinstance(server, AnswerServer):
    # From texts it gives answers, not logits.
    expected = {**expected, **server.serve_texts(*_inputs(server, texts).values())}
  found = [loaded.signatures["token_ids"](**tensors), loaded.signatures["serving_default"](**_inputs(server, texts))]
  return max(float(np.max(np.abs(value - expected[name]), initial=0.0)) for outputs in found
             for name, value in outputs.items() if value.dtype == tf.float32)


def _describe(function) -> tuple[dict[str, str], dict[str, str]]:
  def shown(tensor) -> str:
    return f"{tensor.dtype.name} [{', '.join('?' if size is None else str(size) for size in tensor.shape)}]"

  return ({name: shown(tensor) for name, tensor in sorted(function.structured_input_signature[1].items())},
          {name: shown(tensor) for name, tensor in sorted(function.structured_outputs.items())})
