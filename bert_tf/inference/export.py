"""Exports a checkpoint as a SavedModel that takes strings, for `export_model.py`.

Input: a checkpoint and a task, whose class (`bert_tf/tasks/inference.py`) has the graphs. Output: a directory with

  serving_default   a signature: strings → outputs; the tokenizer is in the graph
  token_ids         a signature: input_ids, input_mask, segment_ids → outputs
  serve             a function: {name: strings} → outputs, for `keras.layers.TFSMLayer`

Every output has the batch as its first dimension, as TensorFlow Serving expects it.
"""

import dataclasses
import os

import numpy as np
import tensorflow as tf

from bert_tf.common import files, gzipped, json_files
from bert_tf.common.errors import UserError
from bert_tf.inference.agreement import Agreement, compare
from bert_tf.inference.options import ExportOptions
from bert_tf.inference.task_table import choose_task, load_task
from bert_tf.tasks.inference import TaskInference
from modeling.checkpoints.load import open_checkpoint

SAMPLE_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sample.jsonl")
AGREEMENT_FILE = os.path.join("assets.extra", "tokenizer_agreement.json")

# Inputs that the export and the model are compared on. More than rounding is a mistake of ours.
_CHECKED = 8
_TOLERANCE = 1e-3


@dataclasses.dataclass(frozen=True)
class Export:
  """Report of an export.

  Attributes:
    signatures: name → (inputs, outputs), each name → "dtype [shape]".
    agreements: of the tokenizers, on the built-in sample and on the user's file.
    max_difference: the largest difference of a number between the export, loaded back, and the model.
    size: bytes of all files.
  """

  directory: str
  task: str
  signatures: dict[str, tuple[dict[str, str], dict[str, str]]]
  agreements: list[Agreement]
  max_difference: float
  size: int
  notes: list[str]

  def describe(self) -> str:
    """The report as a user reads it."""
    lines = [f"note: {note}" for note in self.notes]
    lines += [agreement.describe() for agreement in self.agreements]
    lines.append(f"loaded back: the largest difference from the model is {self.max_difference:.1e}")
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
      configuration are missing or don't fit, the lengths don't fit, or `check_file` can't be read.
  """
  files.refuse_existing(options.export_dir, "export_dir")
  check_lines = _read_lines(options.check_file) if options.check_file else []
  loaded = open_checkpoint(options.init_checkpoint, **options.companions())
  name = choose_task(loaded, options.task)
  settings = options.settings()
  settings.check_read_by(name, options.exported)
  task = load_task(loaded, name, settings)
  sample = read_sample()
  agreements = [compare("built-in sample", sample, task.tokenizer, task.graph_tokenizer, task.special_tokens)]
  if check_lines:
    agreements.append(
        compare(options.check_file, check_lines, task.tokenizer, task.graph_tokenizer, task.special_tokens))
  with files.new_directory(options.export_dir, "export_dir") as directory:
    try:
      save(task, directory)
    except tf.errors.OpError as error:
      raise UserError(f"--export_dir: can't write {options.export_dir}: {' '.join(error.message.split())[:200]}"
                      ) from None
    os.makedirs(os.path.join(directory, os.path.dirname(AGREEMENT_FILE)), exist_ok=True)
    json_files.write(os.path.join(directory, AGREEMENT_FILE),
                     {agreement.name: agreement.to_dict() for agreement in agreements})
    saved = tf.saved_model.load(directory)
    differing = {difference.text for difference in agreements[0].differences}
    max_difference = _max_difference(task, saved, [text for text in sample if text not in differing])
    if not max_difference < _TOLERANCE:
      raise RuntimeError(f"the export differs from the model by {max_difference}")
    size = sum(os.path.getsize(os.path.join(folder, file)) for folder, _, found in os.walk(directory) for file in found)
  return Export(options.export_dir, name,
                {signature: _describe(function) for signature, function in sorted(saved.signatures.items())},
                agreements, max_difference, size, task.notes)


def save(task: TaskInference, directory: str) -> None:
  """Writes the SavedModel."""
  strings = {name: tf.TensorSpec(task.text_shapes.get(name, [None]), tf.string, name) for name in task.text_inputs}
  ids = {name: tf.TensorSpec(task.token_ids_shape, tf.int32, name)
         for name in ("input_ids", "input_mask", "segment_ids")}

  def serve_texts(**texts):
    return task.serve_texts(*(texts[name] for name in task.text_inputs))

  def serve(texts):
    return signatures["serving_default"](**texts)

  signatures = {"serving_default": _concrete(serve_texts, strings),
                "token_ids": _concrete(lambda **features: task.serve_token_ids(features), ids)}
  # A plain root: a Keras model would bring along its functions, and variables that these signatures don't need.
  root = tf.Module()
  variables = {variable.ref(): variable for function in signatures.values() for variable in function.variables}
  root.weights = list(variables.values())
  # Calls the function of the signature, so that its graph is in the file only once.
  root.serve = tf.function(serve, input_signature=[strings], autograph=False)
  tf.saved_model.save(root, directory, signatures=signatures)


def read_sample() -> list[str]:
  """The built-in texts that tokenizers are compared on, with what goes wrong in them."""
  with open(SAMPLE_FILE, encoding="utf-8") as file:
    return list(map(json_files.parse, file))


def _concrete(function, specifications: dict):
  return tf.function(function, autograph=False).get_concrete_function(**specifications)


def _read_lines(path: str) -> list[str]:
  text = gzipped.read_text(files.check_readable(path, "check_file"))
  if not text:
    raise UserError(f"--check_file: {path} is empty")
  # Lines end with "\n" only: other separators are for the tokenizer.
  return text.removesuffix("\n").split("\n")


def _max_difference(task: TaskInference, saved, texts: list[str]) -> float:
  """The export against the model on the same inputs: token ids of the exact tokenizer, and strings."""
  texts, inputs = _checked_inputs(task, texts)
  features = {name: tf.constant(value) for name, value in task.reference_features(inputs).items()}
  strings = {name: tf.constant(values) for name, values in texts.items()}
  # Where strings give what token ids give, the exact ones count.
  expected = {**task.serve_texts(*strings.values()), **task.serve_token_ids(features)}
  found = [saved.signatures["token_ids"](**features), saved.signatures["serving_default"](**strings),
           saved.serve(strings)]
  return max(float(np.max(np.abs(value - expected[name]), initial=0.0)) for outputs in found
             for name, value in outputs.items() if value.dtype == tf.float32)


def _checked_inputs(task: TaskInference, texts: list[str]) -> tuple[dict[str, list], list]:
  """Inputs that the task takes, as strings for `serve_texts` and as `task.check` returns them.

  The first text of each input is followed by those that come after it.
  """
  rows, inputs = [], []
  for number in range(len(texts)):
    row = task.sample_input(texts[number:] + texts[:number])
    try:
      inputs.append(task.check(row))
    except UserError:
      # E.g. a text without a mask for a task that fills masks.
      continue
    rows.append(row)
    if len(rows) == _CHECKED:
      break
  return dict(zip(task.text_inputs, map(list, zip(*rows, strict=True)), strict=True)), inputs


def _describe(function) -> tuple[dict[str, str], dict[str, str]]:
  def shown(tensor) -> str:
    return f"{tensor.dtype.name} [{', '.join('?' if size is None else str(size) for size in tensor.shape)}]"

  return ({name: shown(tensor) for name, tensor in sorted(function.structured_input_signature[1].items())},
          {name: shown(tensor) for name, tensor in sorted(function.structured_outputs.items())})
