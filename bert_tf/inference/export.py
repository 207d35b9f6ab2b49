"""Exports a checkpoint for those who serve without this project, for `export_model.py`.

Input: a checkpoint, a task, whose class (`bert_tf/tasks/inference.py`) has the graphs, and a format
(`exports/formats.py`). Output: a directory that has been loaded back, in a process of its own, before it appears.
"""

import dataclasses
import os

import numpy as np
import tensorflow as tf

from bert_common import directories, files, gzipped, json_files
from bert_common.errors import UserError
from bert_tf.inference.agreement import Agreement, compare
from bert_tf.inference.exports import loading_back
from bert_tf.inference.exports.formats import ExportFormat, Request, format_class
from bert_tf.inference.exports.loaders import Arrays, Signature
from bert_tf.inference.exports.score_loss import DevelopmentSet, ScoreLoss
from bert_tf.inference.exports.warmup import write_warmup_requests
from bert_tf.inference.options import ExportOptions
from bert_tf.inference.task_table import choose_task, load_task
from bert_tf.tasks.inference import TaskInference
from modeling.checkpoints.load import Checkpoint, open_checkpoint

SAMPLE_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sample.jsonl")
# As a share of the score, where --max_score_loss is not given.
_MAX_SCORE_LOSS = 0.01
AGREEMENT_FILE = os.path.join("assets.extra", "tokenizer_agreement.json")


@dataclasses.dataclass(frozen=True)
class Export:
  """Report of an export.

  Attributes:
    signatures: as its runtime sees them.
    agreements: of the tokenizers, on the built-in sample and on the user's file; none where no strings are taken.
    max_difference: the largest difference of a number between the export, loaded back, and the model.
    score_loss: what quantization costs; None where nothing is quantized, or no development set is known.
    size: bytes of all files.
  """

  directory: str
  task: str
  signatures: dict[str, Signature]
  agreements: list[Agreement]
  max_difference: float
  score_loss: ScoreLoss | None
  size: int
  notes: list[str]

  def describe(self) -> str:
    """The report as a user reads it."""
    lines = [f"note: {note}" for note in self.notes]
    lines += [agreement.describe() for agreement in self.agreements]
    lines.append(f"loaded back: the largest difference from the model is {self.max_difference:.1e}")
    lines += [self.score_loss.describe()] if self.score_loss else []
    for name, (inputs, outputs) in self.signatures.items():
      lines.append(f"signature {name}")
      lines += [f"  {'in ' if values is inputs else 'out'} {key}: {value}" for values in (inputs, outputs)
                for key, value in values.items()]
    return "\n".join([*lines, f"wrote {self.directory} ({self.size / 1e6:.1f} MB)"])


def run(options: ExportOptions) -> None:
  """Exports, and prints the report."""
  print(export(options).describe())


def export(options: ExportOptions) -> Export:
  """Exports a checkpoint.

  Args:
    options: `export_dir` is a directory that does not exist; it appears when it is complete and has been loaded back.

  Raises:
    UserError: the directory exists, the checkpoint can't be read or lacks the head that the task needs, vocabulary or
      configuration are missing or don't fit, the lengths don't fit, `check_file` can't be read, or quantization
      costs more of the score than is allowed.
  """
  files.refuse_existing(options.export_dir, "export_dir")
  check_lines = _read_lines(options.check_file) if options.check_file else []
  name = options.format_name
  export_format = format_class(name)(options)
  loaded = open_checkpoint(options.init_checkpoint, **options.companions())
  task_name = choose_task(loaded, options.task)
  settings = options.settings()
  settings.check_read_by(task_name, options.exported)
  # Beside loading the weights; nothing is started for what is refused.
  loading_back.start(name)
  task = load_task(loaded, task_name, settings)
  export_format.prepare(task_name, task)
  sample = read_sample()
  texts = {"built-in sample": sample, **({options.check_file: check_lines} if options.check_file else {})}
  agreements = [
      compare(source, lines, task.tokenizer, task.graph_tokenizer, task.special_tokens)
      for source, lines in texts.items()] if export_format.takes_strings else []
  development_set = _development_set(options, loaded, task_name, task) if options.quantize != "none" else None
  differing = {difference.text for agreement in agreements[:1] for difference in agreement.differences}
  with directories.new_directory(options.export_dir, "export_dir") as directory:
    _write(export_format, task, directory, options.export_dir)
    if agreements:
      os.makedirs(os.path.join(directory, os.path.dirname(AGREEMENT_FILE)), exist_ok=True)
      json_files.write(os.path.join(directory, AGREEMENT_FILE),
                       {agreement.name: agreement.to_dict() for agreement in agreements})
    requests = export_format.requests(task, [text for text in sample if text not in differing])
    if export_format.served_signatures:
      write_warmup_requests(directory, [
          request for request in requests if request.signature in export_format.served_signatures])
    signatures, answers = loading_back.ask(
        name, directory, [(request.signature, request.inputs) for request in requests])
    max_difference = _max_difference(requests, answers)
    if not max_difference < export_format.tolerance:
      raise RuntimeError(f"the export differs from the model by {max_difference}")
    score_loss = None
    if development_set is not None:
      score_loss = development_set.measure(export_format, directory)
      _check_loss(options, score_loss)
    size = sum(os.path.getsize(os.path.join(folder, file)) for folder, _, found in os.walk(directory) for file in found)
  return Export(options.export_dir, task_name, signatures, agreements, max_difference, score_loss, size, task.notes)


def _development_set(options: ExportOptions, loaded: Checkpoint, task_name: str, task: TaskInference
                     ) -> DevelopmentSet | None:
  """What the loss of score is measured on; None, with a note, where none is known and none was asked for."""
  try:
    return DevelopmentSet(options, loaded, task_name, task)
  except UserError as error:
    if options.dev_file or options.data_dir or options.max_score_loss is not None:
      raise
    task.notes.append(f"what --quantize={options.quantize} costs was not measured: {error}")
    return None


def _check_loss(options: ExportOptions, loss: ScoreLoss) -> None:
  limit = _MAX_SCORE_LOSS if options.max_score_loss is None else options.max_score_loss
  # NaN, of a model that was damaged by rounding, is no small loss.
  if not loss.share <= limit:
    raise UserError(f"--quantize={options.quantize} costs more than --max_score_loss={limit:g} allows, and nothing was "
                    f"written: {loss.describe()}")


def _write(export_format: ExportFormat, task: TaskInference, directory: str, named: str) -> None:
  try:
    export_format.write(task, directory)
  except tf.errors.OpError as error:
    raise UserError(f"--export_dir: can't write {named}: {' '.join(error.message.split())[:200]}") from None


def read_sample() -> list[str]:
  """The built-in texts that tokenizers are compared on, with what goes wrong in them."""
  with open(SAMPLE_FILE, encoding="utf-8") as file:
    return list(map(json_files.parse, file))


def _read_lines(path: str) -> list[str]:
  text = gzipped.read_text(files.check_readable(path, "check_file"))
  if not text:
    raise UserError(f"--check_file: {path} is empty")
  # Lines end with "\n" only: other separators are for the tokenizer.
  return text.removesuffix("\n").split("\n")


def _max_difference(requests: list[Request], answers: list[Arrays]) -> float:
  """Over all numbers that the model gives too."""
  return max(float(np.max(np.abs(outputs[name] - expected), initial=0.0))
             for request, outputs in zip(requests, answers, strict=True) for name, expected in request.expected.items()
             if np.issubdtype(expected.dtype, np.floating))
