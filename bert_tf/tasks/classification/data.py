"""From the files of a classification task to examples in memory, and whether the checkpoint fits them.

Input: labelled texts (`bert_tf/tasks/classification/readers.py`). Output: sequences with labels, which
`bert_tf/tasks/classification/task.py` trains on.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from bert_common.errors import UserError
from bert_tf.evaluation.classification import sigmoid, softmax
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.classification.readers import CLASSES, SCORES, SEVERAL_CLASSES, read_files
from bert_tf.tasks.classification.sequences import LongTexts, Sequences
from bert_tf.tasks.splits import TaskData
from bert_tf.training.examples import Examples
from data_gen.labelled.glue import GlueTask
from data_gen.labelled.tables import LabelledTexts
from modeling.checkpoints.load import Checkpoint


@dataclasses.dataclass(frozen=True)
class Split:
  """A file's texts, and the sequences made of them; as `splits.Split`."""

  source: LabelledTexts
  sequences: Sequences

  def __len__(self) -> int:
    return len(self.source)

  @property
  def examples(self) -> Examples:
    """What the model sees."""
    return self.sequences.examples

  @property
  def is_labelled(self) -> bool:
    """Whether the right answers are known."""
    return self.source.labels is not None


@dataclasses.dataclass(frozen=True)
class ClassificationData(TaskData):
  """What a run reads.

  Attributes:
    positive_weights: of the classes in the loss, where several may apply; None for 1.
    transfer: texts without labels for a teacher; None where there are none.
  """

  glue: GlueTask | None
  kind: str
  labels: tuple[str, ...]
  metrics: tuple[str, ...]
  positive_weights: tuple[float, ...] | None
  transfer: Split | None = None

  def files(self) -> dict[str, str]:
    return super().files() | ({} if self.transfer is None else {"transfer": self.transfer.source.path})

  @property
  def training_splits(self) -> list[Split]:
    """What is trained on: examples with labels, and transfer text."""
    return [split for split in (self.train, self.transfer) if split is not None]

  @property
  def regression(self) -> bool:
    """Whether scores are predicted."""
    return self.kind == SCORES

  @property
  def multi_label(self) -> bool:
    """Whether several classes may apply to an example."""
    return self.kind == SEVERAL_CLASSES

  def values(self, logits: np.ndarray) -> np.ndarray:
    """What is written of logits [E, C]: float64 probabilities [E, C]; float32 scores [E] of a regression."""
    if self.regression:
      return logits[:, 0]
    return sigmoid(logits) if self.multi_label else softmax(logits)

  def predictions(self, logits: np.ndarray) -> np.ndarray:
    """Classes, int [E]; scores, float32 [E]; or the classes of a probability of at least one half, bool [E, C]."""
    if self.regression:
      return logits[:, 0]
    return logits >= 0 if self.multi_label else logits.argmax(axis=-1)


def read_data(options: ClassificationOptions, opened: Checkpoint, teacher_labels: Sequence[str] = ()
              ) -> ClassificationData:
  """Reads what a run needs and makes sequences of it; `teacher_labels` as in `read_files`.

  Raises:
    UserError: a task that is not known, a file that is missing or wrong (see `data_gen`), or flags that do not go
      together.
  """
  opened.config.check_sequence_length(options.max_seq_length, "--max_seq_length")
  found = read_files(options, opened, teacher_labels)
  long_texts = LongTexts.choose(options.long_texts, options.max_seq_length, options.window_stride,
                                None if options.do_train else opened.task)
  if long_texts.is_windows and found.pair:
    raise UserError("--long_texts=windows is for single texts: pairs can be cut by truncate or head_tail")
  if options.class_weights and found.kind == SCORES:
    raise UserError("--class_weights is for classes, this task is a regression")
  if found.kind == SCORES and (options.distillation_temperature or "distillation_temperature" in options.sweep):
    raise UserError("--distillation_temperature is for classes: a teacher's scores are learnt as they are")
  if options.class_weights and options.do_train and "train" not in found.texts:
    raise UserError("--class_weights is for labels: texts of --transfer_file, which have none, count the same")
  notes, splits = list(found.notes), {}
  for name, texts in found.texts.items():
    limit = (options.max_train_examples if name == "train" else None if name == "transfer" else
             options.max_eval_examples if name.startswith("dev") else options.max_predict_examples)
    splits[name] = _make_split(name, texts.first(limit), opened, long_texts, notes)
  train, transfer, positive_weights = splits.pop("train", None), splits.pop("transfer", None), None
  if train is not None:
    train, positive_weights = _with_weights(train, found.kind, found.labels, options)
  return ClassificationData(
      glue=found.glue, kind=found.kind, labels=tuple(found.labels), metrics=found.metrics, train=train,
      dev={name: split for name, split in splits.items() if name.startswith("dev")},
      test={name: split for name, split in splits.items() if not name.startswith("dev")},
      positive_weights=positive_weights, transfer=transfer, notes=notes,
      description={"kind": found.kind, "task_name": found.name, "labels": found.labels, "pair": found.pair,
                   "max_seq_length": options.max_seq_length, **long_texts.to_task()})


def check_head(opened: Checkpoint, data: ClassificationData, do_train: bool) -> str | None:
  """Why the checkpoint's classification head can't be used for this task; None where it can, or there is none."""
  shape = opened.source.tensors.get("output_weights") if opened.source else None
  if shape is None:
    return None
  classes = 1 if data.regression else len(data.labels)
  if shape[0] != classes:
    return f"that of the checkpoint has {shape[0]} classes, this task has {classes}"
  here = data.description
  there = {**here, **(opened.task or {})}
  if there["kind"] not in (CLASSES, SCORES, SEVERAL_CLASSES):
    return None
  if list(there["labels"]) != here["labels"] or there["kind"] != here["kind"]:
    several = ", of which several may apply" if there["kind"] == SEVERAL_CLASSES else ""
    return f"that of the checkpoint is for the labels {', '.join(there['labels']) or 'of a regression'}{several}"
  if do_train and there["task_name"] != here["task_name"]:
    return f"that of the checkpoint was trained for {there['task_name']}"
  return None


def _make_split(name: str, texts: LabelledTexts, opened: Checkpoint, long_texts: LongTexts,
                notes: list[str]) -> Split:
  sequences = long_texts.encode(opened.tokenizer, texts.text_a, texts.text_b)
  if texts.labels is not None:
    values = {"label_ids": sequences.per_window(texts.labels)}
    sequences = dataclasses.replace(sequences, examples=dataclasses.replace(sequences.examples, values=values))
  if texts.num_skipped:
    notes.append(f"{texts.path}: {texts.num_skipped} malformed rows left out")
  if sequences.truncated:
    notes.append(f"{name}: {sequences.truncated} of {len(texts)} examples were truncated to "
                 f"{long_texts.max_seq_length} tokens")
  if sequences.window_counts is not None and (several := int((sequences.window_counts > 1).sum())):
    notes.append(f"{name}: {several} of {len(texts)} examples have several windows, {len(sequences.examples)} windows "
                 f"in all")
  return Split(texts, sequences)


def _with_weights(train: Split, kind: str, labels: list[str], options: ClassificationOptions
                  ) -> tuple[Split, tuple[float, ...] | None]:
  """The training set with how much its sequences count in the loss; and, for several classes, how much those do.

  The windows of a text count as much together as one text.
  """
  numbers, counts = train.source.labels, train.sequences.window_counts
  weights = positive_weights = None
  if kind == SEVERAL_CLASSES:
    positive_weights = options.weights_of_positives(labels, numbers.sum(axis=0, dtype=np.int64).tolist(), len(numbers))
  elif kind == CLASSES:
    weights = options.weights_of_classes(labels, np.bincount(numbers, minlength=len(labels)).tolist())
  if weights is None and counts is None:
    return train, positive_weights and tuple(positive_weights)
  per_text = np.ones(len(numbers), np.float32) if weights is None else np.array(weights, np.float32)[numbers]
  if counts is not None:
    per_text = per_text / counts.astype(np.float32)
  examples = train.examples
  values = {**examples.values, "loss_weight": train.sequences.per_window(per_text)}
  sequences = dataclasses.replace(train.sequences, examples=dataclasses.replace(examples, values=values))
  return dataclasses.replace(train, sequences=sequences), positive_weights and tuple(positive_weights)
