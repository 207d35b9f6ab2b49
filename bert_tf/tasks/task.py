"""What a task tells the driver (`bert_tf/tasks/run.py`): everything that is not the same for all runs.

`bert_tf/tasks/fine_tuning.py` has what tasks on labelled files share.
"""

import abc
import copy
import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Protocol, Self

import numpy as np

from bert_common.errors import UserError
from bert_tf.tasks.evaluation import Evaluation
from bert_tf.tasks.options import TrainingOptions
from bert_tf.training.devices import Devices
from bert_tf.training.inputs import BatchSizes
from bert_tf.training.loop import LoopOptions
from bert_tf.training.reports import Reports
from bert_tf.training.step import Objective
from modeling import memory
from modeling.checkpoints.companion_files import StoredWeights
from modeling.config import BertConfig
from modeling.flops import training_flops
from modeling.optimizer import WarmupDecay
from modeling.task_model import BertTaskModel


class RunningModel(Protocol):
  """What a task sees of its run (`bert_tf/tasks/run.py`): the model where it stands, and what runs it.

  Attributes:
    step: updates made.
    examples: training examples seen: the place in their stream.
    weights_step: updates that the weights have seen: those of the best checkpoint after training, where there is one.
    description: `task.json` of these weights; None for pre-training.
    evaluation: () → that of the weights as they are, the last one where it was of the same weights.
    predict: (examples, advance) → the task's outputs for examples in memory, see `Prediction`.
    check_stop: () → raises `Interrupted` if a signal has come.
    describe_model: () → sizes and parameters.
    reports: where `show_evaluation` shows pictures.
  """

  model: BertTaskModel
  devices: Devices
  log: Callable[[str], None]
  step: int
  examples: int
  weights_step: int
  description: dict | None
  evaluation: Callable[[], Evaluation]
  predict: Callable[..., dict[str, np.ndarray]]
  check_stop: Callable[[], None]
  describe_model: Callable[[], str]
  reports: Reports


@dataclasses.dataclass(frozen=True)
class Stage:
  """Steps that train on batches of one kind; most runs have one stage.

  Attributes:
    flops_per_example: floating-point operations of the training for an example, see `modeling/flops.py`.
    make_dataset: () → distributed dataset that starts at the run's place in the stream of examples.
    batch_sizes: records of the steps where their number differs; None where it is the batch size.
    name: what the user is told when it begins; None for nothing.
  """

  last_step: int
  batch_size: int
  tokens_per_example: float
  flops_per_example: float
  make_dataset: Callable
  batch_sizes: BatchSizes | None = None
  name: str | None = None


class Task(abc.ABC):
  """A task with its data, read and checked before any device is touched.

  The constructor opens the checkpoint, reads the data and refuses what does not fit; it sets these attributes.

  Attributes:
    config: of the model, as it is written into the run directory.
    start: the weights to start from where the run has no checkpoint of its own; None for random ones.
    start_step: updates that these weights have seen.
    optional_heads: heads of the model that need not be in a checkpoint that is only evaluated.
    head_mismatch: why the head in `start` is of no use here; None where it belongs to this task, or there is none.
    vocab_file, do_lower_case, vocab_sha256: of the vocabulary; None where they are not known.
    description: `task.json`, written now and with every best checkpoint; None for pre-training.
    main_metric: by which checkpoints are compared, higher is better; None where none is kept as the best.
    shown_metric: of the objective, shown beside the progress bar.
    prints_only: the run only prints what it predicts: it writes nothing and leaves out all other lines.
    reports_every_evaluation: evaluations after training go to TensorBoard and `metrics.jsonl`, too.
  """

  options: TrainingOptions
  config: BertConfig
  start: StoredWeights | None = None
  start_step: int = 0
  optional_heads: tuple[str, ...] = ()
  head_mismatch: str | None = None
  vocab_file: str | None = None
  do_lower_case: bool | None = None
  vocab_sha256: str | None = None
  description: dict | None = None
  main_metric: str | None = None
  shown_metric: str = "accuracy"
  notes: list[str]
  prints_only: bool = False
  reports_every_evaluation: bool = False

  def with_options(self, options: TrainingOptions) -> Self:
    """The same data under other options; of a selection, those of one combination."""
    other = copy.copy(self)
    other.options = options
    other.config = options.adapt(self.config)
    other.description = None if self.description is None else dict(self.description)
    return other

  @abc.abstractmethod
  def make_model(self, dtype: str) -> BertTaskModel:
    """A new model; called in the strategy's scope."""

  @abc.abstractmethod
  def objective(self, model: BertTaskModel) -> Objective:
    """What is minimised and measured in training."""

  @abc.abstractmethod
  def schedule(self) -> WarmupDecay:
    """The learning rate of the whole run; it knows the number of steps."""

  @abc.abstractmethod
  def loop_options(self) -> LoopOptions:
    """How far and how often."""

  @abc.abstractmethod
  def stage(self, run: RunningModel) -> Stage:
    """The part of the training that begins at the run's step; at the end of the training, the last part."""

  @abc.abstractmethod
  def plan(self, run: RunningModel) -> str:
    """What is about to happen, for the user."""

  @property
  @abc.abstractmethod
  def can_evaluate(self) -> bool:
    """Whether there is something to evaluate on, and it is asked for."""

  @abc.abstractmethod
  def evaluate(self, run: RunningModel) -> Evaluation:
    """What the run's model as it is makes of the evaluation data."""

  def show_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:  # noqa: B027  (most have none)
    """Pictures and texts of an evaluation, by `tf.summary`; called while training."""

  @abc.abstractmethod
  def write_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
    """The files of the final evaluation, and what the user is told; called where `options.do_eval` is set."""

  def predict(self, run: RunningModel) -> Mapping[str, float] | None:  # noqa: B027
    """Writes predictions; called where `options.predicts`. Returns their scores where the right answers are known."""

  def complete_metrics(self, metrics: Mapping[str, float]) -> dict[str, float]:
    """Metrics that an earlier version noted, with those that have been added since."""
    return dict(metrics)

  def batches(self) -> list[tuple[int, float]]:
    """Examples of a step and tokens of an example, for each stage of the training."""
    return [(self.options.train_batch_size, self.train_examples.tokens_per_example)]

  def row_flops(self, length: int | np.ndarray, predictions: int) -> float | np.ndarray:
    """Floating-point operations of the training for rows of so many tokens."""
    options = self.options
    return training_flops(self.config, length, predictions, frozen_layers=options.freeze_layers,
                          frozen_embeddings=options.freeze_embeddings, has_lora=bool(options.lora))

  def check_devices(self, devices: Devices) -> None:
    """Raises `UserError` where batches can't be spread over the replicas, or do not fit into the machine's memory."""
    options, replicas = self.options, devices.strategy.num_replicas_in_sync
    parts = replicas * options.gradient_accumulation_steps
    for size, tokens in self.batches() if options.do_train else ():
      if size % parts:
        accumulated = (f" x {options.gradient_accumulation_steps} gradient accumulation steps"
                       if options.gradient_accumulation_steps > 1 else "")
        raise UserError(f"--train_batch_size={size} is the batch of all devices together and can't be divided by "
                        f"{replicas} replicas{accumulated}: take a multiple of {parts}")
      self._check_memory(devices, parts, size, tokens)

  def step_bytes(self, devices: Devices, tokens: float) -> float:
    """The least memory of a device for the training step of a micro-batch of so many tokens."""
    options = self.options
    return memory.training_bytes(self.config, tokens, options.freeze_layers, options.freeze_embeddings,
                                 half_precision=devices.dtype != "float32")

  @abc.abstractmethod
  def flops_ahead(self, step: int) -> float:
    """Floating-point operations of the training from a step to its end; 0 where they are not known."""

  @abc.abstractmethod
  def count_shapes(self, devices: Devices) -> int:
    """How many shapes the batches of the training have: the model is compiled for each."""

  def _check_memory(self, devices: Devices, parts: int, batch_size: int, tokens_per_example: float) -> None:
    """Raises `UserError` for a training step that can't fit: `parts` micro-batches are computed on the replicas."""
    micro_batch = batch_size // parts
    # What a GPU has is not known before it is used; the batch itself is made in the machine's memory.
    needed = memory.batch_bytes(batch_size * tokens_per_example)
    if devices.kind == "CPU":
      needed += self.step_bytes(devices, micro_batch * tokens_per_example)
    memory.check_memory(
        needed, f"a training step of --train_batch_size={batch_size}"
        f"{f' in micro-batches of {micro_batch}' if parts > 1 else ''}",
        "take a smaller batch or model, or raise --gradient_accumulation_steps")

  @abc.abstractmethod
  def step_shapes(self) -> list[tuple[float, int, int]]:
    """For each stage of the training, rows of a step, their tokens at most, and predictions of each; none where the
    model is not trained as a whole.
    """

  def finished(self, run: RunningModel) -> str:
    """What the user is told where the run is at its last step already."""
    steps = self.schedule().steps
    end = f"of {steps}" if run.step <= steps else f"and {steps} are asked for"
    return f"training is finished: {self.options.output_dir} is at step {run.step} {end}"

  def explain(self, error: Exception, log: Callable[[str], None]) -> None:  # noqa: B027
    """Raises a `UserError` where the task knows what a device's error comes from."""


def count_parameters(variables: Mapping[str, object]) -> int:
  """Parameters in variables by name."""
  return sum(math.prod(variable.shape) for variable in variables.values())
