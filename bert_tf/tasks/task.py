"""What a task tells the driver (`bert_tf/tasks/run.py`): everything that is not the same for all runs.

A new task is a package `bert_tf/tasks/<task>/` with a subclass of `FineTuningTask`, its options, and what it writes.
"""

import abc
import copy
import dataclasses
import math
import os
from collections.abc import Callable, Mapping
from typing import Protocol, Self

import numpy as np

from bert_tf.common import files
from bert_tf.common.errors import UserError
from bert_tf.tasks.evaluation import Evaluation, Predicted
from bert_tf.tasks.options import TENSORBOARD, FineTuningOptions, TrainingOptions
from bert_tf.tasks.splits import TaskData
from bert_tf.training.devices import Devices
from bert_tf.training.examples import Examples, lengths_for, padded_lengths, training_dataset
from bert_tf.training.inputs import BatchSizes
from bert_tf.training.loop import LoopOptions
from bert_tf.training.reports import Reports
from bert_tf.training.step import Objective
from modeling import memory
from modeling.checkpoints.companion_files import BEST_DIRECTORY, BEST_RECORD, StoredWeights
from modeling.checkpoints.load import Checkpoint, open_checkpoint, trained_step
from modeling.checkpoints.tensorflow_files import latest_checkpoint
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


class FineTuningTask(Task):
  """A task on examples in memory.

  The constructor of a subclass calls this one, then reads its data.

  Args:
    checkpoint: where the run begins, if it is open already.

  Attributes:
    checkpoint: where the run begins, with tokenizer and `task.json`.
    is_own_checkpoint: whether that is in the run's own directory.
    train_examples: None where nothing is trained.
    token_outputs: names of the outputs that have one row a token.
  """

  options: FineTuningOptions
  train_examples: Examples | None = None
  token_outputs: tuple[str, ...] = ()

  def __init__(self, options: FineTuningOptions, checkpoint: Checkpoint | None = None):
    self.options = options
    self.notes = []
    # In a selection each combination starts from the checkpoint, also when another one has been trained already.
    start = options.init_checkpoint if options.sweep or checkpoint else starting_point(options)
    self.is_own_checkpoint = start is not None and start == options.output_dir
    self.checkpoint = checkpoint or open_checkpoint(
        start, bert_config_file=options.bert_config_file, vocab_file=options.vocab_file,
        do_lower_case=options.do_lower_case)
    self.config = options.adapt(self.checkpoint.config)
    self.start, self.start_step = self.checkpoint.source, trained_step(self.checkpoint)
    self.vocab_file = self.checkpoint.vocab_file
    self.do_lower_case = self.checkpoint.tokenizer.do_lower_case
    self.vocab_sha256 = self.checkpoint.tokenizer.vocabulary.fingerprint
    self.notes += self.checkpoint.notes

  @property
  def max_seq_length(self) -> int:
    """The most tokens of an example."""
    return self.options.max_seq_length

  @abc.abstractmethod
  def outputs(self, model: BertTaskModel, features: dict) -> dict:
    """float32 outputs of a batch, [B, ...] with one row an example, or [B, S, ...] with one a token."""

  @abc.abstractmethod
  def data_files(self) -> dict[str, str]:
    """Split → path, of what is trained and evaluated on."""

  def objective(self, model: BertTaskModel) -> Objective:
    return Objective.of(model)

  @property
  def num_train_examples(self) -> int:
    """From which the number of steps follows."""
    return len(self.train_examples)

  def schedule(self) -> WarmupDecay:
    steps = self.options.num_train_steps(self.num_train_examples)
    return WarmupDecay(self.options.learning_rate, steps, int(steps * self.options.warmup_proportion),
                       self.options.lr_schedule)

  def loop_options(self) -> LoopOptions:
    options = self.options
    epoch = options.steps_per_epoch(self.num_train_examples)
    eval_steps = epoch if options.eval_steps is None else options.eval_steps
    return LoopOptions(
        num_train_steps=options.num_train_steps(self.num_train_examples),
        save_checkpoints_steps=options.save_checkpoints_steps,
        eval_steps=eval_steps if self.can_evaluate else 0, iterations_per_loop=options.iterations_per_loop,
        profile_steps=options.profile_steps, shown_metric=self.shown_metric)

  def stage(self, run: RunningModel) -> Stage:
    options, strategy, step = self.options, run.devices.strategy, run.step
    lengths = self.padded_lengths(run.devices)
    return Stage(
        self.loop_options().num_train_steps, options.train_batch_size, self.train_examples.tokens_per_example,
        self.flops_per_example(),
        lambda: strategy.distribute_datasets_from_function(lambda context: training_dataset(
            self.train_examples, options.train_batch_size, options.seed, step, lengths, context,
            options.original_batches)))

  def step_shapes(self) -> list[tuple[float, int, int]]:
    examples = self.train_examples
    rows = self.options.train_batch_size * len(examples.row_lengths) / len(examples)
    return [(rows, self.max_seq_length, 0)]

  def count_shapes(self, devices: Devices) -> int:
    return len(self.padded_lengths(devices))

  def flops_per_example(self) -> float:
    """The mean over the training examples, without the padding of batches."""
    examples = self.train_examples
    return float(self.row_flops(examples.row_lengths, predictions=0).sum() / len(examples))

  def flops_ahead(self, step: int) -> float:
    steps = max(self.loop_options().num_train_steps - step, 0)
    return steps * min(self.options.train_batch_size, len(self.train_examples)) * self.flops_per_example()

  def class_counts(self) -> dict[str, int] | None:
    """Class → its training examples; None for tasks without classes of examples."""
    return None

  def describe_examples(self) -> str:
    """How many there are to train on, and how long, for the user."""
    lengths = self.train_examples.row_lengths
    return f"{len(lengths):,} of {lengths.mean():.1f} tokens, the longest {lengths.max()}"

  def padded_lengths(self, devices: Devices) -> np.ndarray:
    """What batches are padded to, see `examples.padded_lengths`."""
    # On a TPU every shape of a loop must be known when it is compiled.
    if self.options.pad_to_max_length or devices.kind == "TPU":
      return padded_lengths(self.max_seq_length, 1)
    return lengths_for(self.max_seq_length, devices.has_few_shapes)

  def check_devices(self, devices: Devices) -> None:
    super().check_devices(devices)
    options, replicas = self.options, devices.strategy.num_replicas_in_sync
    if options.predict_batch_size % replicas:
      raise UserError(f"--predict_batch_size={options.predict_batch_size} can't be divided by {replicas} replicas: "
                      f"take a multiple of {replicas}")
    if devices.kind == "TPU" and options.tpu_name != "local":
      raise UserError("fine-tuning reads its examples in this process, which a remote TPU can't reach: run the command "
                      "on the TPU VM itself, with --tpu_name=local")

  def plan(self, run: RunningModel) -> str:
    options, devices, padded_to = self.options, run.devices, self.padded_lengths(run.devices)
    similar = "batches, each" if options.original_batches else "batches of similar length,"
    padding = "all padded to" if len(padded_to) == 1 else f"{similar} padded to at most"
    return "\n".join([
        f"devices      {devices}{f', {devices.xla}' if devices.jit_compile or devices.why_compiled else ''}",
        f"model        {run.describe_model()}",
        f"examples     {self.describe_examples()}; {padding} {padded_to[-1]}",
        f"training     steps {run.step} to {self.schedule().steps}, batch {options.train_batch_size}, "
        f"learning rate {options.learning_rate:g}, seed {options.seed}",
        *([f"TensorBoard  tensorboard --logdir={options.output_dir}"] if TENSORBOARD in options.report_to else []),
    ])


class DevelopmentSetsTask(FineTuningTask):
  """A task with any number of development sets; the first one chooses the best weights.

  The constructor of a subclass calls `read`.

  Attributes:
    what: examples as messages call them.
  """

  data: TaskData
  what = "examples"

  def read(self, read_data: Callable[..., TaskData]) -> None:
    """Reads `data` with a function (options, checkpoint) → data."""
    self.config.check_sequence_length(self.max_seq_length, "--max_seq_length")
    self.data = read_data(self.options, self.checkpoint)
    self.notes += self.data.notes
    self.train_examples = self.data.train.examples if self.data.train else None
    self.description = self.data.description

  def data_files(self) -> dict[str, str]:
    splits = {"train": self.data.train, **self.data.dev}
    return {name: split.source.path for name, split in splits.items() if split is not None}

  @property
  def can_evaluate(self) -> bool:
    return bool(self.data.dev)

  @abc.abstractmethod
  def answer(self, run: RunningModel, split):
    """What the model says about a set, in the form that the task's other methods take."""

  @abc.abstractmethod
  def score(self, split, answers) -> dict[str, float]:
    """Metrics of the answers about a set with labels."""

  @abc.abstractmethod
  def predicted(self, split, answers) -> Predicted:
    """The answers as messages name them."""

  @abc.abstractmethod
  def write_predictions(self, name: str, split, answers) -> list[str]:
    """Writes the answers about a test set; returns the paths."""

  def is_labelled(self, split) -> bool:
    """Whether the right answers of a test set are known."""
    return split.source.labels is not None

  def metric_prefix(self, name: str) -> str:
    """Begins the names of the metrics of the second and further sets."""
    return f"{name}_"

  def evaluate(self, run: RunningModel) -> Evaluation:
    """Of all development sets; `details` has the answers by the names of the sets."""
    sets, metrics = self.data.dev, {}
    answers = {name: self.answer(run, split) for name, split in sets.items()}
    for number, (name, split) in enumerate(sets.items()):
      prefix = self.metric_prefix(name) if number else ""
      metrics |= {f"{prefix}{metric}": value for metric, value in self.score(split, answers[name]).items()}
    predictions = {name: self.predicted(split, answers[name]) for name, split in sets.items()}
    return Evaluation(run.weights_step, metrics, predictions, answers)

  def predict(self, run: RunningModel) -> dict[str, float] | None:
    """Of all test sets; the scores of those with labels begin with the set's name."""
    metrics: dict[str, float] = {}
    for name, split in self.data.test.items():
      answers = self.answer(run, split)
      if run.devices.is_chief:
        paths = self.write_predictions(name, split, answers)
        run.log(f"predicted {len(split):,} {self.what} of {split.source.path}: {', '.join(paths)}")
        if self.is_labelled(split):
          scores = self.score(split, answers)
          metrics |= {f"{name}_{metric}": value for metric, value in scores.items()}
          run.log(", ".join(f"{name}: {metric} {value:.4f}" for metric, value in scores.items()))
    return metrics or None

  def first_set(self, evaluation: Evaluation) -> tuple:
    """The development set that chooses the best weights, and the answers about it."""
    name, split = next(iter(self.data.dev.items()))
    return split, evaluation.details[name]


def starting_point(options: FineTuningOptions) -> str | None:
  """The checkpoint that a run begins with: the run's own where it has one, else --init_checkpoint."""
  own = options.output_dir
  has_best = files.exists(os.path.join(own, BEST_DIRECTORY, BEST_RECORD))
  if latest_checkpoint(own) is not None or (has_best and not options.do_train):
    return own
  if not options.do_train and options.init_checkpoint is None:
    raise UserError(f"--output_dir={own} holds no trained model: give --do_train, or an --init_checkpoint that is "
                    "fine-tuned")
  return options.init_checkpoint


def count_parameters(variables: Mapping[str, object]) -> int:
  """Parameters in variables by name."""
  return sum(math.prod(variable.shape) for variable in variables.values())
