"""Kind and classes of a checkpoint's classifier, by task.json or Hugging Face's configuration."""

from collections.abc import Mapping, Sequence

from bert_tf.tasks import class_names
from data_gen.labeled.glue import GLUE_TASKS, GlueTask
from modeling.checkpoints.load import Checkpoint
from modeling.config import label_names

# Values of "kind" in task.json. The last two are values of Hugging Face's "problem_type", too.
CLASSES = "classification"
SCORES = "regression"
SEVERAL_CLASSES = "multi_label_classification"


def problem_kind(checkpoint: Checkpoint) -> str | None:
    """Returns the kind of task in task.json or Hugging Face's configuration, if they name one."""
    if checkpoint.task:
        return checkpoint.task.get("kind")
    return checkpoint.config.extra.get("problem_type")


def checkpoint_labels(checkpoint: Checkpoint) -> list[str]:
    """Returns the names of the classes in task.json, else those that a Hugging Face configuration
    gives to the head; empty if there are none."""
    if checkpoint.task:
        return checkpoint.task.get("labels") or []
    if checkpoint.source is not None and "output_weights" in checkpoint.source.tensors:
        return label_names(checkpoint.config)
    return []


def order_of_checkpoint(
    labels: Sequence[str], checkpoint: Checkpoint, meanings: Mapping[str, str] | None = None
) -> list[str]:
    """Returns the labels in the order of the checkpoint's head, if it has the same labels."""
    if checkpoint.source is None or not labels:
        return list(labels)
    names = class_names.order_of_head(labels, checkpoint_labels(checkpoint), meanings)
    # A head with further classes is one for another task.
    if names is None or len(names) != len(labels):
        return list(labels)
    return names


def meanings_of(task: GlueTask | None) -> dict[str, str]:
    """Returns numbered label → name of a GLUE task, by the original's order of the labels."""
    if task is None:
        return {}
    numbered = GLUE_TASKS[task.name].labels
    return dict(zip(numbered, task.class_names, strict=False))
