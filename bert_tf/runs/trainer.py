"""Trainer: a model in its run directory, with the training loop, evaluation and prediction.

Input: a task (`bert_tf/runs/task.py`) and the devices. Output: weights, metrics and evaluations in
the run directory. `bert_tf/runs/run.py` drives it.
"""

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import tensorflow as tf

from bert_common import json_files, locks
from bert_common.errors import UserError
from bert_common.gpus import is_out_of_memory
from bert_tf.runs.evaluation import Evaluation
from bert_tf.runs.options import CALLBACKS
from bert_tf.runs.task import Task, count_parameters
from bert_tf.training import checkpoints, run_directory
from bert_tf.training.callbacks import CallbackList
from bert_tf.training.consensus import WorkerConsensus
from bert_tf.training.devices import Devices
from bert_tf.training.examples import Examples
from bert_tf.training.metrics import MetricsLogger
from bert_tf.training.optimizer import OPTIMIZERS, Optimizer, layerwise_factors
from bert_tf.training.phases import Phase, phase_at
from bert_tf.training.prediction import Prediction
from bert_tf.training.signals import Interrupted, StopSignal
from bert_tf.training.step import TrainingState, TrainingStep
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

# An inner loop should take about so many seconds if --iterations_per_loop is not given. A report
# and a chance to stop come that often.
_SECONDS_PER_LOOP = 5.0
_LOOP_LENGTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Trainer:
    """A model in its run directory: restored, or initialized from a checkpoint.

    Attributes:
      task, devices: of the run.
      log: prints a line for the user.
      model: with the current weights.
      phases: of the training.
      description: `task.json` of the current weights; None for pre-training.
      stop: signals to the process.
      callbacks: TensorBoard, model card and trackers.
      test_metrics: scores of the predictions; None if there are none.
    """

    def __init__(self, task: Task, devices: Devices, log: Callable[[str], None]):
        options = task.options
        self.task = task
        self.devices = devices
        self.log = log
        self.description = task.description
        self.phases = task.phases()
        self.stop = StopSignal()
        self.test_metrics: Mapping[str, float] | None = None
        # An answer to a question leaves no files, nor does a member of an ensemble.
        is_recorded = bool(options.output_dir) and not options.is_interactive
        # The chief writes for all processes of a cluster.
        writes_record = devices.is_chief and is_recorded
        callbacks: tuple[str, ...] = ()
        if writes_record:
            callbacks = ("model_card", *options.report_to)
        self.callbacks = CallbackList(CALLBACKS, callbacks)
        self._consensus = WorkerConsensus(devices)
        self._state = TrainingState()
        self._optimizer: Optimizer | None = None
        self._checkpoints: checkpoints.CheckpointManager | None = None
        self._best: checkpoints.BestCheckpoint | None = None
        self._lora: LoraWeights | None = None
        self._metrics: MetricsLogger | None = None
        self._prediction: Prediction | None = None
        self._last_evaluation: Evaluation | None = None
        # Kept so that the best weights need not be evaluated again after the training.
        self._best_evaluation: Evaluation | None = None
        self._has_warned = False
        # Step of the best weights, once they have replaced the last ones.
        self._best_step: int | None = None

        # All checks come before any file is replaced: a run that is refused leaves the directory as
        # it was.
        if options.output_dir:
            self._check_directory()
        if is_recorded:
            from bert_tf.runs import provenance

            record = provenance.record_of_start(
                options, task.inputs(), self._log_unless_interactive
            )
            self._state.run.assign(provenance.run_number(record["made_from"]))
        # Variables made outside of the scope would not be mirrored to the other devices.
        with devices.strategy.scope():
            self.model = self._make_model()
            self._restore_or_load()
        if task.input_facts is not None:
            # The data and the weights have been read by now, so a change until here would be
            # recorded wrongly.
            task.input_facts.check()
        if options.do_train:
            self._prepare_best_checkpoint()
        else:
            # An evaluation without training reports the step of its weights.
            self._state.step.assign(task.start_step)
        if devices.is_chief and options.do_train:
            self._write_description(options.output_dir)
        # Written last: it says that the run began with these files.
        if writes_record:
            provenance.write(options.output_dir, **record)

    @property
    def step(self) -> int:
        """Updates made."""
        return self._state.step_number

    @property
    def weights_step(self) -> int:
        """Updates that the weights have seen: after training those of the best checkpoint."""
        if self._best_step is not None:
            return self._best_step
        return self.step

    @property
    def examples(self) -> int:
        """Training examples of all steps; in pre-training the position in their stream."""
        return int(self._state.examples.numpy())

    @property
    def metrics(self) -> MetricsLogger:
        """The log of metrics.

        It is made when it is first needed, as it drops the lines of steps after the current one.
        """
        if self._metrics is None:
            self._metrics = MetricsLogger(
                self.task.options.output_dir,
                self.devices.is_chief,
                self.step,
                self.log,
                self.callbacks,
            )
        return self._metrics

    @property
    def num_train_steps(self) -> int:
        """Updates of the whole training."""
        return self.task.schedule().steps

    @property
    def evaluation(self) -> Evaluation | None:
        """Evaluation of the current weights; None if there has been none."""
        for evaluation in (self._last_evaluation, self._best_evaluation):
            if evaluation is not None and evaluation.step == self.weights_step:
                return evaluation
        return None

    def train(self) -> bool:
        """Trains to the end and takes the best weights, if evaluations have chosen some.

        Returns:
          whether there was nothing left to train.

        Raises:
          Interrupted: a signal came; the last step is saved.
        """
        was_finished = self.is_finished()
        self.log(self.describe_training())
        progress = self.metrics.progress("training", self.num_train_steps, self.step)
        try:
            with progress, self.stop.listening(self.metrics.log):
                self._train_phases()
        except Interrupted as interruption:
            directory = self.task.options.output_dir
            raise Interrupted(f"{interruption}: saved step {self.step} in {directory}") from None
        if not was_finished:
            path = latest_checkpoint(self._checkpoints.directory)
            self.log(f"trained to step {self.step}: {path}")
        if self.step < self.num_train_steps:
            self.log(
                f"early stopping at step {self.step} of {self.num_train_steps}: "
                f"{self.task.main_metric} was best at step {self._best.record['step']}"
            )
        self._load_best()
        return was_finished

    def _train_phases(self) -> None:
        """Trains the phases that are left, and evaluates and saves on the way."""
        directory = self.task.options.output_dir
        phases = self.phases
        profiler = _Profiler(self.task.options.profile_steps, self)
        # Processes that restored different checkpoints would train different models.
        self._consensus.check_same_step(self.step, directory)
        try:
            self._make_up_evaluation()
            for number in range(phase_at(phases, self.step), len(phases)):
                if len(phases) > 1:
                    self.metrics.log(
                        f"phase {number + 1} of {len(phases)}: {phases[number].describe()}"
                    )
                with _out_of_memory(self._batch_advice(phases[number])):
                    self._train_phase(phases[number], profiler)
                self._save(check_interval=False)
                # Evaluations have stopped improving: the later phases are left out, too.
                if self.step < phases[number].last_step:
                    return
        except Interrupted:
            self._save(check_interval=False)
            raise
        finally:
            profiler.stop()

    def _train_phase(self, phase: Phase, profiler: "_Profiler") -> None:
        """The training loop, to the end of a phase or until evaluations stop improving."""
        options = self.task.options
        training_step = self._make_training_step(phase)
        iterator = None
        loop_length = options.iterations_per_loop or 1
        intervals = (options.save_checkpoints_steps, self.task.evaluation_interval())
        ends = (*(options.profile_steps or ()), phase.last_step)
        while self.step < phase.last_step and not self._all_end_early():
            # 1. Steps.
            is_first = iterator is None
            if is_first:
                # Made as late as possible: a finished or stopped run reads no data.
                iterator = iter(self.task.make_dataset(self, phase))
            steps = steps_until_next_event(self.step, (*intervals, loop_length), ends)
            metrics = training_step.run(iterator, steps)

            # 2. Report.
            seconds = self._consensus.mean_seconds(1.0 / metrics["steps_per_second"], self.stop)
            self._report(phase, steps, metrics, seconds, is_first)
            # The first loop contains tracing and compilation, so it does not show the speed.
            if not is_first and options.iterations_per_loop is None:
                loop_length = choose_loop_length(seconds)
            profiler.update(self.step)

            # 3. Save. An evaluation may take long, so the checkpoint comes before it; a run that is
            # killed in between makes the evaluation up when it resumes.
            self._save()
            self._consensus.check(self.stop)

            # 4. Evaluate.
            if self._is_evaluation_due():
                self.evaluate()

    def describe_training(self) -> str:
        """Returns the plan of the training, or that it is finished."""
        if not self.is_finished():
            return self.task.plan(self)
        options = self.task.options
        steps = self.num_train_steps
        # Pre-training counts steps, fine-tuning epochs.
        flag = "num_train_epochs"
        if "num_train_steps" in options.values():
            flag = "num_train_steps"
        end = f"of {steps}"
        if self.step > steps:
            end = f"and {steps} are asked for"
        return (
            f"training is finished: {options.output_dir} is at step {self.step} {end}; to train "
            f"further, raise --{flag} (the learning rate then follows the longer schedule)"
        )

    def is_finished(self) -> bool:
        """Whether there is nothing left to train."""
        return self.step >= self.num_train_steps or self._ends_early()

    def evaluate(self) -> None:
        """Evaluates the current weights, keeps them if they are the best so far, and reports."""
        evaluation = self._evaluate()
        if self.devices.is_chief and self._best is not None:
            self.description = {**self.description, **evaluation.description}
            self._best.update(evaluation.metrics)
            # Several processes must all evaluate or none, and only the chief knows which evaluation
            # was the best.
            if self.devices.num_workers == 1 and self._best.record["step"] == self.step:
                self._best_evaluation = evaluation
        self.metrics.evaluation(self.step, evaluation.metrics)
        if evaluation.degenerate and not self._has_warned:
            self._has_warned = True
            self.metrics.log(f"step {self.step}: {evaluation.degenerate}")

    def current_evaluation(self) -> Evaluation:
        """Returns the evaluation of the current weights; makes it if there has been none."""
        if self.evaluation is None:
            # The final evaluation is part of the record if no metric chooses weights.
            if self.task.main_metric is None:
                self.evaluate()
            else:
                self._evaluate()
        return self.evaluation

    def predict(
        self, examples: Examples, advance: Callable[[int], None] = lambda count: None
    ) -> dict[str, np.ndarray]:
        """Returns the task's outputs for examples in memory, see `Prediction`."""
        # One object for all sets, so that the model is traced once for each length.
        if self._prediction is None:
            task = self.task
            self._prediction = Prediction(
                lambda features: task.outputs(self.model, features),
                task.options.predict_batch_size,
                task.padded_lengths(self.devices),
                self.devices.strategy,
                self.devices.jit_compile,
                task.token_outputs,
                self.check_stop,
            )
        with self._prediction_memory():
            return self._prediction(examples, advance)

    def check_stop(self) -> None:
        """Raises `Interrupted` if a signal has come."""
        # Several processes would have to agree first: the others would wait forever for this one.
        if self.devices.num_workers == 1:
            self.stop.check()

    def describe_model(self) -> str:
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

    def free_memory(self) -> None:
        """Frees the memory of the weights, after which the model can't be used.

        TensorFlow keeps custom gradients of all programs for good, and these refer to the
        variables, so deleting the model would not free them.
        """
        for variable in self.model.variables:
            for part in self.devices.strategy.experimental_local_results(variable.value):
                tf.raw_ops.AssignVariableOp(resource=part.handle, value=tf.zeros([0], part.dtype))

    def _check_directory(self) -> None:
        """Raises `UserError` for unusable files in the directory, before any is replaced."""
        directory = self.task.options.output_dir
        run_directory.check_layout(directory)
        run_directory.read_metrics(directory)
        run_directory.check_same_model(directory, self.task.config, self.task.description)

    def _log_unless_interactive(self, line: str) -> None:
        if not self.task.options.is_interactive:
            self.log(line)

    def _make_model(self) -> tf.keras.Model:
        options = self.task.options
        model = self.task.make_model(self.devices.dtype)
        model.encoder.recompute = options.recompute
        model.encoder.fused_attention = options.fused_attention == "on"
        # LoRA matrices exist only while training with LoRA; otherwise the merged kernels are used.
        if options.do_train and options.lora:
            model.encoder.enable_lora(**options.lora)
            self._lora = LoraWeights(model)
        # Frozen after LoRA is enabled, so that matrices are frozen with their layers.
        freeze_layers(model, options.freeze_layers)
        if options.freeze_embeddings:
            freeze_embeddings(model)
        return model

    def _named_variables(self) -> dict:
        """Returns the original's name → weight, LoRA matrices included."""
        return original_names(self.model) | lora_matrices(self.model)

    def _restore_or_load(self) -> None:
        """Restores the run's own checkpoint, or else loads the weights to begin with."""
        options = self.task.options
        restored = None
        if options.do_train:
            restored = self._restore()
        if restored:
            text = f"resuming from {restored}, step {self.step}"
            # Some sums are in any order on GPUs.
            if self.devices.kind == "GPU" and not options.deterministic:
                text += (
                    "; bit for bit as without the interruption only with --deterministic from the "
                    "start"
                )
            self._log_unless_interactive(text)
        elif self.task.start_weights is not None:
            self._load_start_weights()
        elif options.do_train:
            self._log_unless_interactive("no --init_checkpoint: all weights are random")

    def _restore(self) -> str | None:
        """Makes the optimizer and the checkpoints; restores the newest and returns its prefix."""
        options = self.task.options
        run_directory.check_same_variables(options.output_dir, options.values())
        # Frozen weights have no slots, in memory or in checkpoints.
        trained = {}
        for name, variable in self._named_variables().items():
            if variable.trainable:
                trained[name] = variable.value
        arguments: dict[str, object] = {}
        if options.optimizer == "adamw":
            # LAMB always has it.
            arguments["bias_correction"] = options.optimizer_bias_correction
        self._optimizer = OPTIMIZERS[options.optimizer](
            trained,
            weight_decay_rate=options.weight_decay,
            clip_norm=options.max_grad_norm or None,
            rate_factors=layerwise_factors(list(trained), options.layerwise_lr_decay),
            betas=options.optimizer_betas,
            **arguments,
        )
        # Half a checkpoint of a run that was killed must go before the newest one is looked for.
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
        self._log_unless_interactive(report.describe())
        if task.head_mismatch is not None:
            self._log_unless_interactive(f"the head is newly initialized: {task.head_mismatch}")
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

    def _prepare_best_checkpoint(self) -> None:
        if self.task.main_metric is not None:
            self._best = checkpoints.BestCheckpoint(
                self.task.options.output_dir,
                self.model,
                self._state,
                self.task.main_metric,
                self._write_description,
                self._lora,
            )

    def _write_description(self, directory: str) -> None:
        task = self.task
        run_directory.write_description(
            directory,
            task.options.script,
            task.options.values(),
            task.config,
            task.vocab_file,
            task.do_lower_case,
            self.description,
            task.vocab_sha256,
            task.options.given,
        )

    def _make_training_step(self, phase: Phase) -> TrainingStep:
        options = self.task.options

        def forward(features: dict, dropout: object) -> object:
            return self.task.forward(self.model, features, dropout)

        return TrainingStep(
            forward,
            self.task.loss(self.model),
            self._optimizer,
            self.task.schedule(),
            self._state,
            self.devices.strategy,
            phase.batch_size,
            jit_compile=self.devices.jit_compile,
            gradient_accumulation_steps=options.gradient_accumulation_steps,
            loss_scaling=self.devices.dtype == "mixed_float16",
            deterministic=options.deterministic,
            seed=options.seed,
            batch_sizes=phase.batch_sizes(self.devices),
        )

    def _report(
        self,
        phase: Phase,
        steps: int,
        metrics: dict[str, float],
        seconds_per_step: float,
        is_first: bool,
    ) -> None:
        """Reports an inner loop; the first one contains tracing and compilation."""
        metrics["tokens_per_second"] = metrics["examples_per_second"] * phase.tokens
        if is_first:
            seconds = steps * seconds_per_step
            self.metrics.log(
                f"first loop, steps: {steps}, took {seconds:.1f} s with tracing and compiling"
            )
        elif phase.flops and self.devices.is_chief:
            from bert_tf.training.speed import utilization

            rate = metrics["examples_per_second"] * phase.flops
            metrics.update(utilization(rate, self.devices))
        self.metrics.training(self.step, steps, metrics, compiled=is_first)

    def _save(self, check_interval: bool = True) -> None:
        """Saves a checkpoint, with `check_interval` only at multiples of the interval."""
        if self.devices.is_chief:
            # Records are read during the whole training.
            if self.task.reads_while_training and self.task.input_facts is not None:
                self.task.input_facts.check(contents=False)
            self._checkpoints.save(check_interval=check_interval)

    def _is_evaluation_due(self) -> bool:
        """Whether there is to be an evaluation at this step."""
        interval = self.task.evaluation_interval()
        if not interval or self.step == 0:
            return False
        if self.step % interval == 0:
            return True
        return any(self.step == phase.last_step for phase in self.phases)

    def _make_up_evaluation(self) -> None:
        """Evaluates if the run was stopped between a checkpoint and its evaluation.

        The best weights are then those of a run that was not stopped.
        """
        if self._is_evaluation_due():
            is_missing = self.step not in self.metrics.evaluated
            if self._consensus.chief_says(is_missing):
                self.evaluate()

    def _ends_early(self) -> bool:
        """Early-stopping test: so many evaluations after the best one as the patience.

        It reads what is on disk, so a run that was stopped ends where it would have ended.
        """
        patience = self.task.options.early_stopping_patience
        if not patience or self._best.record is None:
            return False
        # All evaluations after the best one are worse, or they would be the best.
        best_step = self._best.record["step"]
        return sum(step > best_step for step in self.metrics.evaluated) >= patience

    def _all_end_early(self) -> bool:
        """Early-stopping test of all processes; only the chief's result is used."""
        if not self.task.options.early_stopping_patience:
            return False
        return self._consensus.chief_says(self._ends_early())

    def _evaluate(self) -> Evaluation:
        with self._prediction_memory():
            self._last_evaluation = self.task.evaluate(self)
        return self._last_evaluation

    def _load_best(self) -> None:
        """Replaces the weights by the best ones, if evaluations have chosen some."""
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
        # A threshold that was tuned with the best weights belongs to them.
        best_description = read_task_file(os.path.join(directory, TASK_FILE))
        if best_description:
            self.description = {**(self.description or {}), **best_description}
            path = os.path.join(self.task.options.output_dir, TASK_FILE)
            if self.devices.is_chief and json_files.read_object(path) != self.description:
                json_files.write(path, self.description)
        metric = record["metric"]
        self.log(
            f"best {metric} {record['metrics'][metric]:.4f} at step {record['step']}, kept in "
            f"{directory}"
        )

    def _batch_advice(self, phase: Phase) -> str:
        parts = 2 * self.task.options.gradient_accumulation_steps
        return (
            f"a step of --train_batch_size={phase.batch_size} does not fit into the device. Lower "
            f"it; or keep it with --gradient_accumulation_steps={parts} or --recompute, the "
            "results are the same; or shorten --max_seq_length. Other programs may use the memory, "
            "too (nvidia-smi)"
        )

    def _prediction_memory(self) -> contextlib.AbstractContextManager[None]:
        values = self.task.options.values()
        # Pre-training evaluates batches of records, fine-tuning predicts.
        name = "eval_batch_size"
        if "predict_batch_size" in values:
            name = "predict_batch_size"
        return _out_of_memory(
            f"a batch of --{name}={values[name]} does not fit into the device: lower it"
        )


class _Profiler:
    """Records steps with the TensorFlow profiler, between inner loops.

    Args:
      steps: first and last step to record; None for none.
    """

    def __init__(self, steps: tuple[int, int] | None, trainer: Trainer):
        self._steps = None
        # Only the chief writes into the run directory.
        if trainer.devices.is_chief:
            self._steps = steps
        self._metrics = trainer.metrics
        self._is_recording = False

    def update(self, step: int) -> None:
        """Begins or ends the recording at a step."""
        if self._steps is None:
            return
        first, last = self._steps
        if self._is_recording and step >= last:
            self.stop()
            self._metrics.log(f"profile of steps {first} to {last}: tensorboard, page Profile")
        elif not self._is_recording and first <= step < last:
            tf.profiler.experimental.start(os.path.join(self._metrics.directory, "train"))
            self._is_recording = True

    def stop(self) -> None:
        """Ends the recording, if there is one."""
        if self._is_recording:
            # The steps are written at the end, into the run directory.
            tf.profiler.experimental.stop(save=locks.lost_directory() is None)
            self._is_recording = False


def steps_until_next_event(step: int, intervals: Iterable[int], ends: Iterable[int]) -> int:
    """Returns the steps of the next inner loop, which must not pass an event.

    Args:
      step: updates made.
      intervals: events at their multiples, such as checkpoints and evaluations; 0 for none.
      ends: single events.
    """
    # An event lies after the last step that was made, so at least one step is left.
    events = [end for end in ends if end > step]
    for interval in intervals:
        if interval:
            events.append((step // interval + 1) * interval)
    return min(events) - step


def choose_loop_length(seconds_per_step: float) -> int:
    """Returns the largest round number of steps that takes a few seconds at most."""
    loop_length = 1
    # Round numbers let loops end at multiples of the usual intervals.
    for length in _LOOP_LENGTHS:
        if length * seconds_per_step <= _SECONDS_PER_LOOP:
            loop_length = length
    return loop_length


@contextlib.contextmanager
def _out_of_memory(advice: str) -> Iterator[None]:
    """Raises a `UserError` with the advice if a device's memory does not suffice."""
    try:
        yield
    except tf.errors.OpError as error:
        if not is_out_of_memory(str(error)):
            raise
        # TensorFlow's message has the shape of a tensor, which says nothing to a user.
        raise UserError(f"out of memory: {advice}") from None
