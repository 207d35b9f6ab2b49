"""What the driver (`bert_tf/runs/run.py`) asks of a task: everything that is not the same for all
runs.

`bert_tf/runs/fine_tuning.py` has what tasks on labelled files share.
"""

import copy
import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, Self

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from bert_common.options import FILE, declared_options
from bert_tf.runs.evaluation import Evaluation
from bert_tf.runs.options import TrainingOptions
from bert_tf.training.batches import BatchSizes
from bert_tf.training.devices import Devices, StageWork, Workload
from bert_tf.training.loop import LoopOptions
from bert_tf.training.reports import Observers
from bert_tf.training.step import Objective
from modeling import costs
from modeling.checkpoints.companion_files import StoredWeights
from modeling.config import BertConfig
from modeling.costs import training_flops
from modeling.optimizer import WarmupDecay
from modeling.task_model import BertTaskModel


class RunningModel(Protocol):
    """What a task sees of its run, `Run` in `bert_tf/runs/trainer.py`: the model where it stands,
    and what runs it."""

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
    observers: Observers


@dataclasses.dataclass
class Start:
    """Weights and vocabulary that a run begins with where its directory has no checkpoint of its
    own.

    Attributes:
      weights: None for random ones.
      step: updates that these have seen.
      is_own: they are in the run's own directory.
      optional_heads: heads of the model that need not be in a checkpoint that is only evaluated.
      head_mismatch: why the head in `weights` is of no use here; None where it belongs to this
        task, or there is none.
      vocab_file, do_lower_case, vocab_sha256: of the vocabulary; None where they are not known.
    """

    weights: StoredWeights | None = None
    step: int = 0
    is_own: bool = False
    optional_heads: tuple[str, ...] = ()
    head_mismatch: str | None = None
    vocab_file: str | None = None
    do_lower_case: bool | None = None
    vocab_sha256: str | None = None


@dataclasses.dataclass(frozen=True)
class Stage:
    """Steps that train on batches of one kind.

    Attributes:
      make_dataset: () → distributed dataset that starts at the run's place in the stream of
        examples.
      batch_sizes: records of the steps where their number differs; None where it is the batch size.
      name: shown to the user when it begins; None for nothing.
    """

    work: StageWork
    make_dataset: Callable
    batch_sizes: BatchSizes | None = None
    name: str | None = None


class Task:
    """A task with its data: the constructor opens the checkpoint, reads the data and refuses what
    does not fit.

    Attributes:
      description: `task.json`, written now and with every best checkpoint; None for pre-training.
      main_metric: by which checkpoints are compared, higher is better; None where none is kept as
        the best.
      notes: lines on the data for the user.
      can_evaluate: whether there is something to evaluate on, and it is asked for.
      make_model: dtype → a new model; called in the strategy's scope.
      objective: what is minimised and measured in training.
      schedule: the learning rate of the whole run; it has the number of steps.
      loop_options: how far and how often.
      workload: arithmetic and memory of the run: for plan, reports, the check of the memory and the
        choice of XLA.
      stage: the part of the training that begins at the run's step; at the end of the training, the
        last part.
      plan: what is about to happen, for the user.
      evaluate: what the run's model as it is makes of the evaluation data.
      write_evaluation: writes the files of the final evaluation, and its lines for the user; where
        `options.do_eval` is.
    """

    options: TrainingOptions
    config: BertConfig
    start: Start
    description: dict | None = None
    main_metric: str | None = None
    notes: list[str]
    can_evaluate: bool
    make_model: Callable[[str], BertTaskModel]
    objective: Callable[[BertTaskModel], Objective]
    schedule: Callable[[], WarmupDecay]
    loop_options: Callable[[], LoopOptions]
    workload: Callable[[Devices], Workload]
    stage: Callable[[RunningModel], Stage]
    plan: Callable[[RunningModel], str]
    evaluate: Callable[[RunningModel], Evaluation]
    write_evaluation: Callable[[RunningModel, Evaluation], None]

    def with_options(self, options: TrainingOptions) -> Self:
        """The same data under other options; of a selection, those of one combination."""
        other = copy.copy(self)
        other.options = options.fit(self.config)
        other.config = options.adapt(self.config)
        other.description = None if self.description is None else dict(self.description)
        return other

    def show_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
        """Gives pictures and texts of an evaluation while training to the run's observers."""

    def predict(self, run: RunningModel) -> Mapping[str, float] | None:
        """Writes predictions; called where it is asked for. Returns their scores where the right
        answers are known."""

    def inputs(self) -> dict[str, list[str]]:
        """Name → files that a result is made from, of weights what was given; see
        `bert_tf/runs/provenance.py`."""
        options = self.options
        given = {
            one.name: value
            for one in declared_options(type(options))
            if one.declaration.path == FILE and (value := getattr(options, one.name))
        }
        if options.init_checkpoint and not files.same_file(
            options.init_checkpoint, options.output_dir or ""
        ):
            given["init_checkpoint"] = options.init_checkpoint
        return {
            **{name: [path] for name, path in given.items()},
            **(
                {"teacher_checkpoint": list(options.teacher_checkpoint)}
                if options.teacher_checkpoint
                else {}
            ),
        }

    def check_devices(self, devices: Devices) -> None:
        """Raises `UserError` where batches can't be spread over the replicas, or do not fit into
        the machine's memory."""
        options, replicas = self.options, devices.strategy.num_replicas_in_sync
        parts = replicas * options.gradient_accumulation_steps
        for stage in self.workload(devices).stages if options.do_train else ():
            size = stage.batch_size
            if size % parts:
                accumulated = (
                    f" x {options.gradient_accumulation_steps} gradient accumulation steps"
                    if options.gradient_accumulation_steps > 1
                    else ""
                )
                raise UserError(
                    f"--train_batch_size={size} is the batch of all devices together and can't be divided by "
                    f"{replicas} replicas{accumulated}: take a multiple of {parts}"
                )
            # What a GPU has is not known before it is used; the batch itself is made in the
            # machine's memory.
            costs.check_memory(
                size * stage.tokens * costs.BYTES_PER_TOKEN
                + (stage.least_bytes if devices.kind == "CPU" else 0),
                f"a training step of --train_batch_size={size}{f' in micro-batches of {size // parts}' if parts > 1 else ''}",
                "take a smaller batch or model, or raise --gradient_accumulation_steps",
            )

    def explain(self, error: Exception, log: Callable[[str], None]) -> None:
        """Raises a `UserError` where the task knows what a device's error comes from."""


def row_flops(
    options: TrainingOptions, config: BertConfig, length: int | np.ndarray, predictions: int = 0
) -> float | np.ndarray:
    """Floating-point operations of the training for rows of so many tokens."""
    return training_flops(
        config,
        length,
        predictions,
        frozen_layers=options.freeze_layers,
        frozen_embeddings=options.freeze_embeddings,
        has_lora=bool(options.lora),
    )


def least_bytes(
    options: TrainingOptions, config: BertConfig, devices: Devices, batch_size: int, tokens: float
) -> float:
    """The least memory of a device for a training step of so many examples of so many tokens."""
    micro_batch = batch_size // (
        devices.strategy.num_replicas_in_sync * options.gradient_accumulation_steps
    )
    return costs.training_bytes(
        config,
        micro_batch * tokens,
        options.freeze_layers,
        options.freeze_embeddings,
        half_precision=devices.dtype != "float32",
    )


def count_parameters(variables: Iterable) -> int:
    """Parameters in variables."""
    return sum(math.prod(variable.shape) for variable in variables)
