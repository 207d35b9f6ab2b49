"""Which files a classification task reads: GLUE's, XNLI's or custom ones, with their labels and metrics.

Input: options and the checkpoint. Output: `TaskFiles`.
"""

import dataclasses
from collections.abc import Sequence

from bert_common import files
from bert_common.errors import UserError
from bert_tf.evaluation import classification
from bert_tf.tasks.classification.options import CUSTOM, ClassificationOptions
from bert_tf.tasks.labels import label_names
from data_gen.labelled import glue, tables, xnli
from data_gen.labelled.glue import GlueTask
from data_gen.labelled.tables import LabelledTexts
from modeling.checkpoints.load import Checkpoint

# "kind" in task.json, and "problem_type" of Hugging Face where it is not the first.
CLASSES, SCORES, SEVERAL_CLASSES = "classification", "regression", "multi_label_classification"


@dataclasses.dataclass
class TaskFiles:
  """What a run reads of a task's files.

  Attributes:
    name: as in `task.json`.
    pair: whether an example is a pair of texts.
    labels: names of the classes in the order of their numbers; empty for scores.
    metrics: of the development set; the first is the main one.
    kind: `CLASSES`, `SCORES` or `SEVERAL_CLASSES`.
    glue: the task of GLUE; None for others.
    texts: split → whole files: "train"; "dev…", of which the first selects; and those that are predicted.
    notes: what the user should know about the data.
  """

  name: str
  pair: bool
  labels: list[str]
  metrics: tuple[str, ...]
  kind: str = CLASSES
  glue: GlueTask | None = None
  texts: dict[str, LabelledTexts] = dataclasses.field(default_factory=dict)
  notes: list[str] = dataclasses.field(default_factory=list)


def read_files(options: ClassificationOptions, opened: Checkpoint, teacher_labels: Sequence[str] = ()) -> TaskFiles:
  """Reads the files of the options' task that the run needs.

  Args:
    teacher_labels: names of the classes where no training file tells them.

  Raises:
    UserError: flags that do not go together, nothing tells the labels, or a file is missing or wrong.
  """
  found = _read_own_files(options, opened, teacher_labels)
  if options.do_train and options.transfer_file:
    if found.pair != (options.text_b_column is not None):
      raise UserError("--transfer_file: --text_b_column must be given, as this task is for pairs of texts" if found.pair
                      else "--transfer_file: --text_b_column is given, but this task is for single texts")
    found.texts["transfer"] = tables.read_labelled_file(
        files.check_readable(options.transfer_file, "transfer_file"), "transfer_file",
        text_a_column=options.text_a_column, text_b_column=options.text_b_column, labels=None,
        file_format=options.file_format)
  return found


def _read_own_files(options: ClassificationOptions, opened: Checkpoint, teacher_labels: Sequence[str]) -> TaskFiles:
  if options.is_custom:
    return _read_custom(options, opened, teacher_labels)
  files_given = [f"--{name}" for name in ("train_file", "dev_file", "test_file") if getattr(options, name)]
  if files_given:
    raise UserError(f"{', '.join(files_given)}: files are named for --task_name={CUSTOM} only; those of "
                    f"{'XNLI' if options.is_xnli else 'GLUE'} are found in --data_dir")
  if not options.data_dir:
    what = "the files of XNLI" if options.is_xnli else "the folders of GLUE's tasks"
    raise UserError(f"--data_dir must be given: where {what} are")
  return (_read_xnli if options.is_xnli else _read_glue)(options, opened)


def _read_glue(options: ClassificationOptions, opened: Checkpoint) -> TaskFiles:
  task = glue.find_task(options.task_name)
  if task.name == "ax" and options.evaluates:
    raise UserError("the diagnostic set AX has no labels here: give --do_predict only, and an --init_checkpoint "
                    "that is trained for MNLI")
  labels = _order_of_checkpoint(task.labels, opened)
  found = TaskFiles(task.name, task.pair, labels, classification.TASK_METRICS.get(task.name, ()),
                    SCORES if task.regression else CLASSES, task)
  task = dataclasses.replace(task, labels=tuple(labels))

  def read(*names: str) -> None:
    """The first must be there; a further one that is missing is said."""
    for name in names:
      if name == names[0] or glue.has_split(task, options.data_dir, name):
        found.texts[name] = glue.read_split(task, options.data_dir, name)
      else:
        found.notes.append(f"{task.folder} has no {name}.tsv in {options.data_dir}: only {names[0]} is used")

  if options.do_train:
    read("train")
  if options.evaluates:
    names = glue.dev_splits(task)
    read(*names)
    found.texts |= {f"dev_{name}": glue.read_split(task, options.data_dir, names[0], path)
                    for name, path in options.named_eval_files.items()}
  if options.do_predict:
    read(*glue.test_splits(task))
  return found


def _read_xnli(options: ClassificationOptions, opened: Checkpoint) -> TaskFiles:
  found = TaskFiles(xnli.NAME, True, _order_of_checkpoint(xnli.LABELS, opened), ("accuracy",))
  if options.do_train:
    found.texts["train"] = xnli.read_training(options.data_dir, options.train_language, found.labels)
  for split, is_needed in (("dev", options.evaluates), ("test", options.do_predict)):
    if is_needed:
      texts = xnli.read_evaluation(options.data_dir, split, options.eval_languages or (options.train_language,),
                                   found.labels)
      found.texts |= {split if len(texts) == 1 else f"{split}_{language}": one for language, one in texts.items()}
  return found


def _read_custom(options: ClassificationOptions, opened: Checkpoint, teacher_labels: Sequence[str]) -> TaskFiles:
  needed = {"train": options.do_train and not options.transfer_file,
            "dev": options.do_eval or (options.do_train and options.eval_files),
            "test": options.do_predict}
  missing = [f"{options.asked_by(split)} needs --{split}_file" for split, is_needed in needed.items()
             if is_needed and not getattr(options, f"{split}_file")]
  if missing:
    raise UserError(f"--task_name={CUSTOM}: {', and '.join(missing)}")
  if not options.text_a_column:
    raise UserError(f"--task_name={CUSTOM}: --text_a_column must be given: the column with the text")
  is_labelled = options.train_file or options.dev_file
  if options.evaluates and is_labelled and not options.label_column:
    raise UserError(f"--task_name={CUSTOM}: --label_column must be given: the column with the labels")
  kind = _custom_kind(options, opened)
  separator = options.label_separator if kind == SEVERAL_CLASSES else None
  labels = [] if kind == SCORES else _custom_labels(options, opened, separator, teacher_labels)
  metrics = {CLASSES: classification.OWN_CLASSIFICATION, SCORES: classification.OWN_REGRESSION,
             SEVERAL_CLASSES: classification.OWN_MULTI_LABEL}[kind]
  paths = {"train": ("train_file", options.do_train and options.train_file),
           "dev": ("dev_file", options.evaluates and options.dev_file)}
  if options.evaluates:
    paths |= {f"dev_{name}": ("eval_files", path) for name, path in options.named_eval_files.items()}
  paths["test"] = ("test_file", options.do_predict and options.test_file)
  texts = {name: tables.read_labelled_file(
      files.check_readable(path, flag), flag, text_a_column=options.text_a_column,
      text_b_column=options.text_b_column, label_column=None if name == "test" else options.label_column,
      labels=labels, regression=kind == SCORES, separator=separator, file_format=options.file_format)
      for name, (flag, path) in paths.items() if path}
  return TaskFiles(CUSTOM, options.text_b_column is not None, labels, metrics, kind, texts=texts)


def _custom_kind(options: ClassificationOptions, opened: Checkpoint) -> str:
  """What was asked for; of a model that is not trained further, what it is."""
  if options.regression or options.multi_label:
    return SCORES if options.regression else SEVERAL_CLASSES
  if options.do_train:
    return CLASSES
  told = problem_kind(opened)
  return told if told in (SCORES, SEVERAL_CLASSES) else CLASSES


def problem_kind(opened: Checkpoint) -> str | None:
  """`CLASSES`, `SCORES` or `SEVERAL_CLASSES`, as task.json or Hugging Face's configuration tells; else None."""
  return opened.task.get("kind") if opened.task else opened.config.extra.get("problem_type")


def _custom_labels(options: ClassificationOptions, opened: Checkpoint, separator: str | None,
                   teacher_labels: Sequence[str]) -> list[str]:
  if options.do_train and not options.train_file:
    return _order_of_checkpoint(teacher_labels, opened)
  if options.do_train:
    path = files.check_readable(options.train_file, "train_file")
    files.check_read_again(path, "train_file")
    return _order_of_checkpoint(tables.labels_of_file(
        path, "train_file", options.label_column, options.file_format, separator), opened)
  names = opened.task.get("labels") if opened.task else _names_in_config(opened)
  if not names:
    raise UserError(f"{opened.source.description} does not tell the names of its classes: it is not a classifier "
                    "trained here; give --do_train, or the directory of one")
  return list(names)


def _names_in_config(opened: Checkpoint) -> list[str]:
  """The names of the classes from a configuration of Hugging Face; empty where there are none, or no head."""
  return label_names(opened.config) if "output_weights" in opened.source.tensors else []


def _order_of_checkpoint(labels: Sequence[str], opened: Checkpoint) -> list[str]:
  """The labels in the order that the checkpoint's head has them in, where it is one for these labels."""
  if opened.source is None or not labels:
    return list(labels)
  names = opened.task["labels"] if opened.task and "labels" in opened.task else _names_in_config(opened)
  return list(names if sorted(names) == sorted(labels) else labels)
