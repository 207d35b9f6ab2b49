"""Trained classifiers whose outputs a student learns: which fit, their logits, and the training set with soft labels.

  .teacher_outputs/<split>-<digest>.npz   logits of one teacher for the texts of a split; the digest is of all they were
                                          made from, which the file contains, too

Input: `--teacher_checkpoint` and the texts of a run. Output: `Examples` for `modeling/distillation.py`. Each teacher
reads the texts with its own tokenizer and at its own length. The files may be removed at any time.
"""

import dataclasses
import functools
import json
import os
import zipfile
from collections.abc import Mapping

import numpy as np

from bert_common import files, run_results
from bert_common.errors import UserError
from bert_common.progress import Progress
from bert_tf.tasks.classification.data import ClassificationData, Split
from bert_tf.tasks.classification.inference import ClassificationInference, class_labels
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.classification.readers import CLASSES, SCORES, SEVERAL_CLASSES, problem_kind
from bert_tf.tasks.task import RunningModel
from bert_tf.training.examples import Examples, concatenated
from data_gen.labelled.tables import LabelledTexts
from modeling.checkpoints.load import Checkpoint, open_checkpoint
from modeling.distillation import IS_LABELLED, SOFT_LABELS, mean_soft_labels
from modeling.losses import HeadLoss

_DIRECTORY = ".teacher_outputs"
# Of the files; raised when what is in them, or how it is computed, changes.
_FORMAT = 1
# Texts between two looks for a signal.
_TEXTS_AT_ONCE = 4096
_KINDS = {CLASSES: "one of several classes", SCORES: "a score", SEVERAL_CLASSES: "classes of which several may apply"}


@dataclasses.dataclass(frozen=True)
class _Settings:
  """As a teacher was fine-tuned, see `InferenceSettings`."""

  batch_size: int
  max_seq_length: int | None = None


class Teachers:
  """The teachers of a run, or of all runs of a selection.

  Attributes:
    labels: names of the classes, in the order of the first teacher; empty for scores.

  Raises:
    UserError: a teacher can't be read, or is no classifier.
  """

  def __init__(self, options: ClassificationOptions):
    self._directory = os.path.join(options.output_dir, _DIRECTORY)
    self._batch_size = options.predict_batch_size
    self._opened = {path: open_checkpoint(path) for path in options.teacher_checkpoint}
    self._labels = {path: _labels_of(path, opened) for path, opened in self._opened.items()}
    self.labels: list[str] = next(iter(self._labels.values()))
    # Path of a file → what is in it.
    self._logits: dict[str, np.ndarray] = {}

  @property
  def digest(self) -> str:
    """Of the weights, models, vocabularies and tasks of all teachers."""
    return run_results.digest(list(self._made_from.values()))

  @functools.cached_property
  def _made_from(self) -> dict[str, dict[str, object]]:
    """Path of a teacher → what its outputs depend on, besides texts."""
    return {path: {"weights": opened.source.fingerprint(), "config": opened.config.to_dict(), "task": opened.task,
                   "vocabulary": opened.tokenizer.vocabulary.fingerprint,
                   "do_lower_case": opened.tokenizer.do_lower_case, "format": _FORMAT}
            for path, opened in self._opened.items()}

  def check_fit(self, data: ClassificationData) -> None:
    """Raises `UserError` for a teacher of another task than that of the data."""
    for path, opened in self._opened.items():
      labels = self._labels[path]
      pair = (opened.task or {}).get("pair")
      kind = SCORES if not labels else problem_kind(opened) or CLASSES
      if kind != data.kind:
        raise UserError(f"--teacher_checkpoint={path} predicts {_KINDS[kind]}, this task is for {_KINDS[data.kind]}: "
                        "take a teacher that was fine-tuned on this task")
      if sorted(labels) != sorted(data.labels):
        raise UserError(f"--teacher_checkpoint={path} is for the labels {', '.join(labels)}, this task has "
                        f"{', '.join(data.labels)}: take a teacher that was fine-tuned on this task")
      if pair is not None and pair != data.description["pair"]:
        raise UserError(f"--teacher_checkpoint={path} is for {_shape(pair)}, this task for "
                        f"{_shape(data.description['pair'])}: take a teacher that was fine-tuned on this task")

  def distilled(self, data: ClassificationData, loss: HeadLoss, temperature: float, run: RunningModel) -> Examples:
    """The training set, transfer text included, with the means of the teachers' soft labels.

    Transfer text has the teachers' prediction as its label: metrics count agreement with it, the loss does not use it.
    """
    parts = []
    for name, split in (("train", data.train), ("transfer", data.transfer)):
      if split is None:
        continue
      logits = [self._logits_of(path, name, split.source, data, run) for path in self._opened]
      soft_labels = np.asarray(mean_soft_labels(loss, logits, temperature), np.float32)
      own = {} if name == "train" else {"label_ids": _as_labels(data, soft_labels)}
      parts.append(_with_values(split, {SOFT_LABELS: soft_labels, **own}, is_labelled=name == "train"))
    return concatenated(parts)

  def _logits_of(self, path: str, name: str, texts: LabelledTexts, data: ClassificationData, run: RunningModel
                 ) -> np.ndarray:
    """float32 [E, C] of one teacher, the classes in the order of the data: from the file where there is one."""
    sources = {**self._made_from[path], "texts": run_results.digest([texts.text_a, texts.text_b])}
    file = os.path.join(self._directory, f"{name}-{run_results.digest(sources).rpartition(':')[2][:16]}.npz")
    if file not in self._logits:
      found = _read(file, sources, len(texts))
      if found is None:
        found = self._compute(path, name, texts, run)
        if run.devices.is_chief:
          _write(file, sources, found)
      self._logits[file] = found
    order = [self._labels[path].index(label) for label in data.labels] or [0]
    return self._logits[file][:, order]

  def _compute(self, path: str, name: str, texts: LabelledTexts, run: RunningModel) -> np.ndarray:
    teacher = ClassificationInference(self._opened[path], _Settings(self._batch_size))
    run.log(f"teacher      {path}: outputs for {len(texts):,} texts ({name})")
    inputs = [(text,) for text in texts.text_a] if texts.text_b is None else list(
        zip(texts.text_a, texts.text_b, strict=True))
    parts = []
    with Progress(f"{name} teacher", len(inputs), "text") as progress:
      for start in range(0, len(inputs), _TEXTS_AT_ONCE):
        run.check_stop()
        parts.append(teacher.logits(inputs[start:start + _TEXTS_AT_ONCE]))
        progress.advance(len(parts[-1]))
    logits = np.concatenate(parts)
    if not np.isfinite(logits).all():
      raise UserError(f"--teacher_checkpoint={path}: its outputs are not all finite numbers: its weights are damaged")
    return logits


def _labels_of(path: str, opened: Checkpoint) -> list[str]:
  """Names of the classes; empty for scores."""
  if opened.source.classes("classification") is None:
    raise UserError(f"--teacher_checkpoint={path} is no classifier: take a model that was fine-tuned on this task")
  return class_labels(opened) or []


def _shape(pair: bool) -> str:
  return "pairs of texts" if pair else "single texts"


def _as_labels(data: ClassificationData, soft_labels: np.ndarray) -> np.ndarray:
  """The predictions in them, as labels are given."""
  if data.regression:
    return soft_labels
  return (soft_labels >= 0.5).astype(np.uint8) if data.multi_label else soft_labels.argmax(axis=-1).astype(np.int32)


def _with_values(split: Split, of_texts: Mapping[str, np.ndarray], is_labelled: bool) -> Examples:
  """The sequences of a split with values of texts; windows of a text count as much together as one text."""
  sequences, count = split.sequences, len(split)
  counts = np.ones(count) if sequences.window_counts is None else sequences.window_counts
  values = {"loss_weight": 1.0 / counts, IS_LABELLED: np.full(count, is_labelled), **of_texts}
  made = {name: sequences.per_window(value.astype(np.float32) if value.dtype in (float, bool) else value)
          for name, value in values.items()}
  return dataclasses.replace(split.examples, values={**made, **split.examples.values})


def _read(path: str, sources: Mapping[str, object], count: int) -> np.ndarray | None:
  """The logits in a file, float32 [count, C]; None where there is none, it is damaged, or made from something else."""
  try:
    with files.open_file(path, "rb") as file, np.load(file, allow_pickle=False) as found:
      logits = found["logits"]
      fits = json.loads(str(found["sources"])) == json.loads(json.dumps(sources))
  except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
    return None
  return logits if fits and logits.dtype == np.float32 and logits.ndim == 2 and len(logits) == count else None


def _write(path: str, sources: Mapping[str, object], logits: np.ndarray) -> None:
  files.make_directories(os.path.dirname(path))
  with files.user_error(f"the teacher's outputs can't be kept in {path}"), files.atomic_write(path, "wb") as file:
    np.savez(file, logits=logits, sources=json.dumps(sources))
