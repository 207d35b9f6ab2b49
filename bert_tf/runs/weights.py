"""Weights of a run: the model, restored or initialized, with its best weights and description.

Input: a task, and the run's directory. Output: a model on the devices, checkpoints, `best/`.
"""

import dataclasses
import os
from collections.abc import Callable, Mapping

import tensorflow as tf

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.runs.evaluation import Evaluation
from bert_tf.runs.options import OPTIMIZERS
from bert_tf.runs.task import Task, count_parameters
from bert_tf.training import checkpoints, run_directory
from bert_tf.training.devices import Devices
from bert_tf.training.optimizer import Optimizer, layerwise_factors
from bert_tf.training.step import TrainingState
from modeling.checkpoints.companion_files import (
    BEST_DIRECTORY,
    RUN_ID,
    TASK_FILE,
    read_best_record,
    read_task_file,
)
from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.checkpoints.tensorflow_files import LoraWeights, latest_checkpoint, lora_matrices
from modeling.checkpoints.weights import HEADS, original_names
from modeling.encoder import freeze_embeddings, freeze_layers


class RunWeights:
    """The weights of a run that does not train, loaded from `start_weights` of its task.

    Args:
      run_number, run_id: of the run, see `RunRecord.check`.
      log: prints a line for the user.

    Attributes:
      model: with the current weights.
      state: step and position in the data.
      description: `task.json` of the current weights; None for pre-training.
      lora: matrices of a training with LoRA; None without.
    """

    def __init__(
        self,
        task: Task,
        devices: Devices,
        run_number: int,
        run_id: str,
        log: Callable[[str], None],
    ):
        self.task = task
        self.devices = devices
        self.log = log
        self.description = task.description
        self.state = TrainingState()
        self.state.run.assign(run_number)
        if run_id:
            self.state.run_id.assign(int(run_id, 16))
        self.lora: LoraWeights | None = None
        # Variables made outside of the scope would not be mirrored to the other devices.
        with devices.strategy.scope():
            self.model = self._make_model()
            self._initialize()

    @property
    def step(self) -> int:
        """Updates that the weights have seen."""
        return self.state.step_number

    def keep_if_best(self, evaluation: Evaluation) -> bool:
        """Keeps the weights in `best/` if no earlier evaluation was as good.

        Returns:
          whether they are the best, as far as this process knows.
        """
        return False

    def describe(self) -> str:
        """Returns sizes and number of parameters, for the user."""
        config = self.task.config
        variables = self._named_variables().values()
        text = (
            f"L={config.num_hidden_layers} H={config.hidden_size} A={config.num_attention_heads}, "
            f"{count_parameters(variables):,} parameters"
        )
        frozen = count_parameters(variable for variable in variables if not variable.trainable)
        if frozen:
            text += f", {frozen:,} of them frozen"
        return text

    def write_description(self, directory: str) -> None:
        """Writes the files of `run_directory.write_description`."""
        task = self.task
        description = self.description
        if description is not None and self.state.id:
            description = {**description, RUN_ID: self.state.id}
        run_directory.write_description(
            directory,
            task.options.script,
            task.options.values(),
            task.config,
            task.vocab_file,
            task.do_lower_case,
            description,
            task.vocab_sha256,
            task.options.given,
        )

    def free_memory(self) -> None:
        """Frees the memory of the weights, after which the model can't be used.

        TensorFlow keeps custom gradients of all programs for good, and these refer to the
        variables, so deleting the model would not free them.
        """
        for variable in self.model.variables:
            for part in self.devices.strategy.experimental_local_results(variable.value):
                tf.raw_ops.AssignVariableOp(resource=part.handle, value=tf.zeros([0], part.dtype))

    def _make_model(self) -> tf.keras.Model:
        options = self.task.options
        model = self.task.make_model(self.devices.dtype)
        model.encoder.recompute = options.recompute
        model.encoder.fused_attention = self.task.uses_fused_attention(self.devices)
        # LoRA matrices exist only while training with LoRA; otherwise the merged kernels are used.
        if options.do_train and options.lora:
            model.encoder.enable_lora(**options.lora)
            self.lora = LoraWeights(model)
        # Frozen after LoRA is enabled, so that matrices are frozen with their layers.
        freeze_layers(model, options.freeze_layers)
        if options.freeze_embeddings:
            freeze_embeddings(model)
        return model

    def _initialize(self) -> None:
        """Gives the new model its weights."""
        if self.task.start_weights is not None:
            self._load_start_weights()
        # An evaluation without training reports the step of its weights.
        self.state.step.assign(self.task.start_step)

    def _named_variables(self) -> dict:
        """Returns the original's name → weight, LoRA matrices included."""
        return original_names(self.model) | lora_matrices(self.model)

    def _load_start_weights(self) -> None:
        """Loads the weights to begin with; a head that does not fit stays newly initialized."""
        task = self.task
        weights = task.start_weights
        # All variables outside of the encoder belong to heads.
        heads = {name for name in original_names(self.model) if not name.startswith("bert/")}
        if task.head_mismatch is not None:
            tensors = {name: shape for name, shape in weights.tensors.items() if name not in heads}
            weights = dataclasses.replace(weights, tensors=tensors)
        report = load_weights(self.model, weights)
        for line in task.describe_start(report):
            self.log(line)
        optional = set()
        for head in task.optional_heads:
            optional.update(weight.original for weight in HEADS[head].weights)
        missing = heads & set(report.newly_initialized) - optional
        # Evaluating a head with random weights would give meaningless scores.
        if missing and not task.options.do_train:
            problem = f"{weights.description} is not a trained model for this task"
            if task.head_mismatch:
                problem += f" ({task.head_mismatch})"
            raise UserError(f"{problem}: give --do_train, or the checkpoint of one")


class TrainedWeights(RunWeights):
    """The weights of a run that trains: restored from its directory, or those to begin with.

    Attributes:
      optimizer, checkpoints: of the run.
      best: the best weights so far; None if no metric chooses them.
    """

    @property
    def step(self) -> int:
        """Updates that the weights have seen: after training the updates of the best checkpoint."""
        return self._loaded_step or self.state.step_number

    @property
    def best_step(self) -> int | None:
        """Step of the best evaluation so far; None before the first."""
        if self.best is None or self.best.record is None:
            return None
        return self.best.record["step"]

    def keep_if_best(self, evaluation: Evaluation) -> bool:
        if self.best is None or not self.devices.is_chief:
            return False
        self._describe_by(evaluation.description)
        self.best.update(evaluation.metrics)
        return self.best_step == self.state.step_number

    def _describe_by(self, entries: Mapping[str, object]) -> None:
        """Adds entries to the description."""
        description = {} if self.description is None else self.description
        self.description = {**description, **entries}

    def load_best(self) -> None:
        """Replaces the weights by the best ones, if evaluations have chosen some."""
        directory = os.path.join(self.task.options.output_dir, BEST_DIRECTORY)
        record = read_best_record(directory)
        if not record:
            return
        if record["step"] != self.state.step_number:
            with self.devices.strategy.scope():
                load_weights(self.model, read_checkpoint(directory))
                if self.lora:
                    self.lora.load(latest_checkpoint(directory))
        self._loaded_step = record["step"]
        # A threshold that was tuned with the best weights belongs to them.
        best_description = read_task_file(os.path.join(directory, TASK_FILE))
        if best_description:
            self._describe_by(best_description)
            path = os.path.join(self.task.options.output_dir, TASK_FILE)
            if self.devices.is_chief and json_files.read_object(path) != self.description:
                json_files.write(path, self.description)
        metric = record["metric"]
        self.log(
            f"best {metric} {record['metrics'][metric]:.4f} at step {record['step']}, kept in "
            f"{directory}"
        )

    def _initialize(self) -> None:
        options = self.task.options
        run_directory.check_same_variables(options.output_dir, options.values())
        self.optimizer = self._make_optimizer()
        # Step of the best weights, once they have replaced the last ones.
        self._loaded_step = 0
        self._restore_or_load()
        if self.task.main_metric is not None:
            self.best: checkpoints.BestCheckpoint | None = checkpoints.BestCheckpoint(
                options.output_dir,
                self.model,
                self.state,
                self.task.main_metric,
                self.write_description,
                self.lora,
            )
        else:
            self.best = None

    def _make_optimizer(self) -> Optimizer:
        options = self.task.options
        # Frozen weights have no slots, in memory or in checkpoints.
        trained = {}
        for name, variable in self._named_variables().items():
            if variable.trainable:
                trained[name] = variable.value
        arguments: dict[str, object] = {}
        if options.optimizer == "adamw":
            # LAMB always has it.
            arguments["bias_correction"] = options.optimizer_bias_correction
        return OPTIMIZERS.load(options.optimizer)(
            trained,
            weight_decay_rate=options.weight_decay,
            clip_norm=options.max_grad_norm or None,
            rate_factors=layerwise_factors(list(trained), options.layerwise_lr_decay),
            betas=options.optimizer_betas,
            **arguments,
        )

    def _restore_or_load(self) -> None:
        """Restores the run's newest checkpoint, or else loads the weights to begin with."""
        options = self.task.options
        # Half a checkpoint of a run that was killed must go before the newest one is looked for.
        if self.devices.is_chief:
            checkpoints.remove_leftovers(options.output_dir)
        self.checkpoints = checkpoints.CheckpointManager(
            checkpoints.variables_of(self.model, self.state, self.optimizer, self.lora),
            options.output_dir,
            self.state.step,
            options.save_checkpoints_steps,
            options.keep_checkpoint_max,
            self.lora,
        )
        restored = self.checkpoints.restore_or_initialize()
        if restored:
            text = f"resuming from {restored}, step {self.state.step_number}"
            # Some sums are in any order on GPUs.
            if self.devices.kind == "GPU" and not options.deterministic:
                text += (
                    "; bit for bit as without the interruption only with --deterministic from the "
                    "start"
                )
            self.log(text)
        elif self.task.start_weights is None:
            self.log("no --init_checkpoint: all weights are random")
        else:
            self._load_start_weights()
