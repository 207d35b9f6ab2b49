"""From the files of a classification task to examples in memory, and whether the checkpoint fits them.

Input: GLUE's files or one's own (`data_gen/labelled/`). Output: sequences with labels, which
`tasks/classification/task.py` trains on.
"""

import dataclasses
from collections.abc import Sequence

from common import files
from common.errors import UserError
from data_gen.labelled import glue, labelled_files
from data_gen.labelled.glue import GlueTask
from data_gen.labelled.labelled_files import LabelledTexts
from data_gen.labelled.pair_features import encode_pairs
from evaluation import classification
from modeling.checkpoints.load import LoadedCheckpoint
from modeling.config import BertConfig
from tasks.classification.options import CUSTOM, ClassificationOptions
from training.examples import Examples


@dataclasses.dataclass(frozen=True)
class Split:
  """A file's texts, and the sequences made of them."""

  texts: LabelledTexts
  examples: Examples

  def __len__(self) -> int:
    return len(self.texts)


@dataclasses.dataclass(frozen=True)
class ClassificationData:
  """What a run reads.

  Attributes:
    glue: the task of GLUE; None for one's own.
    labels: names of the classes in the order of their numbers; empty for regression.
    regression: whether scores are predicted.
    metrics: of the development set; the first is the main one.
    train: None where nothing is trained.
    dev, test: name of the split → what is in it; empty where it is not read.
    description: `task.json`.
    notes: what the user should know about the data.
  """

  glue: GlueTask | None
  labels: tuple[str, ...]
  regression: bool
  metrics: tuple[str, ...]
  train: Split | None
  dev: dict[str, Split]
  test: dict[str, Split]
  description: dict
  notes: list[str]

  @property
  def main_metric(self) -> str:
    return self.metrics[0]


def read_data(options: ClassificationOptions, opened: LoadedCheckpoint) -> ClassificationData:
  """Reads what a run needs and makes sequences of it.

  Args:
    options: of the run.
    opened: the checkpoint: its tokenizer makes the sequences, its label names may fix the order of the classes.

  Raises:
    UserError: a task that is not known, a file that is missing or wrong (see `data_gen`), or flags that do not go
      together.
  """
  reader = _CustomReader(options, opened) if options.is_custom else _GlueReader(options, opened)
  texts = reader.read()
  notes: list[str] = []
  splits = {name: _make_split(name, split, opened, options.max_seq_length, notes) for name, split in texts.items()}
  train = splits.pop("train", None)
  return ClassificationData(
      glue=reader.task, labels=tuple(reader.labels), regression=reader.regression, metrics=reader.metrics, train=train,
      dev={name: split for name, split in splits.items() if name.startswith("dev")},
      test={name: split for name, split in splits.items() if not name.startswith("dev")},
      description={"kind": "regression" if reader.regression else "classification",
                   "task_name": reader.task.name if reader.task else CUSTOM, "labels": list(reader.labels),
                   "pair": reader.pair, "max_seq_length": options.max_seq_length},
      notes=[*reader.notes, *notes])


def labelled_config(config: BertConfig, data: ClassificationData) -> BertConfig:
  """The configuration with the names of the classes, as Hugging Face writes them."""
  extra = {name: value for name, value in config.extra.items() if name not in ("id2label", "label2id", "problem_type")}
  if data.regression:
    extra["problem_type"] = "regression"
  names = data.labels or ("LABEL_0",)
  extra["id2label"] = {str(number): name for number, name in enumerate(names)}
  extra["label2id"] = {name: number for number, name in enumerate(names)}
  return dataclasses.replace(config, extra=extra)


def check_head(opened: LoadedCheckpoint, data: ClassificationData, do_train: bool) -> str | None:
  """Why the checkpoint's classification head can't be used for this task; None where it can, or there is none."""
  shape = opened.source.tensors.get("output_weights") if opened.source else None
  if shape is None:
    return None
  classes = 1 if data.regression else len(data.labels)
  if shape[0] != classes:
    return f"that of the checkpoint has {shape[0]} classes, this task has {classes}"
  there, here = opened.task, data.description
  if there is None or there.get("kind") not in ("classification", "regression"):
    return None
  if list(there["labels"]) != here["labels"] or there["kind"] != here["kind"]:
    return f"that of the checkpoint is for the labels {', '.join(there['labels']) or 'of a regression'}"
  if do_train and there["task_name"] != here["task_name"]:
    return f"that of the checkpoint was trained for {there['task_name']}"
  return None


def _make_split(name: str, texts: LabelledTexts, opened: LoadedCheckpoint, max_seq_length: int,
                notes: list[str]) -> Split:
  features = encode_pairs(opened.tokenizer, texts.text_a, texts.text_b, max_seq_length)
  values = {} if texts.labels is None else {"label_ids": texts.labels}
  if texts.num_skipped:
    notes.append(f"{texts.path}: {texts.num_skipped} malformed rows left out")
  if features.truncated:
    notes.append(f"{name}: {features.truncated} of {len(texts)} examples were truncated to {max_seq_length} tokens")
  return Split(texts, Examples({"input_ids": features.input_ids, "segment_ids": features.segment_ids},
                               features.row_lengths, values))


class _GlueReader:
  """Which splits of a task of GLUE a run needs."""

  def __init__(self, options: ClassificationOptions, opened: LoadedCheckpoint):
    self.task = glue.find_task(options.task_name)
    files_given = [f"--{name}" for name in ("train_file", "dev_file", "test_file") if getattr(options, name)]
    if files_given:
      raise UserError(f"{', '.join(files_given)}: files are named for --task_name={CUSTOM} only; those of GLUE's tasks "
                      "are found in --data_dir")
    if not options.data_dir:
      raise UserError("--data_dir must be given: where the folders of GLUE's tasks are")
    if self.task.name == "ax" and (options.do_train or options.do_eval):
      raise UserError("the diagnostic set AX has no labels here: give --do_predict only, and an --init_checkpoint "
                      "that is trained for MNLI")
    self._options = options
    self.regression, self.pair = self.task.regression, self.task.pair
    self.labels = _order_of_checkpoint(self.task.labels, opened)
    self.metrics = classification.TASK_METRICS.get(self.task.name, ())
    self.notes: list[str] = []

  def read(self) -> dict[str, LabelledTexts]:
    options = self._options
    splits = {}
    task = dataclasses.replace(self.task, labels=tuple(self.labels))
    if options.do_train:
      splits["train"] = glue.read_split(task, options.data_dir, "train")
    if options.do_train or options.do_eval:
      splits |= self._read_several(task, glue.dev_splits(task))
    if options.do_predict:
      splits |= self._read_several(task, glue.test_splits(task))
    return splits

  def _read_several(self, task: GlueTask, names: Sequence[str]) -> dict[str, LabelledTexts]:
    """The first must be there; a further one that is missing is said."""
    splits = {names[0]: glue.read_split(task, self._options.data_dir, names[0])}
    for name in names[1:]:
      if glue.has_split(task, self._options.data_dir, name):
        splits[name] = glue.read_split(task, self._options.data_dir, name)
      else:
        self.notes.append(f"{task.folder} has no {name}.tsv in {self._options.data_dir}: only {names[0]} is used")
    return splits


class _CustomReader:
  """The files of somebody's own task."""

  task = None

  def __init__(self, options: ClassificationOptions, opened: LoadedCheckpoint):
    self._options = options
    needed = {"train_file": options.do_train, "dev_file": options.do_eval, "test_file": options.do_predict}
    missing = [f"--{name}" for name, is_needed in needed.items() if is_needed and not getattr(options, name)]
    if missing:
      raise UserError(f"--task_name={CUSTOM}: {', '.join(missing)} must be given")
    if not options.text_a_column:
      raise UserError(f"--task_name={CUSTOM}: --text_a_column must be given: the column with the text")
    if (options.do_train or options.do_eval) and not options.label_column:
      raise UserError(f"--task_name={CUSTOM}: --label_column must be given: the column with the labels")
    self.notes: list[str] = []
    there = opened.task if opened.task and not options.do_train else None
    is_regression = there.get("kind") == "regression" if there else False
    self.regression = options.regression or is_regression
    self.pair = options.text_b_column is not None
    self.labels = [] if self.regression else self._find_labels(there, opened)
    self.metrics = classification.OWN_REGRESSION if self.regression else classification.OWN_CLASSIFICATION

  def _find_labels(self, there: dict | None, opened: LoadedCheckpoint) -> list[str]:
    options = self._options
    if options.do_train:
      found = labelled_files.labels_of_file(
          files.check_readable(options.train_file, "train_file"), "train_file", options.label_column,
          options.file_format)
      return list(_order_of_checkpoint(found, opened))
    names = there.get("labels") if there else _names_in_config(opened)
    if not names:
      raise UserError(f"{opened.source.description} does not tell the names of its classes: it is not a classifier "
                      "trained here; give --do_train, or the directory of one")
    return list(names)

  def read(self) -> dict[str, LabelledTexts]:
    options = self._options
    needed = {"train": options.do_train, "dev": (options.do_train or options.do_eval) and options.dev_file,
              "test": options.do_predict}
    return {name: self._read(name) for name, is_needed in needed.items() if is_needed}

  def _read(self, name: str) -> LabelledTexts:
    options = self._options
    flag = f"{name}_file"
    return labelled_files.read_labelled_file(
        files.check_readable(getattr(options, flag), flag), flag, text_a_column=options.text_a_column,
        text_b_column=options.text_b_column, label_column=None if name == "test" else options.label_column,
        labels=self.labels, regression=self.regression, file_format=options.file_format)


def _names_in_config(opened: LoadedCheckpoint) -> list[str]:
  """The names of the classes by number, from a configuration of Hugging Face; empty where there are none."""
  names = opened.config.extra.get("id2label")
  if not isinstance(names, dict) or "output_weights" not in opened.source.tensors:
    return []
  return [str(names[key]) for key in sorted(names, key=int)]


def _order_of_checkpoint(labels: Sequence[str], opened: LoadedCheckpoint) -> Sequence[str]:
  """The labels in the order that the checkpoint's head has them in, where it is one for these labels."""
  if opened.source is None or not labels:
    return labels
  names = opened.task["labels"] if opened.task and "labels" in opened.task else _names_in_config(opened)
  return names if sorted(names) == sorted(labels) else labels
