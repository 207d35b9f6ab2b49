"""A task on labelled examples in memory, with any number of development sets; each is a
subclass."""

import os
from collections.abc import Callable

from bert_common import files
from bert_common.errors import UserError
from bert_tf.runs.evaluation import Evaluation, Predicted, write_eval_results
from bert_tf.runs.options import TENSORBOARD, FineTuningOptions
from bert_tf.runs.task import RunningModel, Stage, Start, Task, least_bytes, row_flops
from bert_tf.training.devices import Devices, StageWork, Workload
from bert_tf.training.examples import (
    Examples,
    TaskData,
    lengths_for,
    padded_lengths,
    training_dataset,
)
from bert_tf.training.loop import LoopOptions
from bert_tf.training.step import Objective
from modeling.checkpoints.companion_files import BEST_DIRECTORY, BEST_RECORD
from modeling.checkpoints.load import Checkpoint, open_checkpoint, step_of
from modeling.checkpoints.tensorflow_files import latest_checkpoint
from modeling.optimizer import WarmupDecay
from modeling.task_model import BertTaskModel

# Options with the ending _file name them.
_SETS = ("train", "dev", "test", "predict", "transfer")


class FineTuningTask(Task):
    """A task on examples in memory; the first development set chooses the best weights.

    A subclass makes the model and its outputs, and has the methods below, or its own `evaluate` and
    `predict` in their place.

    Args:
      read_data: (options, checkpoint) → data; `start` and `config` are set when it is called.
      checkpoint: where the run begins, if it is open already.

    Attributes:
      train_examples: None where nothing is trained.
      num_train_examples: from which the number of steps follows; None for that of `train_examples`.
      outputs: (model, features) → name → float32 [B, ...] with one row an example, or [B, S, ...]
        with one a token.
      token_outputs: names of the outputs that have one row a token.
      is_compiled: XLA compiles the whole step, so that shapes can't follow the data.
      answer: (run, split) → the model's answers for a set, in the form that the other methods take.
      score: (split, answers) → metrics of the answers about a set with labels, by name.
      predicted: (split, answers) → the answers as messages name them, `Predicted`.
      write_predictions: (name, split, answers) → paths of what it has written about a test set.
    """

    options: FineTuningOptions
    checkpoint: Checkpoint
    data: TaskData
    train_examples: Examples | None = None
    num_train_examples: int | None = None
    outputs: Callable[[BertTaskModel, dict], dict]
    token_outputs: tuple[str, ...] = ()
    is_compiled = False
    answer: Callable
    score: Callable[..., dict[str, float]]
    predicted: Callable[..., Predicted]
    write_predictions: Callable[..., list[str]]

    def __init__(
        self,
        options: FineTuningOptions,
        read_data: Callable[[FineTuningOptions, Checkpoint], TaskData],
        checkpoint: Checkpoint | None = None,
    ):
        # The run's own checkpoint where it has one; in a selection each combination starts from the
        # given one, also when another one has been trained already.
        begin, own = options.init_checkpoint, options.output_dir
        if not (options.sweep or checkpoint):
            has_best = files.exists(os.path.join(own, BEST_DIRECTORY, BEST_RECORD))
            if latest_checkpoint(own) is not None or (has_best and not options.do_train):
                if not options.do_train:
                    from bert_tf.runs import provenance

                    provenance.check_evaluated(own, begin)
                begin = own
            elif not options.do_train and begin is None:
                raise UserError(
                    f"--output_dir={own} holds no trained model: give --do_train, or an --init_checkpoint that is "
                    "fine-tuned"
                )
        self.checkpoint = checkpoint or open_checkpoint(
            begin,
            bert_config_file=options.bert_config_file,
            vocab_file=options.vocab_file,
            do_lower_case=options.do_lower_case,
        )
        self.options = options.fit(self.checkpoint.config)
        shorter = (
            []
            if self.options is options
            else [
                f"--max_seq_length={self.options.max_seq_length}: the model has no more positions"
            ]
        )
        options = self.options
        tokenizer = self.checkpoint.tokenizer
        self.config = options.adapt(self.checkpoint.config)
        self.start = Start(
            self.checkpoint.source,
            step_of(self.checkpoint.source),
            begin is not None and begin == own,
            vocab_file=self.checkpoint.vocab_file,
            do_lower_case=tokenizer.do_lower_case,
            vocab_sha256=tokenizer.vocabulary.fingerprint,
        )
        self.data = read_data(options, self.checkpoint)
        self.notes = [*self.checkpoint.notes, *shorter, *self.data.notes]
        self.train_examples = self.data.train.examples if self.data.train else None
        self.description = self.data.description
        metrics = self.data.metrics if self.data.dev else ()
        if options.best_metric and options.best_metric not in metrics:
            raise UserError(
                f"--best_metric={options.best_metric} is none of the metrics of this run: "
                f"{', '.join(metrics) or 'there are no development sets'}"
            )
        self.main_metric = options.best_metric or next(iter(metrics), None)

    def objective(self, model: BertTaskModel) -> Objective:
        return Objective.of(model)

    def schedule(self) -> WarmupDecay:
        steps = self.options.num_train_steps(self.num_train_examples or len(self.train_examples))
        return WarmupDecay(
            self.options.learning_rate,
            steps,
            int(steps * self.options.warmup_proportion),
            self.options.lr_schedule,
            self.options.decay_proportion,
        )

    def loop_options(self) -> LoopOptions:
        options = self.options
        epoch = options.steps_per_epoch(self.num_train_examples or len(self.train_examples))
        eval_steps = epoch if options.eval_steps is None else options.eval_steps
        return LoopOptions(
            num_train_steps=self.schedule().steps,
            save_checkpoints_steps=options.save_checkpoints_steps,
            eval_steps=eval_steps if self.can_evaluate else 0,
            iterations_per_loop=options.iterations_per_loop,
            profile_steps=options.profile_steps,
        )

    def workload(self, devices: Devices) -> Workload:
        """Padding of batches is not counted."""
        options, longest = self.options, self.description["max_seq_length"]
        # On a TPU every shape of a loop must be known when it is compiled.
        lengths = (
            padded_lengths(longest, 1)
            if options.pad_to_max_length or devices.kind == "TPU"
            else lengths_for(longest, devices.has_few_shapes)
        )
        if self.train_examples is None:
            return Workload((), lengths)
        count, sequences = len(self.train_examples), self.train_examples.sequence_lengths
        tokens, size = float(sequences.sum() / count), options.train_batch_size
        return Workload(
            (
                StageWork(
                    0,
                    self.schedule().steps,
                    size,
                    tokens,
                    float(row_flops(options, self.config, sequences).sum() / count),
                    least_bytes(options, self.config, devices, size, tokens),
                ),
            ),
            lengths,
        )

    def inputs(self) -> dict[str, list[str]]:
        sets = self.data.files() | {
            name: split.source.path for name, split in self.data.test.items()
        }
        first = next(iter(self.data.dev), "dev")
        # Options that name sets, read or not, are no other inputs.
        others = {
            name: paths
            for name, paths in super().inputs().items()
            if name.removesuffix("_file") not in _SETS
        }
        return others | {"dev" if name == first else name: [path] for name, path in sets.items()}

    def examples_to_train_on(self, run: RunningModel) -> Examples:
        """`train_examples`, with what is computed for them when training begins."""
        return self.train_examples

    def stage(self, run: RunningModel) -> Stage:
        options, step, workload = self.options, run.step, self.workload(run.devices)

        def make_dataset():
            examples = self.examples_to_train_on(run)
            return run.devices.strategy.distribute_datasets_from_function(
                lambda context: training_dataset(
                    examples,
                    options.train_batch_size,
                    options.seed,
                    step,
                    workload.lengths,
                    context,
                    options.original_batches,
                )
            )

        return Stage(workload.stages[0], make_dataset)

    def check_devices(self, devices: Devices) -> None:
        super().check_devices(devices)
        self.is_compiled = devices.jit_compile
        options, replicas = self.options, devices.strategy.num_replicas_in_sync
        if options.predict_batch_size % replicas:
            raise UserError(
                f"--predict_batch_size={options.predict_batch_size} can't be divided by {replicas} replicas: "
                f"take a multiple of {replicas}"
            )
        if devices.kind == "TPU" and options.tpu_name != "local":
            raise UserError(
                "fine-tuning reads its examples in this process, which a remote TPU can't reach: run the command "
                "on the TPU VM itself, with --tpu_name=local"
            )

    def plan(self, run: RunningModel) -> str:
        options, devices = self.options, run.devices
        lengths = self.workload(devices).lengths
        similar = "batches, each" if options.original_batches else "batches of similar length,"
        padding = "all padded to" if len(lengths) == 1 else f"{similar} padded to at most"
        return "\n".join(
            [
                f"devices      {devices}{f', {devices.xla}' if devices.jit_compile or devices.why_compiled else ''}",
                f"model        {run.describe_model()}",
                f"examples     {self.train_examples.describe()}; {padding} {lengths[-1]}",
                f"training     steps {run.step} to {self.schedule().steps}, batch {options.train_batch_size}, "
                f"learning rate {options.learning_rate:g}, seed {options.seed}",
                *(
                    [f"TensorBoard  tensorboard --logdir={options.output_dir}"]
                    if TENSORBOARD in options.report_to
                    else []
                ),
            ]
        )

    @property
    def can_evaluate(self) -> bool:
        return bool(self.data.dev)

    def evaluate(self, run: RunningModel) -> Evaluation:
        """Of all development sets; `details` has the answers by the names of the sets."""
        sets, metrics = self.data.dev, {}
        answers = {name: self.answer(run, split) for name, split in sets.items()}
        for number, (name, split) in enumerate(sets.items()):
            prefix = f"{name.removeprefix('dev_')}_" if number else ""
            metrics |= {
                f"{prefix}{metric}": value
                for metric, value in self.score(split, answers[name]).items()
            }
        predictions = {name: self.predicted(split, answers[name]) for name, split in sets.items()}
        return Evaluation(run.weights_step, metrics, predictions, answers)

    def write_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
        count = sum(map(len, self.data.dev.values()))
        run.log(write_eval_results(self.options.output_dir, evaluation, count, "eval_"))

    def predict(self, run: RunningModel) -> dict[str, float] | None:
        """Of all test sets; the scores of those with labels begin with the set's name."""
        metrics: dict[str, float] = {}
        for name, split in self.data.test.items():
            answers = self.answer(run, split)
            if run.devices.is_chief:
                paths = self.write_predictions(name, split, answers)
                run.log(
                    f"predicted {len(split):,} examples of {split.source.path}: {', '.join(paths)}"
                )
                if split.is_labelled:
                    scores = self.score(split, answers)
                    metrics |= {f"{name}_{metric}": value for metric, value in scores.items()}
                    run.log(
                        ", ".join(
                            f"{name}: {metric} {value:.4f}" for metric, value in scores.items()
                        )
                    )
        return metrics or None
