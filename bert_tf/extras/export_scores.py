"""The score of an export on a development set, beside that of the model: what quantization costs.

Input: the run directory that the model is from, whose `flags.json` contains how its development set is read. Output:
both scores, by the readers and metrics of the run script, so that they are those of a run with `--do_eval`.
"""

import dataclasses
import importlib
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bert_common import cli, json_files
from bert_common.errors import UserError
from bert_common.options import declared_options
from bert_tf.evaluation.classification import softmax
from bert_tf.inference.options import ExportOptions
from bert_tf.tasks import run_inputs
from bert_tf.tasks.fine_tuning import FineTuningTask
from bert_tf.tasks.inference import TaskInference
from bert_tf.tasks.options import FineTuningOptions
from bert_tf.tasks.question_answering.options import SETTINGS
from bert_tf.training.examples import Examples, lengths_for
from bert_tf.training.prediction import LocalPrediction
from modeling.checkpoints.companion_files import BEST_DIRECTORY, FLAGS_FILE
from modeling.checkpoints.load import Checkpoint

# Task → the name in the classes of its run's options and task, the option that names its development set, and that
# which has it read.
RUNS = {
    "classification": ("Classification", "dev_file", "do_eval"),
    "multiple_choice": ("MultipleChoice", "dev_file", "do_eval"),
    "question_answering": ("Squad", "predict_file", "do_predict"),
    "sentence_embedding": ("SentenceEmbedding", "dev_file", "do_eval"),
    "token_classification": ("TokenClassification", "dev_file", "do_eval")}
# What else a run reads or writes; how contexts are read and answers chosen is in `task.json`, as it was tuned.
_UNREAD = {"train_file", "test_file", "eval_files", "ensemble", "question", "context", "context_file", "feature_based",
           *SETTINGS}
_BATCH_SIZE = 32
Predict = Callable[[Examples], dict[str, np.ndarray]]


@dataclasses.dataclass(frozen=True)
class ScoreLoss:
  """The main metric of a run, by the model and by its export, of a development set."""

  metric: str
  model: float
  export: float
  source: str

  @property
  def share(self) -> float:
    """The part of the model's score that is lost; below 0 where the export happens to be better."""
    return (self.model - self.export) / abs(self.model) if self.model else 0.0

  def describe(self) -> str:
    """A line for the user."""
    return f"{self.metric} of {self.source}: {self.model:.4f}, of the export {self.export:.4f} ({0 - self.share:+.2%})"


class DevelopmentSet:
  """A development set, read as the run read it.

  Raises:
    UserError: no flags say how, or a file can't be read.
  """

  def __init__(self, options: ExportOptions, checkpoint: Checkpoint, task_name: str, task: TaskInference):
    path = os.path.join((checkpoint.source.directory if checkpoint.source else None) or "", FLAGS_FILE)
    flags = json_files.read_object(path, {"flags": dict | None}).get("flags")
    if task_name not in RUNS or not flags:
      raise UserError(f"no development set of {options.init_checkpoint} is known: it is no run directory of this task")
    self.inference = task
    name, dev_option, ask = RUNS[task_name]
    options_class, run_class = run_classes(task_name, name)
    # Of the run's flags those that its development set is read by.
    unread = {one.name for one in declared_options(FineTuningOptions)} | _UNREAD
    values = {one.name: flags[one.name] for one in declared_options(options_class) if one.name not in unread
              and flags.get(one.name) not in (None, "", [], list(one.default or ()) if one.is_list else one.default)}
    given = {dev_option: options.dev_file, "data_dir": options.data_dir, **options.companions(),
             "max_seq_length": task.max_seq_length, ask: True, "init_checkpoint": options.init_checkpoint,
             "output_dir": options.export_dir}
    values |= {key: value for key, value in given.items() if value is not None}
    words = [f"--{key}={','.join(map(str, value)) if isinstance(value, list) else value}"
             for key, value in values.items()]
    self.run_task = run_class(cli.parse(options_class, [FLAGS_FILE, *words]))
    if not self.run_task.can_evaluate:
      raise UserError(f"the run of {options.init_checkpoint} had no development set: give --dev_file")
    self.source = next(path for name, path in self.run_task.data.files().items() if name != "train")
    folder = os.path.dirname(path)
    known = run_inputs.read(os.path.dirname(folder) if os.path.basename(folder) == BEST_DIRECTORY else folder)[
        "made_from"].get(run_inputs.DEV)
    if known and not options.dev_file and known["digest"] != run_inputs.content_digest([self.source]):
      raise UserError(f"{self.source} is not the development set that the run of {options.init_checkpoint} had: give "
                      "one by --dev_file")

  def measure(self, predict: Predict, batch_size: int) -> ScoreLoss:
    """The scores of the model and of its export, of which `predict` gives what `FineTuningTask.outputs` gives.

    Args:
      batch_size: of `predict`, for the report: rounding by the range of a batch makes answers depend on it.
    """
    task = self.run_task
    print(f"measuring {task.main_metric} of {self.source}, by the model and by the export", flush=True)
    model = LocalPrediction(lambda features: task.outputs(self.inference.model, features), _BATCH_SIZE,
                            lengths_for(task.description["max_seq_length"], few=False), task.token_outputs)
    scores = [float(task.evaluate(Predicting(task, one)).metrics[task.main_metric]) for one in (model, predict)]
    return ScoreLoss(str(task.main_metric), *scores, f"{self.source}, in batches of {batch_size}")


class Predicting:
  """What a task sees of its run (`tasks.task.RunningModel`) where it only predicts."""

  weights_step = 0

  def __init__(self, task: FineTuningTask, predict: Predict):
    self.description = task.description
    self._predict = predict

  def predict(self, examples: Examples, advance: Callable[[int], None] = lambda count: None) -> dict[str, np.ndarray]:
    return self._predict(examples)


def run_classes(task_name: str, name: str) -> tuple[type[FineTuningOptions], type[FineTuningTask]]:
  """The options and the task of a run, by the name in their classes."""
  package = f"bert_tf.tasks.{task_name}"
  return (getattr(importlib.import_module(f"{package}.options"), f"{name}Options"),
          getattr(importlib.import_module(f"{package}.task"), f"{name}Task"))


def as_task_outputs(head: str | None, outputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
  """Outputs of an export, or of another library's model, as `FineTuningTask.outputs` names them."""
  if head == "multiple_choice":
    return {"scores": outputs["logits"][:, 0]}
  if head == "token_classification":
    return {"probabilities": softmax(outputs["logits"]).astype(np.float32)}
  if head is None:
    return {"vector": outputs["sentence_embedding"]}
  return dict(outputs)
