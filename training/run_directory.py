"""The directory of a run: what it is made of, what a resumed run must agree with, and its checkpoints.

  ckpt-N.index, ckpt-N.data-*   weights (encoder/..., heads/...), optimizer slots (optimizer/...), step, examples
  checkpoint                    which of them are kept, the newest first to be restored
  bert_config.json  vocab.txt  tokenizer_config.json     what the weights need to be used
  task.json                     what a fine-tuned model is for: kind, labels, lengths
  flags.json                    the effective configuration
  metrics.jsonl                 one line for each report of training or evaluation
  train/  eval/                 TensorBoard
  best/                         of fine-tuning: a directory like this one, with the best weights only

Used by `training/loop.py`, `training/reports.py` and the tasks.
"""

import contextlib
import importlib.metadata
import json
import os
import tempfile
from collections.abc import Callable, Mapping

import tensorflow as tf

from common import files
from common.errors import UserError
from data_gen.tokenization.tokenizer_config import write_tokenizer_config
from modeling.checkpoints.companion_files import BEST_DIRECTORY, BEST_RECORD, CONFIG_FILE, TASK_FILE, VOCAB_FILE
from modeling.checkpoints.native import weights_tree
from modeling.checkpoints.tensorflow_files import attach, latest_checkpoint
from modeling.checkpoints.weights import native_path
from modeling.config import BertConfig
from training.optimization import AdamWeightDecay
from training.step import TrainingState

FLAGS_FILE = "flags.json"
METRICS_FILE = "metrics.jsonl"

# Packages whose versions decide what a run computes.
_PACKAGES = ("tensorflow", "keras", "numpy", "tf-models-official")


def check_same_model(directory: str, config: BertConfig) -> None:
  """Refuses to resume in a directory that holds checkpoints of another model.

  Raises:
    UserError: names the keys of `bert_config.json` that differ.
  """
  path = os.path.join(directory, CONFIG_FILE)
  if latest_checkpoint(directory) is None or not files.exists(path):
    return
  there, here = BertConfig.from_file(path).to_dict(), config.to_dict()
  different = [f"{key} is {there.get(key)} there and {here.get(key)} here"
               for key in sorted({*there, *here}) if there.get(key) != here.get(key)]
  if different:
    raise UserError(f"--output_dir={directory} holds checkpoints of another configuration ({'; '.join(different)}): "
                    "choose another directory, or the configuration that is there")


def changed_flags(directory: str, flags: Mapping[str, object]) -> list[str]:
  """What an earlier run in this directory was given otherwise, e.g. "learning_rate: 0.0001 → 5e-05"."""
  earlier = files.read_json_object(os.path.join(directory, FLAGS_FILE)).get("flags", {})
  return [f"{name}: {_plain(earlier[name])} → {_plain(value)}" for name, value in flags.items()
          if name in earlier and _plain(earlier[name]) != _plain(value)]


def _plain(value: object) -> object:
  """A flag's value for comparisons: lists of one value, which older runs wrote as text, are that value."""
  if isinstance(value, list) and len(value) == 1:
    value = value[0]
  if isinstance(value, str):
    with contextlib.suppress(ValueError):
      return float(value)
  return value


def write_description(directory: str, script: str, flags: Mapping[str, object], config: BertConfig,
                      vocab_file: str | None, do_lower_case: bool | None,
                      task: Mapping[str, object] | None = None, vocab_sha256: str | None = None) -> None:
  """Writes everything but checkpoints and reports.

  Args:
    vocab_file: copied as `vocab.txt`; None where it is not known.
    do_lower_case: casing of the vocabulary; None where it is not known.
    task: of a fine-tuned model, kept in `task.json`; None for pre-training.
    vocab_sha256: `Vocabulary.fingerprint`, kept beside the weights whether or not the vocabulary is; None where it is
      not known.
  """
  config.to_file(os.path.join(directory, CONFIG_FILE))
  if vocab_file is not None:
    target = os.path.join(directory, VOCAB_FILE)
    if not files.same_file(vocab_file, target):
      files.copy(vocab_file, target)
  write_tokenizer_config(directory, do_lower_case, vocab_sha256)
  if task is not None:
    files.write_json(os.path.join(directory, TASK_FILE), dict(task))
  versions = {package: importlib.metadata.version(package) for package in _PACKAGES}
  files.write_json(os.path.join(directory, FLAGS_FILE), {"script": script, "flags": dict(flags), "versions": versions})


class BestCheckpoint:
  """The best weights of a run, in `best/`, which is a run directory by itself.

  Args:
    directory: of the run.
    model: its weights are saved.
    state: counters; the step is saved.
    metric: what is compared; higher is better.
    describe: writes into a directory what `write_description` does.
    complete: adds to metrics that an earlier version noted those that have been added since.
  """

  def __init__(self, directory: str, model, state: TrainingState, metric: str, describe: Callable[[str], None],
               complete: Callable[[Mapping[str, float]], dict[str, float]] = dict):
    self.directory = os.path.join(directory, BEST_DIRECTORY)
    self._metric = metric
    self._describe = describe
    self._step = state.step
    tree = weights_tree(model)
    self._checkpoint = tf.train.Checkpoint(encoder=tree.encoder, heads=tree.heads, step=state.step)
    self._record_file = os.path.join(self.directory, BEST_RECORD)
    self._record = files.read_json_object(self._record_file) or None
    if self._record is not None:
      self._record["metrics"] = complete(self._record["metrics"])

  @property
  def record(self) -> dict | None:
    """{"step", "metric", "metrics": {name: value}} of the best evaluation so far; None before the first."""
    return self._record

  def update(self, metrics: Mapping[str, float]) -> bool:
    """Saves the weights if these metrics are the best so far; of equal ones the first is kept.

    Raises:
      UserError: the checkpoint could not be written.
    """
    step = int(self._step.numpy())
    # A step that is computed again after an interruption gives the same value and changes nothing.
    if self._record is not None and not metrics[self._metric] > self._record["metrics"][self._metric]:
      return False
    files.make_output_directory(self.directory, "output_dir")
    self._describe(self.directory)
    CheckpointManager(self._checkpoint, self.directory, self._step, interval=1, keep=1).save(check_interval=False)
    self._record = {"step": step, "metric": self._metric, "metrics": dict(metrics)}
    files.write_json(self._record_file, self._record)
    return True


def copy_best(source: str, directory: str) -> None:
  """Makes the best weights of the run in `source` those of `directory`, whole or not at all."""
  target, best = os.path.join(directory, BEST_DIRECTORY), os.path.join(source, BEST_DIRECTORY)
  if files.is_remote(target):
    files.remove_tree(target)
    files.copy_tree(best, target)
    return
  with tempfile.TemporaryDirectory(prefix=".best.", dir=directory) as temporary:
    copy = os.path.join(temporary, "new")
    files.copy_tree(best, copy)
    if os.path.exists(target):
      os.rename(target, os.path.join(temporary, "old"))
    os.rename(copy, target)


def checkpoint_of(model, state: TrainingState, optimizer: AdamWeightDecay | None = None) -> tf.train.Checkpoint:
  """The object graph of a checkpoint: encoder/..., heads/..., optimizer/{m,v}/..., step, examples.

  Slots have the path of the variable they belong to: `optimizer/m/encoder/pooler/dense/kernel`.
  """
  tree = weights_tree(model)
  parts = {"encoder": tree.encoder, "heads": tree.heads, "step": state.step, "examples": state.examples,
           "loss_scale": state.loss_scale, "steps_since_overflow": state.steps_since_overflow}
  if optimizer is not None:
    root = tf.Module()
    for slot, variables in optimizer.slots().items():
      for name, variable in variables.items():
        attach(root, f"{slot}/{native_path(name)}", variable)
    parts["optimizer"] = root
  return tf.train.Checkpoint(**parts)


class CheckpointManager(tf.train.CheckpointManager):
  """Saves at multiples of the interval, keeps the newest, and survives a full disk.

  Args:
    checkpoint: see `checkpoint_of`.
    directory: the run directory.
    step: the training step.
    interval: steps between checkpoints.
    keep: how many of the newest stay; 0 keeps all.
  """

  def __init__(self, checkpoint: tf.train.Checkpoint, directory: str, step: tf.Variable, interval: int, keep: int):
    super().__init__(checkpoint, directory, max_to_keep=keep or None, step_counter=step,
                     checkpoint_interval=interval, checkpoint_name="ckpt")
    self._step = step
    self._interval = interval
    self._saved_step: int | None = None

  def restore_or_initialize(self) -> str | None:
    """Restores the newest checkpoint, whole.

    Returns:
      its prefix, or None if there is none.

    Raises:
      UserError: it can't be read or does not fit.
    """
    prefix = self.latest_checkpoint
    if prefix is None or self._saved_step is not None:
      return prefix
    try:
      self.checkpoint.restore(prefix).assert_existing_objects_matched()
    except (tf.errors.OpError, AssertionError, ValueError, IndexError, RuntimeError) as error:
      # TensorFlow's reader raises Python's own errors for some kinds of damage.
      earlier = ", ".join(os.path.basename(path) for path in self.checkpoints if path != prefix) or "none"
      raise UserError(f"checkpoint {prefix} can't be restored: {_first_line(error)}; to resume from an earlier one "
                      f"({earlier}), set model_checkpoint_path to it in {self.directory}/checkpoint") from None
    self._saved_step = int(self._step.numpy())
    return prefix

  def save(self, checkpoint_number=None, check_interval=True, options=None) -> str | None:
    """Writes `ckpt-<step>` unless it is there already; with `check_interval` only at multiples of the interval.

    Raises:
      UserError: it could not be written; the checkpoints that were there still are.
    """
    step = int(self._step.numpy())
    if step == self._saved_step or (check_interval and step % self._interval):
      return None
    try:
      prefix = super().save(checkpoint_number=step, check_interval=False, options=options)
    except (tf.errors.OpError, OSError) as error:
      self._remove_partial(os.path.join(self.directory, f"ckpt-{step}"))
      kept = f"the last good one is {self.latest_checkpoint}" if self.latest_checkpoint else "there is none yet"
      raise UserError(f"checkpoint ckpt-{step} could not be saved in {self.directory}: {_first_line(error)}; {kept}; "
                      "free some space and run the same command again") from None
    self._saved_step = step
    return prefix

  def _remove_partial(self, prefix: str) -> None:
    pattern = files.escape_pattern(prefix)
    for path in files.glob_files(f"{pattern}.*") + files.glob_files(f"{pattern}_temp*"):
      with contextlib.suppress(OSError):
        files.remove_tree(path) if files.is_directory(path) else files.remove(path)


class MetricsLog:
  """`metrics.jsonl`: {"step": 100, "split": "train", "loss": ...} a line.

  Args:
    directory: the run directory.
    step: the step that the run resumes at; lines of later steps, written before an interruption, are dropped.
  """

  def __init__(self, directory: str, step: int):
    self._path = os.path.join(directory, METRICS_FILE)
    kept = [line for line in read_metrics(directory) if line["step"] <= step]
    with files.atomic_write(self._path) as file:
      file.writelines(json.dumps(line) + "\n" for line in kept)

  def append(self, step: int, split: str, metrics: Mapping[str, float]) -> None:
    """Adds a line; floats are rounded to 7 digits."""
    line = {"step": step, "split": split, **{name: float(f"{value:.7g}") for name, value in metrics.items()}}
    try:
      with files.open_file(self._path, "a") as file:
        file.write(json.dumps(line) + "\n")
    except OSError as error:
      raise UserError(f"can't write {self._path}: {error.strerror}") from None


def read_metrics(directory: str) -> list[dict]:
  """The lines of `metrics.jsonl`; an incomplete last line is left out."""
  path = os.path.join(directory, METRICS_FILE)
  if not files.exists(path):
    return []
  with files.open_file(path) as file:
    return [json.loads(line) for line in file if line.endswith("}\n")]


def _first_line(error: Exception) -> str:
  return " ".join(str(getattr(error, "message", None) or error).split())[:300]
