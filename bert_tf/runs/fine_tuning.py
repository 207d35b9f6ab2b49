"""Tasks on labeled examples in memory, with any number of development and test sets."""

import abc
import os
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import tensorflow as tf

from bert_common import files
from bert_common.errors import UserError
from bert_tf.runs import data_notes
from bert_tf.runs.evaluation import (
    Evaluation,
    constant_predictions_warning,
    write_eval_results,
)
from bert_tf.runs.options import TENSORBOARD, FineTuningOptions
from bert_tf.runs.task import Run, Task, row_flops
from bert_tf.training.devices import Devices
from bert_tf.training.examples import (
    Dataset,
    Datasets,
    Examples,
    lengths_for,
    padded_lengths,
    training_dataset,
)
from bert_tf.training.phases import Phase
from modeling.checkpoints.companion_files import BEST_DIRECTORY, BEST_RECORD
from modeling.checkpoints.load import Checkpoint, open_checkpoint, step_of
from modeling.checkpoints.tensorflow_files import latest_checkpoint
from modeling.losses import HeadLoss
from modeling.optimizer import WarmupDecay
from modeling.task_model import BertTaskModel

# Options that name labeled files: these with the ending "_file".
_SETS = ("train", "dev", "test", "predict", "transfer")


class InMemoryTask(Task):
    """A task on examples in memory; the first development set chooses the best weights.

    Args:
      read_data: reads the data; `config` and `checkpoint` are set when it is called.
      checkpoint: the weights to begin with, if they are open already.

    Attributes:
      checkpoint: weights, configuration and tokenizer that the run begins with.
      is_own_checkpoint: whether it is in the run's own directory.
      train_examples: None if nothing is trained.
      num_train_examples: determines the number of steps; None for the length of `train_examples`.
      token_outputs: names of the outputs that have one row per token.
    """

    options: FineTuningOptions
    checkpoint: Checkpoint
    data: Datasets
    train_examples: Examples | None = None
    num_train_examples: int | None = None
    token_outputs: tuple[str, ...] = ()

    def __init__(
        self,
        options: FineTuningOptions,
        read_data: Callable[[FineTuningOptions, Checkpoint], Datasets],
        checkpoint: Checkpoint | None = None,
    ):
        start = options.init_checkpoint
        # In a sweep each combination starts from the given weights, also if another one has been
        # trained already.
        if not (options.sweep or checkpoint) and self._has_own_checkpoint(options):
            start = options.output_dir
        # Opening reads configuration and vocabulary; the weights follow once the model is built.
        self.checkpoint = checkpoint or open_checkpoint(
            start,
            bert_config_file=options.bert_config_file,
            vocab_file=options.vocab_file,
            do_lower_case=options.do_lower_case,
        )
        self.is_own_checkpoint = start is not None and start == options.output_dir
        options = self._as_trained(options)
        # The position table limits the length of sequences.
        self.options = options.limit_length(self.checkpoint.config)
        self.config = self.options.apply_to(self.checkpoint.config)
        self.start_weights = self.checkpoint.source
        self.start_step = step_of(self.checkpoint.source)
        self.vocab_file = self.checkpoint.vocab_file
        self.do_lower_case = self.checkpoint.tokenizer.do_lower_case
        self.vocab_sha256 = self.checkpoint.tokenizer.vocabulary.fingerprint
        # Data is read after the length is limited, because the examples are cut to that length.
        self.data = read_data(self.options, self.checkpoint)
        self.description = self.data.description
        self.notes = list(self.checkpoint.notes)
        if self.options is not options:
            self.notes.append(
                f"--max_seq_length={self.options.max_seq_length}: the model has no more positions"
            )
        self.notes += self.data.notes
        self.left_out = self.data.left_out()
        self.notes += self.describe_data()
        if self.data.train:
            self.train_examples = self.data.train.examples
        self.main_metric = self._choose_metric()

    def with_options(self, options: FineTuningOptions) -> Self:
        return super().with_options(self._as_trained(options))

    def _as_trained(self, options: FineTuningOptions) -> FineTuningOptions:
        """Returns the options; of an evaluation those that read texts as the training did."""
        if options.do_train:
            return options
        task = {"max_seq_length": self.checkpoint.length, **self.checkpoint.task_settings}
        return options.as_trained(task)

    def describe_data(self) -> list[str]:
        """Returns lines for the user on what is striking in the data."""
        return data_notes.describe(self.data, self.checkpoint.tokenizer)

    @staticmethod
    def _has_own_checkpoint(options: FineTuningOptions) -> bool:
        """Whether the run's directory has weights to continue with or to evaluate."""
        directory = options.output_dir
        has_best = files.exists(os.path.join(directory, BEST_DIRECTORY, BEST_RECORD))
        if latest_checkpoint(directory) is not None or (has_best and not options.do_train):
            # The weights in the directory are evaluated, so --init_checkpoint must not contradict.
            if not options.do_train:
                from bert_tf.runs import provenance

                provenance.check_evaluated(directory, options.init_checkpoint)
            return True
        if not options.do_train and options.init_checkpoint is None:
            raise UserError(
                f"--output_dir={directory} holds no trained model: give --do_train, or an "
                "--init_checkpoint that is fine-tuned"
            )
        return False

    def _choose_metric(self) -> str | None:
        # The last weights are kept if there is no development set.
        if self.data.dev:
            metrics: tuple[str, ...] = self.data.metrics
        else:
            metrics = ()
        best_metric = self.options.best_metric
        if best_metric and best_metric not in metrics:
            raise UserError(
                f"--best_metric={best_metric} is none of the metrics of this run: "
                f"{', '.join(metrics) or 'there are no development sets'}"
            )
        return best_metric or next(iter(metrics), None)

    @property
    def can_evaluate(self) -> bool:
        return bool(self.data.dev)

    @abc.abstractmethod
    def outputs(self, model: BertTaskModel, features: dict) -> dict:
        """Returns name → float32 [B, ...] with one row per example, or [B, S, ...] per token."""

    def loss(self, model: BertTaskModel) -> HeadLoss:
        return model.head_losses[0]

    def schedule(self) -> WarmupDecay:
        options = self.options
        steps = options.num_train_steps(self._num_examples)
        return WarmupDecay(
            options.learning_rate,
            steps,
            int(steps * options.warmup_proportion),
            options.lr_schedule,
            options.decay_proportion,
        )

    def evaluation_interval(self) -> int:
        if not self.can_evaluate:
            return 0
        if self.options.eval_steps is None:
            return self.options.steps_per_epoch(self._num_examples)
        return self.options.eval_steps

    @property
    def _num_examples(self) -> int:
        return self.num_train_examples or len(self.train_examples)

    def phases(self) -> Sequence[Phase]:
        """Returns the only phase; its tokens and operations do not count padding."""
        examples = self.train_examples
        if examples is None:
            return ()
        lengths = examples.sequence_lengths
        # Attention grows with the square of the length, so a mean length would give too few
        # operations.
        flops = np.sum(row_flops(self.options, self.config, lengths))
        phase = Phase(
            first_step=0,
            last_step=self.schedule().steps,
            batch_size=self.options.train_batch_size,
            tokens=float(lengths.sum() / len(examples)),
            flops=float(flops / len(examples)),
        )
        return (phase,)

    def padded_lengths(self, devices: Devices) -> np.ndarray:
        longest = self.description["max_seq_length"]
        # On a TPU every shape of a loop must be known when it is compiled.
        if self.options.pad_to_max_length or devices.kind == "TPU":
            return padded_lengths(longest, 1)
        return lengths_for(longest, devices.has_few_shapes)

    def examples_to_train_on(self, trainer: Run) -> Examples:
        """Returns the training examples; called when training begins."""
        return self.train_examples

    def make_dataset(self, trainer: Run, phase: Phase) -> tf.distribute.DistributedDataset:
        options = self.options
        examples = self.examples_to_train_on(trainer)
        # The batches after a resume are a function of seed and step: the number of examples in the
        # checkpoint is not needed.
        step = trainer.step
        lengths = self.padded_lengths(trainer.devices)

        # A function per worker gives each one its own share; sharding a data set would read all of
        # it.
        def make(context: tf.distribute.InputContext) -> tf.data.Dataset:
            return training_dataset(
                examples,
                options.train_batch_size,
                options.seed,
                step,
                lengths,
                context,
                options.original_batches,
            )

        return trainer.devices.strategy.distribute_datasets_from_function(make)

    def write_evaluation(self, trainer: Run, evaluation: Evaluation) -> None:
        count = sum(len(split) for split in self.data.dev.values())
        trainer.log(write_eval_results(self.options.output_dir, evaluation, count, "eval_"))

    def inputs(self) -> dict[str, list[str]]:
        inputs = {}
        for name, paths in super().inputs().items():
            # The sets that are read are listed below; the others do not matter.
            if name.removesuffix("_file") not in _SETS:
                inputs[name] = paths
        first_dev_set = next(iter(self.data.dev), "dev")
        for name, path in self.data.files().items():
            # The set that chooses the weights has the same name for every task.
            if name == first_dev_set:
                name = "dev"
            inputs[name] = [path]
        for name, split in self.data.test.items():
            inputs[name] = [split.source.path]
        return inputs

    def check_devices(self, devices: Devices) -> None:
        super().check_devices(devices)
        if devices.kind == "TPU" and self.options.tpu_name != "local":
            raise UserError(
                "fine-tuning reads its examples in this process, which a remote TPU can't reach: "
                "run the command on the TPU VM itself, with --tpu_name=local"
            )

    def plan(self, trainer: Run) -> str:
        options = self.options
        devices = trainer.devices
        description = str(devices)
        if devices.jit_compile or devices.why_compiled:
            description += f", {devices.xla}"
        lengths = self.padded_lengths(devices)
        if len(lengths) == 1:
            padding = "all padded to"
        elif options.original_batches:
            padding = "batches, each padded to at most"
        else:
            padding = "length-bucketed, padded to at most"
        lines = [
            f"devices      {description}",
            f"model        {trainer.weights.describe()}",
            f"examples     {self.train_examples.describe()}; {padding} {lengths[-1]}",
            f"training     steps {trainer.step} to {self.schedule().steps}, "
            f"batch {options.train_batch_size}, learning rate {options.learning_rate:g}, "
            f"seed {options.seed}",
        ]
        if TENSORBOARD in options.report_to:
            lines.append(f"TensorBoard  tensorboard --logdir={options.output_dir}")
        return "\n".join(lines)


class FineTuningTask(InMemoryTask):
    """A task whose sets are answered and scored one by one."""

    @abc.abstractmethod
    def answer(self, trainer: Run, split: Dataset) -> Any:
        """Returns the model's answers for a set, in the form that the other methods take."""

    @abc.abstractmethod
    def score(self, split: Dataset, answers: Any) -> dict[str, float]:
        """Returns the metrics of the answers for a set with labels."""

    @abc.abstractmethod
    def constant_predictions(self, name: str, split: Dataset, answers: Any) -> str | None:
        """Returns `evaluation.constant_predictions` of the answers for a set with labels."""

    @abc.abstractmethod
    def write_predictions(self, name: str, split: Dataset, answers: Any) -> list[str]:
        """Writes predictions for the test set `name`; returns the paths of the files."""

    def evaluate(self, trainer: Run) -> Evaluation:
        """Evaluates on all development sets; `details` has the answers by the sets' names.

        Metrics of the second and further sets have the set's name as a prefix.
        """
        metrics: dict[str, float] = {}
        answers: dict[str, Any] = {}
        clauses = []
        for index, (name, split) in enumerate(self.data.dev.items()):
            answers[name] = self.answer(trainer, split)
            clauses.append(self.constant_predictions(name, split, answers[name]))
            # The first set's metrics choose the best weights; they have the plain names.
            if index:
                prefix = f"{name.removeprefix('dev_')}_"
            else:
                prefix = ""
            for metric, value in self.score(split, answers[name]).items():
                metrics[f"{prefix}{metric}"] = value
        return Evaluation(
            trainer.weights.step,
            metrics,
            details=answers,
            warning=constant_predictions_warning(clauses),
        )

    def predict(self, trainer: Run) -> dict[str, float] | None:
        """Predicts all test sets; scores of those with labels begin with the set's name."""
        metrics: dict[str, float] = {}
        for name, split in self.data.test.items():
            # All processes of a cluster compute; the chief writes.
            answers = self.answer(trainer, split)
            if not trainer.devices.is_chief:
                continue
            paths = ", ".join(self.write_predictions(name, split, answers))
            trainer.log(f"predicted {len(split):,} examples of {split.source.path}: {paths}")
            if split.is_labeled:
                scores = self.score(split, answers)
                for metric, value in scores.items():
                    metrics[f"{name}_{metric}"] = value
                texts = [f"{name}: {metric} {value:.4f}" for metric, value in scores.items()]
                trainer.log(", ".join(texts))
        return metrics or None
