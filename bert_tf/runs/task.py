"""Interface between the driver of runs and a task: everything that differs from task to task.

`bert_tf/runs/run.py` and `bert_tf/runs/trainer.py` drive tasks; `bert_tf/runs/fine_tuning.py` has
what tasks on labeled files share.
"""

import abc
import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, Self

import numpy as np
import tensorflow as tf

from bert_common import files
from bert_common.errors import UserError
from bert_common.options import FILE, declared_options
from bert_tf.runs.evaluation import Evaluation
from bert_tf.runs.options import TrainingOptions
from bert_tf.training.devices import Devices
from bert_tf.training.examples import Examples
from bert_tf.training.phases import Phase
from bert_tf.training.signals import StopSignal
from bert_tf.training.step import TrainingState
from modeling import costs
from modeling.checkpoints.companion_files import CheckpointReader
from modeling.checkpoints.load import LoadReport
from modeling.config import BertConfig
from modeling.losses import HeadLoss, SumOfLosses
from modeling.optimizer import WarmupDecay
from modeling.task_model import BertTaskModel


class Weights(Protocol):
    """The weights of a run, as a task sees them; see `bert_tf/runs/weights.py`."""

    model: Any
    description: dict | None
    state: TrainingState

    @property
    def step(self) -> int: ...

    def describe(self) -> str: ...


class Run(Protocol):
    """A run, as a task sees it; see `Trainer` in `bert_tf/runs/trainer.py`."""

    devices: Devices
    log: Callable[[str], None]
    phases: Sequence[Phase]
    stop: StopSignal

    @property
    def weights(self) -> Weights: ...

    @property
    def step(self) -> int: ...

    @property
    def evaluation(self) -> Evaluation | None: ...

    def current_evaluation(self) -> Evaluation: ...

    def predict(
        self, examples: Examples, advance: Callable[[int], None] = ...
    ) -> dict[str, np.ndarray]: ...

    def check_stop(self) -> None: ...


class Task(abc.ABC):
    """A task with its data.

    The constructor opens the checkpoint, reads the data and raises `UserError` for what does not
    fit.

    Attributes:
      options, config: of the run and of its model.
      description: `task.json`, written at the begin and with every best checkpoint; None for
        pre-training.
      main_metric: by which the best weights are chosen, higher is better; None if the last ones
        are kept.
      notes: lines on the data for the user.
      left_out: bad rows of the data that are not used, see `LabeledFile`.
      start_weights: the weights to begin with; None for random ones.
      start_step: updates that these have seen.
      optional_heads: heads that a checkpoint may lack if it is only evaluated.
      head_mismatch: why the head in `start_weights` can't be used; None if it can, or there is
        none.
      vocab_file, do_lower_case, vocab_sha256: of the vocabulary; None if unknown.
      reads_while_training: whether the training data are read from their files all the time.
    """

    options: TrainingOptions
    config: BertConfig
    description: dict | None = None
    main_metric: str | None = None
    notes: list[str]
    left_out: Sequence[dict] = ()
    start_weights: CheckpointReader | None = None
    start_step: int = 0
    optional_heads: tuple[str, ...] = ()
    head_mismatch: str | None = None
    vocab_file: str | None = None
    do_lower_case: bool | None = None
    vocab_sha256: str | None = None
    reads_while_training: bool = False

    @property
    @abc.abstractmethod
    def can_evaluate(self) -> bool:
        """Whether the options ask for evaluation and there is data for it."""

    @abc.abstractmethod
    def make_model(self, dtype: str) -> BertTaskModel:
        """Returns a new model; called in the strategy's scope.

        Args:
          dtype: Keras dtype policy.
        """

    def uses_fused_attention(self, devices: Devices) -> bool:
        """Returns whether training attends by cuDNN's kernel, see `modeling/fused_attention.py`."""
        return False

    def forward(self, model: BertTaskModel, features: dict, dropout: object) -> object:
        """Returns the outputs of the model that `loss` takes.

        Args:
          dropout: a `DropoutStream` in training, else None.
        """
        return model(features, dropout=dropout)

    @abc.abstractmethod
    def loss(self, model: BertTaskModel) -> HeadLoss | SumOfLosses:
        """Returns the loss that training minimizes, with its metrics."""

    @abc.abstractmethod
    def schedule(self) -> WarmupDecay:
        """Returns the learning-rate schedule of the whole run, with its number of steps."""

    @abc.abstractmethod
    def phases(self) -> Sequence[Phase]:
        """Returns the phases of the training, in order; none if nothing is trained."""

    @abc.abstractmethod
    def evaluation_interval(self) -> int:
        """Returns the steps between evaluations while training; 0 for none."""

    @abc.abstractmethod
    def padded_lengths(self, devices: Devices) -> np.ndarray:
        """Returns the lengths that batches are padded to, int64, ascending."""

    @abc.abstractmethod
    def make_dataset(self, trainer: Run, phase: Phase) -> tf.distribute.DistributedDataset:
        """Returns the training batches of a phase, from the trainer's position in the stream."""

    @abc.abstractmethod
    def plan(self, trainer: Run) -> str:
        """Returns a description of the training that is about to begin, for the user."""

    @abc.abstractmethod
    def evaluate(self, trainer: Run) -> Evaluation:
        """Evaluates the model with its current weights."""

    def complete_evaluation(self, trainer: Run, evaluation: Evaluation) -> Evaluation:
        """Returns the final evaluation with what only it measures; every process calls this."""
        return evaluation

    @abc.abstractmethod
    def write_evaluation(self, trainer: Run, evaluation: Evaluation) -> None:
        """Writes the files of the final evaluation, and lines for the user."""

    def predict(self, trainer: Run) -> Mapping[str, float] | None:
        """Writes predictions, if the options ask for them.

        Returns:
          their scores; None if no labels are known.
        """
        return None

    def describe_start(self, report: LoadReport) -> list[str]:
        """Returns lines for the user on the weights that the run begins with."""
        lines = [report.describe()]
        if self.head_mismatch is not None:
            lines.append(f"the head is newly initialized: {self.head_mismatch}")
        return lines

    def explain(self, error: Exception, log: Callable[[str], None]) -> None:
        """Raises a `UserError` if the task knows the cause of a device's error."""
        return None

    def with_options(self, options: TrainingOptions) -> Self:
        """Returns the same data under other options; in a sweep, under one combination."""
        other = copy.copy(self)
        # The data is shared: a sweep reads and tokenizes it once.
        other.options = options.limit_length(self.config)
        other.config = options.apply_to(self.config)
        # Each run adds the results of its own evaluations.
        other.description = None if self.description is None else dict(self.description)
        return other

    def inputs(self) -> dict[str, list[str]]:
        """Returns name → files that the result depends on; see `bert_tf/runs/provenance.py`."""
        options = self.options
        inputs = {}
        for option in declared_options(type(options)):
            path = getattr(options, option.name)
            if option.path == FILE and path:
                inputs[option.name] = [path]
        start = options.init_checkpoint
        # A run that begins with its own weights depends on what these were made from.
        if start and not files.same_file(
            start, ("" if options.output_dir is None else options.output_dir)
        ):
            inputs["init_checkpoint"] = [start]
        if options.teacher_checkpoint:
            inputs["teacher_checkpoint"] = list(options.teacher_checkpoint)
        return inputs

    def step_memory(self, phase: Phase, devices: Devices) -> float:
        """Returns a lower bound of a device's memory for a training step, in bytes."""
        parts = devices.strategy.num_replicas_in_sync * self.options.gradient_accumulation_steps
        # Activations exist for one micro-batch at a time.
        return costs.training_bytes(
            self.config,
            phase.batch_size // parts * phase.tokens,
            self.options.freeze_layers,
            self.options.freeze_embeddings,
            half_precision=devices.dtype != "float32",
        )

    def check_devices(self, devices: Devices) -> None:
        """Raises `UserError` if batches can't be split among the replicas or exceed the memory."""
        options = self.options
        if not options.do_train:
            return
        replicas = devices.strategy.num_replicas_in_sync
        parts = replicas * options.gradient_accumulation_steps
        for phase in self.phases():
            size = phase.batch_size
            # All replicas and micro-batches have the same shape, which is compiled once.
            if size % parts:
                divisor = f"{replicas} replicas"
                if options.gradient_accumulation_steps > 1:
                    divisor += (
                        f" x {options.gradient_accumulation_steps} gradient accumulation steps"
                    )
                raise UserError(
                    f"--train_batch_size={size} is the batch of all devices together and can't be "
                    f"divided by {divisor}: take a multiple of {parts}"
                )
            # The batch itself is made in the machine's memory. A GPU's memory is not known before
            # it is used.
            needed = size * phase.tokens * costs.BYTES_PER_TOKEN
            if devices.kind == "CPU":
                needed += self.step_memory(phase, devices)
            job = f"a training step of --train_batch_size={size}"
            if parts > 1:
                job += f" in micro-batches of {size // parts}"
            costs.check_memory(
                needed, job, "take a smaller batch or model, or raise --gradient_accumulation_steps"
            )


def row_flops(
    options: TrainingOptions, config: BertConfig, length: int | np.ndarray, predictions: int = 0
) -> float | np.ndarray:
    """Returns the floating-point operations of the training for rows of `length` tokens."""
    return costs.training_flops(
        config,
        length,
        predictions,
        freeze_layers=options.freeze_layers,
        freeze_embeddings=options.freeze_embeddings,
        has_lora=bool(options.lora),
    )


def count_parameters(variables: Iterable) -> int:
    """Returns the number of parameters in variables."""
    return sum(math.prod(variable.shape) for variable in variables)
