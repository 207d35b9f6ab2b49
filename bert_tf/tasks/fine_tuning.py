"""Tasks on labelled examples in memory: what they have in common, and those with development sets.

A new task is a package `bert_tf/tasks/<task>/` with a subclass of one of the two, its options, and what it writes.
"""

import abc
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from bert_tf.tasks.evaluation import Evaluation, Predicted
from bert_tf.tasks.options import TENSORBOARD, FineTuningOptions
from bert_tf.tasks.splits import TaskData
from bert_tf.tasks.task import RunningModel, Stage, Task
from bert_tf.training.devices import Devices
from bert_tf.training.examples import Examples, lengths_for, padded_lengths, training_dataset
from bert_tf.training.loop import LoopOptions
from bert_tf.training.step import Objective
from modeling.checkpoints.companion_files import BEST_DIRECTORY, BEST_RECORD
from modeling.checkpoints.load import Checkpoint, open_checkpoint, trained_step
from modeling.checkpoints.tensorflow_files import latest_checkpoint
from modeling.optimizer import WarmupDecay
from modeling.task_model import BertTaskModel


class FineTuningTask(Task):
  """A task on examples in memory.

  The constructor of a subclass calls this one, then reads its data.

  Args:
    checkpoint: where the run begins, if it is open already.

  Attributes:
    checkpoint: where the run begins, with tokenizer and `task.json`.
    is_own_checkpoint: whether that is in the run's own directory.
    train_examples: None where nothing is trained.
    teachers: whose outputs are learnt, with the `digest` of what these are made from; None for none.
    token_outputs: names of the outputs that have one row a token.
  """

  options: FineTuningOptions
  train_examples: Examples | None = None
  teachers: Any = None
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

  def other_sources(self) -> dict[str, object]:
    """What a result is made from besides options, checkpoint and files, see `many_runs.sources_of`."""
    return {} if self.teachers is None else {"--teacher_checkpoint": self.teachers.digest}

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
