"""What all fine-tuning has in common: a network on a checkpoint, trained on examples in memory, the best of it kept.

Comes after `modeling/checkpoints/load.py`, `training/examples.py` and `training/session.py`; `tasks/classification/task.py` and
`tasks/question_answering/task.py` bring the task.
"""

import dataclasses
import math
import os
from collections.abc import Callable, Mapping

import numpy as np

from common import files
from common.checks import check_at_least
from common.errors import UserError
from modeling.checkpoints.load import Checkpoint, LoadedCheckpoint, load_weights, read_checkpoint
from modeling.checkpoints.weights import original_names, raw_variables
from modeling.config import BertConfig
from modeling.task_model import BertTaskModel
from training import report, run_directory
from training.devices import Devices, TpuOptions
from training.examples import Examples, lengths_for, padded_lengths, training_dataset
from training.loop import StepOptions, Task, Trainer, TrainingState
from training.optimization import AdamWeightDecay, LearningRateSchedule
from training.prediction import PredictingEvaluator, Prediction
from training.session import Session, SessionOptions, StopSignal


@dataclasses.dataclass(frozen=True)
class FineTuningOptions:
  """The flags that all fine-tuning scripts share; `common/fine_tuning_flags.py` explains them."""

  output_dir: str
  init_checkpoint: str | None = None
  bert_config_file: str | None = None
  vocab_file: str | None = None
  do_lower_case: bool | None = None
  max_seq_length: int = 128
  do_train: bool = False
  do_predict: bool = False
  train_batch_size: int = 32
  predict_batch_size: int = 64
  learning_rate: float = 5e-5
  num_train_epochs: float = 3.0
  warmup_proportion: float = 0.1
  save_checkpoints_steps: int = 1000
  keep_checkpoint_max: int = 2
  iterations_per_loop: int | None = None
  eval_steps: int | None = None
  seed: int = 12345
  pad_to_max_length: bool = False
  optimizer_bias_correction: bool = False
  gradient_accumulation_steps: int = 1
  distribution_strategy: str = "auto"
  precision: str = "auto"
  jit_compile: str = "auto"
  profile_steps: tuple[int, int] | None = None
  tpu: TpuOptions = TpuOptions()

  def check(self) -> None:
    """Raises `UserError` for numbers that make no sense, whatever the task."""
    check_at_least(self, 1, "max_seq_length", "train_batch_size", "predict_batch_size", "save_checkpoints_steps",
                   "gradient_accumulation_steps", "iterations_per_loop")
    check_at_least(self, 0, "keep_checkpoint_max", "seed", "eval_steps")
    for name in ("learning_rate", "num_train_epochs"):
      if not 0 < getattr(self, name) < math.inf:
        raise UserError(f"--{name} is {getattr(self, name)}, it must be positive")
    if not 0 <= self.warmup_proportion <= 1:
      raise UserError(f"--warmup_proportion is {self.warmup_proportion}, it must be from 0 to 1")

  def check_devices(self, devices: Devices) -> None:
    """Raises `UserError` where batches can't be spread over the replicas."""
    replicas = devices.strategy.num_replicas_in_sync
    parts = replicas * self.gradient_accumulation_steps
    if self.do_train and self.train_batch_size % parts:
      raise UserError(f"--train_batch_size={self.train_batch_size} is the batch of all devices together and can't be "
                      f"divided by {replicas} replicas x {self.gradient_accumulation_steps} gradient accumulation "
                      f"steps: take a multiple of {parts}")
    if self.predict_batch_size % replicas:
      raise UserError(f"--predict_batch_size={self.predict_batch_size} can't be divided by {replicas} replicas: take a "
                      f"multiple of {replicas}")

  def steps_per_epoch(self, num_examples: int) -> int:
    """The last batch of an epoch may be smaller; it is not dropped."""
    return -(-num_examples // self.train_batch_size)

  def num_train_steps(self, num_examples: int) -> int:
    return max(1, math.ceil(self.num_train_epochs * self.steps_per_epoch(num_examples)))

  def padded_lengths(self, devices: Devices) -> np.ndarray:
    """What batches are padded to, see `examples.padded_lengths`."""
    # On a TPU every shape of a loop must be known when it is compiled.
    if self.pad_to_max_length or devices.kind == "TPU":
      return padded_lengths(self.max_seq_length, 1)
    return lengths_for(self.max_seq_length, devices.jit_compile)


def starting_point(options: FineTuningOptions) -> str | None:
  """The checkpoint that a run begins with: the run's own where it has one, else --init_checkpoint.

  Raises:
    UserError: nothing is to be trained, and there is nothing trained.
  """
  own = options.output_dir
  has_best = os.path.exists(os.path.join(own, run_directory.BEST_DIRECTORY, run_directory.BEST_RECORD))
  if run_directory.latest_checkpoint(own) is not None or (has_best and not options.do_train):
    return own
  if not options.do_train and options.init_checkpoint is None:
    raise UserError(f"--output_dir={own} holds no trained model: give --do_train, or an --init_checkpoint that is "
                    "fine-tuned")
  return options.init_checkpoint


class FineTuning:
  """A network in a run directory: restored, or initialised from a checkpoint.

  Args:
    options: what to do.
    opened: where the run begins, see `starting_point`.
    config: the configuration that is written; that of `opened`, with the names of the labels.
    devices: what it runs on.
    make_model: () → the network.
    description: `task.json`; what is in it when it is written, which is now and with every best checkpoint.
    script, flags: for `flags.json`.
    head_mismatch: why the checkpoint's head is of no use here; None where it belongs to this task.
    say: prints a line.

  Raises:
    UserError: the directory holds another network, or nothing is to be trained and the checkpoint has no head.
  """

  def __init__(self, options: FineTuningOptions, opened: LoadedCheckpoint, config: BertConfig, devices: Devices,
               make_model: Callable[[], BertTaskModel], description: Mapping[str, object], script: str,
               flags: Mapping[str, object], head_mismatch: str | None, say: Callable[[str], None]):
    self.options = options
    self.devices = devices
    self.lengths = options.padded_lengths(devices)
    self.stop = StopSignal()
    self._opened, self._config = opened, config
    self._description, self._script, self._flags = description, script, flags
    self._say = say
    self._state = TrainingState()
    self._manager = self._optimizer = None
    run_directory.check_same_model(options.output_dir, config)
    with devices.strategy.scope():
      self.model = make_model()
      self.model.build_weights()
      if options.do_train:
        self._optimizer = AdamWeightDecay(raw_variables(self.model), bias_correction=options.optimizer_bias_correction)
        checkpoint = run_directory.checkpoint_of(self.model, self._state, self._optimizer)
        self._manager = run_directory.CheckpointManager(
            checkpoint, options.output_dir, self._state.step, options.save_checkpoints_steps,
            options.keep_checkpoint_max)
      restored = self._manager.restore_or_initialize() if self._manager else None
      if restored:
        say(f"resuming from {restored}, step {self.step}")
      elif opened.source is not None:
        self._load(opened.source, head_mismatch)
      else:
        say("no --init_checkpoint: all weights are random")
    if devices.is_chief and options.do_train:
      self._describe(options.output_dir)

  @property
  def step(self) -> int:
    """Updates made."""
    return int(self._state.step.numpy())

  def prediction(self, network: Callable[[dict], dict], token_outputs: tuple[str, ...] = ()) -> Prediction:
    """A pass over examples with the weights as they are, see `Prediction`."""
    check_stop = self.stop.check if self.devices.num_workers == 1 else lambda: None
    return Prediction(network, self.options.predict_batch_size, self.lengths, self.devices.strategy,
                      self.devices.jit_compile, token_outputs, check_stop)

  def train(self, task: Task, examples: Examples, shown_metric: str,
            evaluate: Callable[[], dict[str, float]] | None = None, main_metric: str | None = None,
            evaluated: Callable[[dict[str, float]], None] = lambda metrics: None) -> None:
    """Trains to the end, evaluating on the way and keeping the best weights in `best/`.

    Args:
      task: see `training/loop.py`.
      examples: to train on.
      shown_metric: of the task, beside the progress bar.
      evaluate: () → metrics of the development set; None where there is none.
      main_metric: of these, by which weights are compared; higher is better.
      evaluated: called by the process that writes, after each evaluation; may use `tf.summary`.

    Raises:
      Interrupted: a signal came; what was trained is saved.
      UserError: see `Session.train`.
    """
    options, devices = self.options, self.devices
    strategy = devices.strategy
    num_train_steps = options.num_train_steps(len(examples))
    if self.step >= num_train_steps:
      self._say(f"training is finished: {options.output_dir} is at step {self.step} of {num_train_steps}")
      return
    schedule = LearningRateSchedule(
        options.learning_rate, num_train_steps, int(num_train_steps * options.warmup_proportion))

    def training_data():
      return strategy.distribute_datasets_from_function(lambda context: training_dataset(
          examples, options.train_batch_size, options.seed, self.step, self.lengths, context))

    trainer = Trainer(task, self._optimizer, schedule, self._state, training_data, strategy, options.train_batch_size,
                      StepOptions(jit_compile=devices.jit_compile, seed=options.seed,
                                  gradient_accumulation_steps=options.gradient_accumulation_steps,
                                  loss_scaling=devices.dtype == "mixed_float16"))
    eval_steps = options.steps_per_epoch(len(examples)) if options.eval_steps is None else options.eval_steps
    best = run_directory.BestCheckpoint(options.output_dir, self.model, self._state, main_metric, self._describe)

    def after_evaluation(metrics: dict[str, float]) -> None:
      if devices.is_chief:
        best.update(metrics)
        evaluated(metrics)

    session = Session(
        options.output_dir, devices, self._state, self._manager if devices.is_chief else None, trainer,
        PredictingEvaluator(evaluate) if evaluate else None,
        SessionOptions(num_train_steps=num_train_steps, save_checkpoints_steps=options.save_checkpoints_steps,
                       eval_steps=eval_steps if evaluate else 0, iterations_per_loop=options.iterations_per_loop,
                       tokens_per_example=float(examples.row_lengths.mean()), profile_steps=options.profile_steps,
                       shown_metric=shown_metric),
        self.stop, after_evaluation)
    self._say(self._plan(examples, num_train_steps))
    session.write_text("flags", report.flags_table(self._flags))
    session.train()
    self._say(f"trained to step {self.step}: {self._manager.latest_checkpoint}")

  def load_best(self) -> dict | None:
    """Takes the best weights of the run, where evaluations have chosen some.

    Returns:
      {"step", "metric", "metrics"} of their evaluation, or None: the weights are the last ones.
    """
    directory = os.path.join(self.options.output_dir, run_directory.BEST_DIRECTORY)
    record = os.path.join(directory, run_directory.BEST_RECORD)
    if not os.path.exists(record):
      return None
    with self.devices.strategy.scope():
      load_weights(self.model, read_checkpoint(directory))
    return files.read_json(record)

  def _load(self, source: Checkpoint, head_mismatch: str | None) -> None:
    heads = [name for name in original_names(self.model) if not name.startswith("bert/")]
    if head_mismatch is not None:
      source = dataclasses.replace(
          source, tensors={name: shape for name, shape in source.tensors.items() if name not in heads})
    account = load_weights(self.model, source)
    self._say(account.describe())
    if head_mismatch is not None:
      self._say(f"the head is fresh: {head_mismatch}")
    if not self.options.do_train and any(name in heads for name in account.newly_initialised):
      raise UserError(f"{source.description} is not a trained model for this task"
                      f"{f' ({head_mismatch})' if head_mismatch else ''}: give --do_train, or the checkpoint of one")

  def _describe(self, directory: str) -> None:
    run_directory.write_description(
        directory, self._script, self._flags, self._config, self._opened.vocab_file,
        self._opened.tokenizer.do_lower_case, self._description)

  def _plan(self, examples: Examples, num_train_steps: int) -> str:
    options = self.options
    lengths = examples.row_lengths
    parameters = sum(math.prod(variable.shape) for variable in original_names(self.model).values())
    padding = "all padded to" if len(self.lengths) == 1 else "batches of similar length, padded to at most"
    return "\n".join([
        f"devices      {self.devices.description}, {self.devices.dtype}"
        f"{', XLA' if self.devices.jit_compile else ''}",
        f"network      L={self._config.num_hidden_layers} H={self._config.hidden_size} "
        f"A={self._config.num_attention_heads}, {parameters:,} parameters",
        f"examples     {len(examples):,} of {lengths.mean():.1f} tokens, the longest {lengths.max()}; {padding} "
        f"{self.lengths[-1]}",
        f"training     steps {self.step} to {num_train_steps}, batch {options.train_batch_size}, "
        f"learning rate {options.learning_rate:g}, seed {options.seed}",
        f"TensorBoard  tensorboard --logdir={options.output_dir}",
    ])
