"""The tasks that a trained model can be used for: one class each, and which of them a checkpoint is for.

No TensorFlow here until a class is needed: options take the names of the tasks from this table.
"""

import importlib
from typing import TYPE_CHECKING

from bert_common.errors import UserError
from bert_common.options import unknown_choice
from modeling.checkpoints.companion_files import FORMER_TASK_NAMES

if TYPE_CHECKING:
  from bert_tf.tasks.inference import TaskInference
  from modeling.checkpoints.load import Checkpoint

# --task → module and subclass of `tasks.inference.TaskInference`.
TASKS = {
    "classification": "bert_tf.tasks.classification.inference:ClassificationInference",
    "multiple_choice": "bert_tf.tasks.multiple_choice.inference:MultipleChoiceInference",
    "question_answering": "bert_tf.tasks.question_answering.inference:QuestionAnsweringInference",
    "sentence_embedding": "bert_tf.tasks.sentence_embedding.inference:SentenceEmbeddingInference",
    "token_classification": "bert_tf.tasks.token_classification.inference:TokenClassificationInference",
    "token_classification_from_features":
        "bert_tf.tasks.token_classification.feature_inference:FeatureTaggerInference",
    "fill_mask": "bert_tf.inference.fill_mask:MaskInference",
    "features": "bert_tf.inference.features:FeatureInference",
}
# What every checkpoint has.
_ENCODER_TASK = "features"
# A head of pre-training that is no task.
_NO_TASK = "next_sentence"


def task_class(task: str) -> "type[TaskInference]":
  """The class of one of `TASKS`: called with a checkpoint and settings it is a model, ready for the task."""
  module, _, name = TASKS[task].partition(":")
  return getattr(importlib.import_module(module), name)


def possible_tasks(loaded: "Checkpoint") -> list[str]:
  """The names of `TASKS` that a checkpoint can be used for: those of its heads, and what every encoder can do."""
  kind = (loaded.task or {}).get("kind")
  # Tasks of a model without a row in `HEADS`: `task.json` alone names them.
  return [name for name, one in ((name, task_class(name)) for name in TASKS)
          if name == _ENCODER_TASK or (one.head in loaded.heads if one.head else kind in one.kinds)]


def choose_task(loaded: "Checkpoint", task: str | None = None) -> str:
  """Chooses the task of a checkpoint.

  Args:
    task: one of `TASKS`; None for the only one that the checkpoint has a head for, of several that of `task.json`, and
      "features" where it has none.

  Raises:
    UserError: there is no such task, the checkpoint has no head for it, or has several and none is named.
  """
  if (task := FORMER_TASK_NAMES.get(task, task)) not in (None, *TASKS):
    raise unknown_choice("task", task, TASKS)
  checkpoint, kind = loaded.source.description, (loaded.task or {}).get("kind")
  usable = possible_tasks(loaded)
  if task is not None:
    if task not in usable:
      raise UserError(f"{checkpoint} has no head for --task={task}: it can be used for {', '.join(usable)}")
    return task
  classes, possible = {name: task_class(name) for name in TASKS}, [name for name in usable if name != _ENCODER_TASK]
  if loaded.config.causal:
    # Its masked-LM head predicts the next token.
    possible = [name for name in possible if classes[name].head != "masked_lm"]
  chosen = [name for name in possible if kind in classes[name].kinds] or possible
  if len(chosen) > 1:
    raise UserError(f"{checkpoint} has heads for several tasks: choose one with --task={' or --task='.join(chosen)}")
  others = [head for head in loaded.heads if head not in [one.head for one in classes.values()] and head != _NO_TASK]
  if not chosen and others:
    raise UserError(f"{checkpoint} has a head for {', '.join(others)}, which is none of the tasks {', '.join(TASKS)}; "
                    f"--task={_ENCODER_TASK} takes the encoder alone")
  return chosen[0] if chosen else _ENCODER_TASK
