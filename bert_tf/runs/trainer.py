"""A run: a model in its run directory, which the driver (`bert_tf/runs/run.py`) trains, evaluates
and predicts with.

Input: a task and the devices. Output: weights, reports and evaluations in the run directory.
"""

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

from bert_common import json_files
from bert_common.errors import UserError
from bert_common.gpus import is_out_of_memory
from bert_tf.runs.evaluation import Evaluation, RunOutcome
from bert_tf.runs.options import OBSERVERS
from bert_tf.runs.task import Task, count_parameters
from bert_tf.training import checkpoints, run_directory
from bert_tf.training.devices import Devices
from bert_tf.training.examples import Examples
from bert_tf.training.loop import Trainer, train
from bert_tf.training.prediction import Prediction
from bert_tf.training.reports import Observers, Reports
from bert_tf.training.signals import Interrupted, StopSignal
from bert_tf.training.step import (
    AdamWeightDecay,
    StepOptions,
    TrainingState,
    TrainingStep,
    layerwise_factors,
)
from modeling.checkpoints.companion_files import (
    BEST_DIRECTORY,
    TASK_FILE,
    read_best_record,
    read_task_file,
)
from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.checkpoints.tensorflow_files import LoraWeights, latest_checkpoint, lora_matrices
from modeling.checkpoints.weights import HEADS, original_names
from modeling.encoder import freeze_embeddings, freeze_layers

# Some sums are in any order on GPUs.
_INEXACT = "; bit for bit as without the interruption only with --deterministic from the start"


@contextlib.contextmanager
def _out_of_memory(advice: str) -> Iterator[None]:
    """Raises a `UserError` with the advice where a device's memory does not suffice."""
    try:
        yield
    except tf.errors.OpError as error:
        if not is_out_of_memory(str(error)):
            raise
        raise UserError(f"out of memory: {advice}") from None


class Run:
    """A model in its run directory: restored, or initialised from a checkpoint.

    Attributes:
      description: `task.json` of the weights as they are; None for pre-training.
      outcome: what the run came to, at its end.
    """

    def __init__(self, task: Task, devices: Devices, log: Callable[[str], None]):
        options = task.options
        self.task, self.devices, self.log = task, devices, log
        self.stop = StopSignal()
        # An answer to a question leaves nothing, nor does a member of an ensemble.
        has_record = bool(options.output_dir) and not options.asks
        is_recorded = devices.is_chief and has_record
        self.observers = Observers(
            OBSERVERS, ("model_card", *options.report_to) if is_recorded else ()
        )
        self.outcome: RunOutcome | None = None
        self.description = task.description
        # The last and the best one of this process, and whether one was said to be degenerate.
        self._evaluation, self._best_evaluation, self._has_warned = None, None, False
        # Of the best weights, where they have taken the place of the last.
        self._best_step: int | None = None
        self._state = TrainingState()
        self._checkpoints = self._optimizer = self._reports = self._best = self._prediction = (
            self._lora
        ) = None
        self._note = (lambda line: None) if options.asks else log
        if options.output_dir:
            # All that can be wrong with what is there, before anything of it is replaced.
            run_directory.check_places(options.output_dir)
            run_directory.read_metrics(options.output_dir)
            run_directory.check_same_model(options.output_dir, task.config, task.description)
        if has_record:
            from bert_tf.runs import provenance

            record = provenance.compared(options, task.inputs(), self._note)
        with devices.strategy.scope():
            self.model = task.make_model(devices.dtype)
            self.model.encoder.recompute = options.recompute
            self.model.encoder.fused_attention = options.fused_attention == "on"
            # What is trained further are merged weights, as in every other program; so is what is
            # evaluated only.
            if options.do_train and options.lora:
                self.model.encoder.enable_lora(**options.lora)
                self._lora = LoraWeights(self.model)
            freeze_layers(self.model, options.freeze_layers)
            if options.freeze_embeddings:
                freeze_embeddings(self.model)
            restored = self._restore() if options.do_train else None
            if restored:
                is_exact = options.deterministic or devices.kind != "GPU"
                self._note(
                    f"resuming from {restored}, step {self.step}{'' if is_exact else _INEXACT}"
                )
            elif task.start.weights is not None:
                self._load_start()
            elif options.do_train:
                self._note("no --init_checkpoint: all weights are random")
        if not options.do_train:
            self._state.step.assign(task.start.step)
        if options.do_train and task.main_metric is not None:
            self._best = checkpoints.BestCheckpoint(
                options.output_dir,
                self.model,
                self._state,
                task.main_metric,
                self._describe,
                self._lora,
            )
        if devices.is_chief and options.do_train:
            self._describe(options.output_dir)
        if is_recorded:
            provenance.write(options.output_dir, **record)

    @property
    def step(self) -> int:
        """Updates made."""
        return self._state.step_number

    @property
    def weights_step(self) -> int:
        """Updates that the weights have seen: those of the best checkpoint after training, where
        there is one."""
        return self.step if self._best_step is None else self._best_step

    @property
    def examples(self) -> int:
        """Training examples seen: the place in their stream."""
        return int(self._state.examples.numpy())

    @property
    def reports(self) -> Reports:
        """Where metrics go. Made when first asked for: it drops the reports of steps after this
        one."""
        if self._reports is None:
            options = self.task.options
            self._reports = Reports(
                options.output_dir, self.devices.is_chief, self.step, self.log, self.observers
            )
        return self._reports

    def train(self) -> bool:
        """Trains to the end and takes the best weights, where evaluations have chosen some.

        Returns:
          whether there was nothing left to train.
        """
        task, options, devices = self.task, self.task.options, self.devices
        loop_options, schedule, is_finished = (
            task.loop_options(),
            task.schedule(),
            self.is_finished(),
        )
        self.log(self.describe_training())
        try:
            while True:
                stage = task.stage(self)
                if stage.name:
                    self.log(stage.name)
                with _out_of_memory(
                    f"a step of --train_batch_size={stage.work.batch_size} does not fit into the device. Lower it; or keep it "
                    f"with --gradient_accumulation_steps={2 * options.gradient_accumulation_steps} or --recompute, the results "
                    "are the same; or shorten --max_seq_length. Other programs may use the memory, too (nvidia-smi)"
                ):
                    train(
                        Trainer(
                            TrainingStep(
                                task.objective(self.model),
                                self._optimizer,
                                schedule,
                                self._state,
                                devices.strategy,
                                stage.work.batch_size,
                                StepOptions(
                                    jit_compile=devices.jit_compile,
                                    seed=options.seed,
                                    loss_scaling=devices.dtype == "mixed_float16",
                                    deterministic=options.deterministic,
                                    gradient_accumulation_steps=options.gradient_accumulation_steps,
                                    batch_sizes=stage.batch_sizes,
                                ),
                            ),
                            stage.make_dataset,
                            self._state,
                            devices,
                            dataclasses.replace(
                                loop_options,
                                last_step=stage.work.last_step,
                                tokens_per_example=stage.work.tokens,
                                flops_per_example=stage.work.flops,
                            ),
                            self._checkpoints if devices.is_chief else None,
                            self.reports,
                            self.stop,
                            self.evaluate if loop_options.eval_steps else None,
                            self._ends_early if options.early_stopping_patience else None,
                        )
                    )
                if (
                    self.step < stage.work.last_step
                    or stage.work.last_step >= loop_options.num_train_steps
                ):
                    break
        except Interrupted as interruption:
            raise Interrupted(
                f"{interruption}: saved step {self.step} in {options.output_dir}"
            ) from None
        if not is_finished:
            self.log(
                f"trained to step {self.step}: {latest_checkpoint(self._checkpoints.directory)}"
            )
        if self.step < loop_options.num_train_steps:
            self.log(
                f"early stopping at step {self.step} of {loop_options.num_train_steps}: {task.main_metric} was best at "
                f"step {self._best.record['step']}"
            )
        self._load_best()
        return is_finished

    def describe_training(self) -> str:
        """The plan of the training, or that it is finished."""
        if self.is_finished():
            options, steps = self.task.options, self.task.schedule().steps
            end = f"of {steps}" if self.step <= steps else f"and {steps} are asked for"
            longer = (
                "num_train_steps" if "num_train_steps" in options.values() else "num_train_epochs"
            )
            return (
                f"training is finished: {options.output_dir} is at step {self.step} {end}; to train further, raise "
                f"--{longer} (the learning rate then follows the longer schedule)"
            )
        return self.task.plan(self)

    def is_finished(self) -> bool:
        """Whether there is nothing left to train."""
        return self.step >= self.task.loop_options().num_train_steps or self._ends_early()

    def _ends_early(self) -> bool:
        """Whether the best evaluation is followed by as many others as --early_stopping_patience
        says.

        A function of what is on disk, so that a run that was stopped ends where it would have
        ended.
        """
        patience = self.task.options.early_stopping_patience
        if not patience or self._best.record is None:
            return False
        return sum(step > self._best.record["step"] for step in self.reports.evaluated) >= patience

    def evaluate(self) -> None:
        """Evaluates the model at the run's step: keeps the weights if they are the best so far, and
        reports."""
        with self._predicting():
            evaluation = self._evaluation = self.task.evaluate(self)
        if self.devices.is_chief:
            if self._best is not None:
                self.description = {**self.description, **evaluation.description}
                self._best.update(evaluation.metrics)
                # Several processes must all evaluate or none, and only this one knows which was the
                # best.
                if self.devices.num_workers == 1 and self._best.record["step"] == self.step:
                    self._best_evaluation = evaluation
            self.task.show_evaluation(self, evaluation)
        self.reports.evaluation(self.step, evaluation.metrics)
        if evaluation.degenerate and not self._has_warned:
            self._has_warned = True
            self.reports.log(f"step {self.step}: {evaluation.degenerate}")

    @property
    def known_evaluation(self) -> Evaluation | None:
        """Of the weights as they are; None where there has been none."""
        for one in (self._evaluation, self._best_evaluation):
            if one is not None and one.step == self.weights_step:
                return one
        return None

    def evaluation(self) -> Evaluation:
        """Of the weights as they are: the last one where it was of the same weights."""
        if self.known_evaluation is None:
            if self.task.main_metric is None:
                self.evaluate()
            else:
                with self._predicting():
                    self._evaluation = self.task.evaluate(self)
        return self.known_evaluation

    def _predicting(self) -> contextlib.AbstractContextManager[None]:
        values = self.task.options.values()
        name = "predict_batch_size" if "predict_batch_size" in values else "eval_batch_size"
        return _out_of_memory(
            f"a batch of --{name}={values[name]} does not fit into the device: lower it"
        )

    def predict(
        self, examples: Examples, advance: Callable[[int], None] = lambda count: None
    ) -> dict[str, np.ndarray]:
        """The task's outputs for examples in memory, with the weights as they are; see
        `Prediction`."""
        if self._prediction is None:
            task = self.task
            self._prediction = Prediction(
                lambda features: task.outputs(self.model, features),
                task.options.predict_batch_size,
                task.workload(self.devices).lengths,
                self.devices.strategy,
                self.devices.jit_compile,
                task.token_outputs,
                self.check_stop,
            )
        with self._predicting():
            return self._prediction(examples, advance)

    def check_stop(self) -> None:
        """Raises `Interrupted` if a signal has come; several processes would have to agree
        first."""
        if self.devices.num_workers == 1:
            self.stop.check()

    def describe_model(self) -> str:
        """Sizes and parameters."""
        config, variables = (
            self.task.config,
            (original_names(self.model) | lora_matrices(self.model)).values(),
        )
        frozen = count_parameters(one for one in variables if not one.trainable)
        return (
            f"L={config.num_hidden_layers} H={config.hidden_size} A={config.num_attention_heads}, "
            f"{count_parameters(variables):,} parameters{f', {frozen:,} of them frozen' if frozen else ''}"
        )

    def _restore(self) -> str | None:
        options = self.task.options
        run_directory.check_same_variables(options.output_dir, options.values())
        trained = {
            name: one.value
            for name, one in (original_names(self.model) | lora_matrices(self.model)).items()
            if one.trainable
        }
        self._optimizer = AdamWeightDecay(
            trained,
            weight_decay_rate=options.weight_decay,
            clip_norm=options.max_grad_norm or None,
            bias_correction=options.optimizer_bias_correction,
            rate_factors=layerwise_factors(list(trained), options.layerwise_lr_decay),
        )
        if self.devices.is_chief:
            checkpoints.remove_leftovers(options.output_dir)
        self._checkpoints = checkpoints.CheckpointManager(
            checkpoints.variables_of(self.model, self._state, self._optimizer, self._lora),
            options.output_dir,
            self._state.step,
            options.save_checkpoints_steps,
            options.keep_checkpoint_max,
            self._lora,
        )
        return self._checkpoints.restore_or_initialize()

    def _load_start(self) -> None:
        task = self.task
        heads = [name for name in original_names(self.model) if not name.startswith("bert/")]
        start = task.start.weights
        if task.start.head_mismatch is not None:
            start = dataclasses.replace(
                start,
                tensors={name: shape for name, shape in start.tensors.items() if name not in heads},
            )
        report = load_weights(self.model, start)
        self._note(report.describe())
        if task.start.head_mismatch is not None:
            self._note(f"the head is newly initialised: {task.start.head_mismatch}")
        optional = {
            weight.original for head in task.start.optional_heads for weight in HEADS[head].weights
        }
        if not task.options.do_train and {*heads} & {*report.newly_initialised} - optional:
            mismatch = f" ({task.start.head_mismatch})" if task.start.head_mismatch else ""
            raise UserError(
                f"{start.description} is not a trained model for this task{mismatch}: give --do_train, or the "
                "checkpoint of one"
            )

    def _load_best(self) -> None:
        directory = os.path.join(self.task.options.output_dir, BEST_DIRECTORY)
        record = read_best_record(directory)
        if not record:
            return
        if record["step"] != self.step:
            with self.devices.strategy.scope():
                load_weights(self.model, read_checkpoint(directory))
                if self._lora:
                    self._lora.load(latest_checkpoint(directory))
        self._best_step = record["step"]
        # What was tuned with the best weights belongs to them.
        if best := read_task_file(os.path.join(directory, TASK_FILE)):
            self.description = {**(self.description or {}), **best}
            path = os.path.join(self.task.options.output_dir, TASK_FILE)
            if self.devices.is_chief and json_files.read_object(path) != self.description:
                json_files.write(path, self.description)
        self.log(
            f"best {record['metric']} {record['metrics'][record['metric']]:.4f} at step {record['step']}, kept in "
            f"{directory}"
        )

    def _describe(self, directory: str) -> None:
        task = self.task
        run_directory.write_description(
            directory,
            task.options.script,
            task.options.values(),
            task.config,
            task.start.vocab_file,
            task.start.do_lower_case,
            self.description,
            task.start.vocab_sha256,
            task.options.given,
        )
