"""Which files a classification task reads: GLUE's, XNLI's or one's own, each with its labels and metrics.

Input: options and the checkpoint. Output: `LabelledTexts` by the names of their splits: "train"; "dev…", of which the
first selects; and those that are predicted.
"""

import abc
import dataclasses
from collections.abc import Sequence

from bert_tf.common import files
from bert_tf.common.errors import UserError
from bert_tf.evaluation import classification
from bert_tf.tasks.classification.options import CUSTOM, ClassificationOptions
from bert_tf.tasks.labels import label_names
from data_gen.labelled import glue, labelled_files, xnli
from data_gen.labelled.glue import GlueTask
from data_gen.labelled.labelled_files import LabelledTexts
from modeling.checkpoints.load import Checkpoint

# "kind" in task.json, and "problem_type" of Hugging Face where it is not the first.
CLASSES, SCORES, SEVERAL_CLASSES = "classification", "regression", "multi_label_classification"


class Reader(abc.ABC):
  """A task's files.

  Attributes:
    task: of GLUE; None for others.
    name: as in `task.json`.
    kind: `CLASSES`, `SCORES` or `SEVERAL_CLASSES`.
    pair: whether an example is a pair of texts.
    labels: names of the classes in the order of their numbers; empty for scores.
    metrics: of the development set; the first is the main one.
    notes: what the user should know about the data.
  """

  task: GlueTask | None = None
  name: str
  kind: str = CLASSES
  pair: bool
  labels: list[str]
  metrics: tuple[str, ...]

  def __init__(self, options: ClassificationOptions):
    self._options = options
    self.notes: list[str] = []

  @property
  def _is_evaluated(self) -> bool:
    return self._options.do_train or self._options.do_eval

  @abc.abstractmethod
  def read(self) -> dict[str, LabelledTexts]:
    """What the run needs, whole."""


def make_reader(options: ClassificationOptions, opened: Checkpoint) -> Reader:
  """The reader of the task of the options.

  Raises:
    UserError: flags that do not go together, or nothing tells the labels.
  """
  if options.is_custom:
    return _CustomReader(options, opened)
  files_given = [f"--{name}" for name in ("train_file", "dev_file", "test_file") if getattr(options, name)]
  if files_given:
    raise UserError(f"{', '.join(files_given)}: files are named for --task_name={CUSTOM} only; those of "
                    f"{'XNLI' if options.is_xnli else 'GLUE'} are found in --data_dir")
  if not options.data_dir:
    what = "the files of XNLI" if options.is_xnli else "the folders of GLUE's tasks"
    raise UserError(f"--data_dir must be given: where {what} are")
  return _XnliReader(options, opened) if options.is_xnli else _GlueReader(options, opened)


class _GlueReader(Reader):
  """Which splits of a task of GLUE a run needs."""

  def __init__(self, options: ClassificationOptions, opened: Checkpoint):
    super().__init__(options)
    self.task = glue.find_task(options.task_name)
    self.name = self.task.name
    if self.task.name == "ax" and (options.do_train or options.do_eval):
      raise UserError("the diagnostic set AX has no labels here: give --do_predict only, and an --init_checkpoint "
                      "that is trained for MNLI")
    self.kind = SCORES if self.task.regression else CLASSES
    self.pair = self.task.pair
    self.labels = list(_order_of_checkpoint(self.task.labels, opened))
    self.metrics = classification.TASK_METRICS.get(self.task.name, ())

  def read(self) -> dict[str, LabelledTexts]:
    options = self._options
    splits = {}
    task = dataclasses.replace(self.task, labels=tuple(self.labels))
    if options.do_train:
      splits["train"] = glue.read_split(task, options.data_dir, "train")
    if self._is_evaluated:
      names = glue.dev_splits(task)
      splits |= self._read_several(task, names)
      splits |= {f"dev_{name}": glue.read_split(task, options.data_dir, names[0], path)
                 for name, path in options.named_eval_files.items()}
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


class _XnliReader(Reader):
  """The languages of XNLI that a run needs."""

  name, pair = xnli.NAME, True
  metrics = ("accuracy",)

  def __init__(self, options: ClassificationOptions, opened: Checkpoint):
    super().__init__(options)
    self.labels = list(_order_of_checkpoint(xnli.LABELS, opened))

  def read(self) -> dict[str, LabelledTexts]:
    options = self._options
    languages = options.eval_languages or (options.train_language,)
    splits = {}
    if options.do_train:
      splits["train"] = xnli.read_training(options.data_dir, options.train_language, self.labels)
    for split, is_needed in (("dev", self._is_evaluated), ("test", options.do_predict)):
      if is_needed:
        found = xnli.read_evaluation(options.data_dir, split, languages, self.labels)
        splits |= {split if len(found) == 1 else f"{split}_{language}": texts for language, texts in found.items()}
    return splits


class _CustomReader(Reader):
  """The files of somebody's own task."""

  name = CUSTOM

  def __init__(self, options: ClassificationOptions, opened: Checkpoint):
    super().__init__(options)
    needed = {"train_file": options.do_train, "dev_file": options.do_eval or (options.do_train and options.eval_files),
              "test_file": options.do_predict}
    missing = [f"--{name}" for name, is_needed in needed.items() if is_needed and not getattr(options, name)]
    if missing:
      raise UserError(f"--task_name={CUSTOM}: {', '.join(missing)} must be given")
    if not options.text_a_column:
      raise UserError(f"--task_name={CUSTOM}: --text_a_column must be given: the column with the text")
    if self._is_evaluated and not options.label_column:
      raise UserError(f"--task_name={CUSTOM}: --label_column must be given: the column with the labels")
    there = opened.task if opened.task and not options.do_train else None
    self.kind = self._choose_kind(there, opened)
    self.pair = options.text_b_column is not None
    self.labels = [] if self.kind == SCORES else self._find_labels(there, opened)
    self.metrics = {CLASSES: classification.OWN_CLASSIFICATION, SCORES: classification.OWN_REGRESSION,
                    SEVERAL_CLASSES: classification.OWN_MULTI_LABEL}[self.kind]

  def _choose_kind(self, there: dict | None, opened: Checkpoint) -> str:
    """What was asked for; of a model that is not trained further, what it is."""
    options = self._options
    if options.regression or options.multi_label:
      return SCORES if options.regression else SEVERAL_CLASSES
    if options.do_train:
      return CLASSES
    told = there.get("kind") if there else opened.config.extra.get("problem_type")
    return told if told in (SCORES, SEVERAL_CLASSES) else CLASSES

  @property
  def _separator(self) -> str | None:
    return self._options.label_separator if self.kind == SEVERAL_CLASSES else None

  def _find_labels(self, there: dict | None, opened: Checkpoint) -> list[str]:
    options = self._options
    if options.do_train:
      found = labelled_files.labels_of_file(
          files.check_readable(options.train_file, "train_file"), "train_file", options.label_column,
          options.file_format, self._separator)
      return list(_order_of_checkpoint(found, opened))
    names = there.get("labels") if there else _names_in_config(opened)
    if not names:
      raise UserError(f"{opened.source.description} does not tell the names of its classes: it is not a classifier "
                      "trained here; give --do_train, or the directory of one")
    return list(names)

  def read(self) -> dict[str, LabelledTexts]:
    options = self._options
    paths = {"train": options.do_train and options.train_file, "dev": self._is_evaluated and options.dev_file}
    if self._is_evaluated:
      paths |= {f"dev_{name}": path for name, path in options.named_eval_files.items()}
    paths["test"] = options.do_predict and options.test_file
    return {name: self._read(name, path) for name, path in paths.items() if path}

  def _read(self, name: str, path: str) -> LabelledTexts:
    options = self._options
    flag = "eval_files" if name.startswith("dev_") else f"{name}_file"
    return labelled_files.read_labelled_file(
        files.check_readable(path, flag), flag, text_a_column=options.text_a_column,
        text_b_column=options.text_b_column, label_column=None if name == "test" else options.label_column,
        labels=self.labels, regression=self.kind == SCORES, separator=self._separator,
        file_format=options.file_format)


def _names_in_config(opened: Checkpoint) -> list[str]:
  """The names of the classes from a configuration of Hugging Face; empty where there are none, or no head."""
  return label_names(opened.config) if "output_weights" in opened.source.tensors else []


def _order_of_checkpoint(labels: Sequence[str], opened: Checkpoint) -> Sequence[str]:
  """The labels in the order that the checkpoint's head has them in, where it is one for these labels."""
  if opened.source is None or not labels:
    return labels
  names = opened.task["labels"] if opened.task and "labels" in opened.task else _names_in_config(opened)
  return names if sorted(names) == sorted(labels) else labels
