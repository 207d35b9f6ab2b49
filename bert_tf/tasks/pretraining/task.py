"""Pre-training: masked LM and next sentence (section 3.1 and A.2 of the paper).

Input: records (`bert_tf/tasks/pretraining/data.py`). Output: a run directory, by way of
`bert_tf/runs/run.py`.
"""

import collections
import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from bert_common import files, json_files
from bert_common.errors import UserError
from bert_tf.runs import provenance
from bert_tf.runs import run as driver
from bert_tf.runs.evaluation import Evaluation, write_eval_results
from bert_tf.runs.options import TEACHERS
from bert_tf.runs.task import Run, Task, row_flops
from bert_tf.tasks.pretraining import data
from bert_tf.tasks.pretraining.options import PretrainingOptions
from bert_tf.tasks.pretraining.phases import PretrainingPhase, find_phases, resize
from bert_tf.tasks.pretraining.samples import filled_masks
from bert_tf.tasks.pretraining.vocabulary import find_vocabulary
from bert_tf.training.devices import Devices
from bert_tf.training.inputs import evaluation_dataset, training_dataset
from bert_tf.training.phases import phase_at
from bert_tf.training.prediction import EvaluationPass
from modeling.checkpoints.companion_files import SAMPLES_FILE, CheckpointReader
from modeling.checkpoints.load import config_for, read_checkpoint, step_of
from modeling.checkpoints.tensorflow_files import latest_checkpoint
from modeling.config import BertConfig
from modeling.costs import BYTES_PER_TOKEN, check_memory
from modeling.fused_attention import (
    COMPUTE_CAPABILITY,
    MEASURED_COMPUTE_CAPABILITY,
    MEASURED_LENGTH,
    PACKED_COMPUTE_CAPABILITY,
    why_not_fused,
)
from modeling.losses import HeadLoss, SumOfLosses
from modeling.optimizer import WarmupDecay
from modeling.pretraining import (
    NEXT_SENTENCE,
    NEXT_TOKEN,
    BertForCausalLm,
    BertForPreTraining,
    masked_lm_loss,
)

# A masked-LM accuracy below this multiple of guessing counts as nothing learned.
_MIN_GAIN = 1.05


class CausalLmLoss(SumOfLosses):
    """Loss of a left-to-right model, which returns the sums itself.

    The logits of all positions never exist at once, see `BertForCausalLm.sums`.
    """

    def sums(self, outputs: dict, features: dict) -> dict:
        return outputs


def pretraining_loss(
    model: BertForPreTraining,
    losses: tuple[str, ...] = ("masked_lm", "next_sentence"),
    mask_id: int | None = None,
    masked_lm: HeadLoss | None = None,
) -> SumOfLosses:
    """Returns the loss of pre-training: mean over the predictions plus mean over the examples.

    Args:
      losses: ("masked_lm",) trains without the next-sentence task (section 5.1 of the paper).
      mask_id: id of [MASK], to report the accuracy there separately, see `masked_lm_loss`.
      masked_lm: the loss of the masked tokens in place of `masked_lm_loss`.
    """
    heads = [NEXT_SENTENCE] if "next_sentence" in losses else []
    if isinstance(model, BertForCausalLm):
        return CausalLmLoss([NEXT_TOKEN, *heads])
    if masked_lm is None:
        masked_lm = masked_lm_loss(mask_id)
    return SumOfLosses([masked_lm, *heads])


def pretraining_forward(model: BertForPreTraining, features: dict, dropout: object) -> dict:
    """Returns the model's outputs for `pretraining_loss`."""
    if isinstance(model, BertForCausalLm):
        return model.sums(features, dropout)
    return model(features, dropout=dropout)


class PretrainingTask(Task):
    """Pre-training on records, checked against flags and model."""

    options: PretrainingOptions
    reads_while_training = True

    def __init__(self, options: PretrainingOptions):
        initial = read_checkpoint(options.init_checkpoint) if options.init_checkpoint else None
        latest = latest_checkpoint(options.output_dir)
        saved = None if latest is None else read_checkpoint(latest)
        self.options = options
        self.config = options.apply_to(_find_config(options, saved, initial))
        self.notes = []
        if self.config.causal:
            self.notes.append(
                "left-to-right: every position predicts the next token; what the records hide is "
                "restored"
            )
        phases = find_phases(options, self.config)
        # The run directory keeps the number of groups, which must not change on the way.
        self.options = options.replace(
            input_groups=phases[0].groups, next_sentence_prediction=self._has_pairs(phases)
        )
        self.start_weights = initial
        if not self.options.next_sentence_prediction:
            self.optional_heads = ("next_sentence",)
        if not options.do_train:
            self._choose_weights_to_evaluate(saved, initial)
        # A resumed run goes on with its own weights, whose vocabulary decides.
        weights = saved if saved and options.do_train else self.start_weights
        self._find_vocabulary(phases, weights)
        self._teachers = None
        if options.teacher_checkpoint and options.do_train:
            self._teachers = TEACHERS.load("step")(
                options.teacher_checkpoint,
                "masked_lm",
                lambda config, dtype: BertForPreTraining(config, dtype=dtype),
                self.config,
                max(phase.options.max_seq_length for phase in phases),
            )
            self._teachers.check_vocabulary(self.vocabulary, self.do_lower_case, self.vocab_sha256)
        self._phases = [
            dataclasses.replace(phase, flops=self._example_flops(phase)) for phase in phases
        ]
        self._make_parsers()
        # By the index of the phase. A pass is made once, as tracing takes seconds.
        self._evaluation_passes: dict[int, EvaluationPass] = {}

    def _has_pairs(self, phases: Sequence[PretrainingPhase]) -> bool:
        """Whether there is a next-sentence task: it is expected, and the records are pairs.

        Raises:
          UserError: some files have pairs and others have none.
        """
        if not self.options.next_sentence_prediction:
            return False
        paths: list[str] = []
        without_pairs: list[str] = []
        for phase in phases:
            used = [phase.train_records] if self.options.do_train else []
            used += [phase.eval_records] if self.can_evaluate else []
            for records in used:
                paths += records.files.paths
                without_pairs += records.without_pairs
        if not without_pairs:
            return True
        with_pairs = [path for path in paths if path not in without_pairs]
        if with_pairs:
            raise UserError(
                f"{with_pairs[0]} has pairs of segments, and {without_pairs[0]} has none: give "
                "--next_sentence_prediction=false, or records of one kind"
            )
        self.notes.append(
            "the records have no pairs of segments: no next-sentence task is trained or evaluated"
        )
        return False

    def _make_parsers(self, in_graph: bool = False) -> None:
        self._masks_in_graph = in_graph
        self._parsers = [
            phase.parsers(self.config, self.vocabulary, in_graph) for phase in self._phases
        ]

    def _choose_weights_to_evaluate(
        self, saved: CheckpointReader | None, initial: CheckpointReader | None
    ) -> None:
        options = self.options
        if saved is not None:
            provenance.check_evaluated(options.output_dir, options.init_checkpoint)
            self.start_weights = saved
            self.start_step = step_of(saved)
        elif initial is None:
            raise UserError(
                f"--do_eval: {options.output_dir} holds no checkpoint: give --init_checkpoint, or "
                "train first"
            )

    def _find_vocabulary(
        self, phases: Sequence[PretrainingPhase], weights: CheckpointReader | None
    ) -> None:
        """Sets the vocabulary of records and weights, as far as it is known."""
        # Records and weights carry a fingerprint of their vocabulary; all must agree.
        paths_by_flag: dict[str, list[str]] = {}
        for phase in phases:
            for records in dict.fromkeys((phase.train_records, phase.eval_records)):
                paths_by_flag.setdefault(records.flag, []).extend(records.files.paths)
        result = find_vocabulary(self.options, self.config, weights, paths_by_flag)
        self.vocabulary = result.vocabulary
        self.do_lower_case = result.do_lower_case
        self.vocab_sha256 = result.fingerprint
        self.mask_id = None
        if self.vocabulary:
            self.mask_id = self.vocabulary.mask_id
            self.vocab_file = self.vocabulary.path
        self.notes += result.notes

    def _example_flops(self, phase: PretrainingPhase) -> float:
        """Returns the operations of a training step for an example, the teachers' included."""
        # Packed rows hold several examples, so the work of a row is divided among them.
        length = phase.options.max_seq_length
        # Positions of a row whose logits are computed.
        predictions = length if self.config.causal else phase.options.max_predictions_per_seq
        flops = row_flops(self.options, self.config, length, predictions)
        if self._teachers is not None:
            flops += self._teachers.row_flops(length, predictions)
        return flops / phase.train_records.sequences_per_record

    @property
    def can_evaluate(self) -> bool:
        return self.options.do_eval or self.options.eval_steps > 0

    def with_options(self, options: PretrainingOptions) -> "PretrainingTask":
        other = super().with_options(options)
        # The records decide the length, whatever the model's number of positions.
        other.options = options.replace(
            input_groups=self.options.input_groups,
            next_sentence_prediction=self.options.next_sentence_prediction,
        )
        other._phases = resize(self._phases, options)
        other._evaluation_passes = {}
        return other

    def make_model(self, dtype: str) -> BertForPreTraining:
        if self._teachers is not None:
            self._teachers.load(dtype)
        # A left-to-right model predicts every next token in place of the masked ones.
        make = BertForCausalLm if self.config.causal else BertForPreTraining
        return make(self.config, seed=self.options.seed, dtype=dtype)

    def forward(self, model: BertForPreTraining, features: dict, dropout: object) -> dict:
        return pretraining_forward(model, features, dropout)

    def loss(self, model: BertForPreTraining) -> SumOfLosses:
        if self._teachers is None:
            masked_lm = None
        else:
            masked_lm = self._teachers.distilled(
                masked_lm_loss(self.mask_id),
                self.options,
                lambda outputs: outputs["masked_lm_logits"],
            )
        return pretraining_loss(model, self.options.losses, self.mask_id, masked_lm)

    def inputs(self) -> dict[str, list[str]]:
        inputs = super().inputs()
        train_paths: dict[str, None] = {}
        eval_paths: dict[str, None] = {}
        for phase in self._phases:
            train_paths.update(dict.fromkeys(phase.train_records.files.paths))
            eval_paths.update(dict.fromkeys(phase.eval_records.files.paths))
        inputs["train"] = list(train_paths)
        # Evaluations read the training data if there is no --eval_file.
        if self.options.eval_file:
            inputs["dev"] = list(eval_paths)
        return inputs

    def schedule(self) -> WarmupDecay:
        options = self.options
        return WarmupDecay(
            options.learning_rate,
            options.num_train_steps,
            options.num_warmup_steps,
            options.lr_schedule,
            options.decay_proportion,
        )

    def evaluation_interval(self) -> int:
        return self.options.eval_steps

    def phases(self) -> Sequence[PretrainingPhase]:
        return self._phases

    def padded_lengths(self, devices: Devices) -> np.ndarray:
        return np.array([phase.options.max_seq_length for phase in self._phases])

    def make_dataset(
        self, trainer: Run, phase: PretrainingPhase
    ) -> tf.distribute.DistributedDataset:
        parse, _ = self._parsers[self._phases.index(phase)]
        sizes = phase.batch_sizes(trainer.devices)
        # A resumed run goes on after the examples that it has seen.
        position = trainer.weights.state.position
        step = trainer.step

        def make(context: tf.distribute.InputContext) -> tf.data.Dataset:
            return training_dataset(
                phase.train_records.files,
                parse,
                sizes,
                phase.options.seed,
                position,
                context,
                phase.groups,
                step,
            )

        return trainer.devices.strategy.distribute_datasets_from_function(make)

    def check_devices(self, devices: Devices) -> None:
        super().check_devices(devices)
        if devices.kind == "TPU":
            # The hosts of a TPU read the records, and have no Python.
            self._make_parsers(in_graph=True)
        if self.options.do_train and self.options.fused_attention == "on":
            self._check_fused_attention(devices)
        if not self.can_evaluate:
            return
        size = self.options.eval_batch_size
        replicas = devices.strategy.num_replicas_in_sync
        if size % replicas:
            raise UserError(
                f"--eval_batch_size={size} can't be divided by {replicas} replicas: take a "
                f"multiple of {replicas}"
            )
        # One batch size serves all phases; the longest sequences need the most memory.
        longest = max(phase.options.max_seq_length for phase in self._phases)
        check_memory(
            size * longest * BYTES_PER_TOKEN,
            f"an evaluation batch of --eval_batch_size={size}",
            "take a smaller one",
        )

    def uses_fused_attention(self, devices: Devices) -> bool:
        if self.options.fused_attention != "auto":
            return self.options.fused_attention == "on"
        longest = max((phase.options.max_seq_length for phase in self._phases), default=0)
        if not devices.jit_compile or longest < MEASURED_LENGTH:
            return False
        capability = devices.compute_capability
        return (
            capability is not None
            and capability >= MEASURED_COMPUTE_CAPABILITY
            and why_not_fused(self.config, devices.dtype) is None
        )

    def _check_fused_attention(self, devices: Devices) -> None:
        needed = COMPUTE_CAPABILITY
        rows = ""
        if any(phase.train_records.schema.is_packed for phase in self._phases):
            needed = PACKED_COMPUTE_CAPABILITY
            rows = " of packed rows"
        capability = devices.compute_capability
        if capability is None or capability < needed:
            if capability is None:
                current = f"{devices.kind}s"
            else:
                current = f"compute capability {capability[0]}.{capability[1]}"
            major, minor = needed
            raise UserError(
                f"--fused_attention{rows} is for GPUs of compute capability {major}.{minor} or "
                f"newer, and this run is on {current}: leave it out"
            )
        problem = why_not_fused(self.config, devices.dtype)
        if problem is not None:
            raise UserError(f"--fused_attention: {problem}")

    def _evaluated_phase(self, trainer: Run) -> int:
        """Returns the index of the phase of the step before an evaluation."""
        return phase_at(self._phases, trainer.step - 1)

    def _evaluation_batches(
        self,
        number: int,
        context: tf.distribute.InputContext,
        masked_lm_prob: float | None = None,
    ) -> tf.data.Dataset:
        """Returns the evaluation batches of a phase that a process reads.

        Args:
          masked_lm_prob: share of the tokens to mask; None for that of the run.
        """
        _, parse = self._parsers[number]
        if masked_lm_prob is not None:
            parse = self._phases[number].evaluation_parser_at(
                masked_lm_prob, self.config, self.vocabulary, self._masks_in_graph
            )
        return evaluation_dataset(
            self._phases[number].eval_records.files,
            parse,
            self.options.eval_batch_size,
            context,
            self.options.evaluation_batches,
        )

    def evaluate(self, trainer: Run) -> Evaluation:
        number = self._evaluated_phase(trainer)
        if number not in self._evaluation_passes:
            self._evaluation_passes[number] = self._make_evaluation_pass(trainer, number)
        return Evaluation(trainer.step, self._evaluation_passes[number]())

    def _make_evaluation_pass(
        self, trainer: Run, number: int, masked_lm_prob: float | None = None
    ) -> EvaluationPass:
        strategy = trainer.devices.strategy
        # The last batch is filled up with padding examples.
        batches = -(-self._num_evaluated_records(number) // self.options.eval_batch_size)

        def make_dataset() -> tf.distribute.DistributedDataset:
            return strategy.distribute_datasets_from_function(
                functools.partial(self._evaluation_batches, number, masked_lm_prob=masked_lm_prob)
            )

        return EvaluationPass(
            functools.partial(pretraining_forward, trainer.weights.model),
            # Evaluation is against the records alone, whether or not there is a teacher.
            pretraining_loss(trainer.weights.model, self.options.losses, self.mask_id),
            make_dataset,
            batches,
            strategy,
            trainer.devices.jit_compile,
            trainer.check_stop,
        )

    def _num_evaluated_records(self, number: int) -> int:
        """Returns the number of records that an evaluation of a phase reads."""
        num_records = self._phases[number].eval_records.files.num_examples
        if self.options.evaluation_batches is None:
            return num_records
        return min(num_records, self.options.evaluation_batches * self.options.eval_batch_size)

    def complete_evaluation(self, trainer: Run, evaluation: Evaluation) -> Evaluation:
        metrics = dict(evaluation.metrics)
        number = self._evaluated_phase(trainer)
        for share in self.options.eval_masked_lm_prob:
            measured = self._make_evaluation_pass(trainer, number, share)()
            metrics[f"masked_lm_accuracy_at_rate_{share:g}"] = measured["masked_lm_accuracy"]
        return dataclasses.replace(evaluation, metrics=metrics)

    def write_evaluation(self, trainer: Run, evaluation: Evaluation) -> None:
        options = self.options
        number = self._evaluated_phase(trainer)
        eval_records = self._phases[number].eval_records
        num_records = self._num_evaluated_records(number)
        num_examples = round(num_records * eval_records.sequences_per_record)
        results = evaluation
        # Baselines are read from the records, without a model, at the end only.
        if not self.config.causal:
            batches = self._evaluation_batches(number, tf.distribute.InputContext(1, 0, 1))
            baselines = measure_baselines(batches.as_numpy_iterator(), self.mask_id)
            metrics = {**evaluation.metrics, **baselines}
            results = dataclasses.replace(
                evaluation, metrics=metrics, warning=warn_of_guessing(metrics)
            )
            if self.vocabulary:
                self._write_samples(trainer, number)
        trainer.log(write_eval_results(options.output_dir, results, num_examples))
        if results.degenerate:
            trainer.log(f"warning: {results.degenerate}")

    def _write_samples(self, trainer: Run, number: int) -> None:
        """Writes some masks of the evaluation's first batch as the model fills them."""
        batches = self._evaluation_batches(number, tf.distribute.InputContext(1, 0, 1))
        features = next(iter(batches.take(1)))
        outputs = pretraining_forward(trainer.weights.model, features, None)
        arrays = {name: value.numpy() for name, value in features.items()}
        logits = outputs["masked_lm_logits"].numpy()
        path = os.path.join(self.options.output_dir, SAMPLES_FILE)
        with files.atomic_write(path) as file:
            for sample in filled_masks(arrays, logits, self.vocabulary):
                file.write(json_files.line_of(sample))

    def plan(self, trainer: Run) -> str:
        options = self.options
        devices = trainer.devices
        rows = [
            ("devices", f"{devices}, {devices.xla}"),
            ("model", trainer.weights.describe()),
        ]
        for phase in self._phases:
            rows += self._plan_phase(phase, trainer.step)
        if options.num_warmup_steps >= options.num_train_steps:
            rows.append(
                (
                    "note",
                    f"--num_warmup_steps={options.num_warmup_steps} is not less than "
                    "--num_train_steps: the learning rate never reaches --learning_rate",
                )
            )
        if self.can_evaluate and not options.eval_file:
            rows.append(("note", "no --eval_file: evaluation reads the training data"))
        return "\n".join(f"{name:8} {text}" for name, text in rows)

    def _plan_phase(self, phase: PretrainingPhase, step: int) -> list[tuple[str, str]]:
        """Returns (subject, text) on the data of a phase and the steps that are left of it."""
        records = phase.train_records
        num_files = len(records.files.paths)
        steps = max(phase.last_step - max(step, phase.first_step), 0)
        rows_per_step = phase.batch_size / records.sequences_per_record
        packed = f" in {rows_per_step:.1f} rows" if records.schema.is_packed else ""
        tokens = round(steps * rows_per_step * phase.options.max_seq_length)
        epochs = steps * phase.batch_size / records.num_sequences
        return [
            ("data", f"{records.describe()}, in {num_files} file{'s' if num_files > 1 else ''}"),
            (
                "ahead",
                f"{steps:,} steps of {phase.batch_size} examples{packed} = {tokens:,} tokens = "
                f"{epochs:.2f} epochs",
            ),
        ]

    def explain(self, error: Exception, log: Callable[[str], None]) -> None:
        reading_errors = (
            tf.errors.DataLossError,
            tf.errors.NotFoundError,
            tf.errors.InvalidArgumentError,
            UnicodeDecodeError,
        )
        if isinstance(error, reading_errors):
            # TensorFlow names neither the file nor the record, so all are read again.
            log("reading failed; looking for the record that is wrong")
            for phase in self._phases:
                for records in dict.fromkeys((phase.train_records, phase.eval_records)):
                    data.check_all_records(records, self.config)


# The command `run_pretraining.py`; see `bert_tf/runs/run.py`.
run = functools.partial(driver.run, PretrainingTask)


def _find_config(
    options: PretrainingOptions, saved: CheckpointReader | None, initial: CheckpointReader | None
) -> BertConfig:
    """Returns the configuration of the flag, of the run's own checkpoint or of the given one."""
    if options.bert_config_file:
        return config_for(initial, options.bert_config_file)
    for weights in (saved, initial):
        if weights and weights.config is not None:
            return weights.config
    raise UserError(
        "--bert_config_file must be given (or an --init_checkpoint with a bert_config.json beside "
        "it)"
    )


def measure_baselines(
    batches: Iterable[Mapping[str, np.ndarray]], mask_id: int | None
) -> dict[str, float]:
    """Returns the masked-LM accuracies of three rules that need no model.

    A tenth of the tokens to predict are left as they are (section A.1 of the paper), and copying
    the visible token predicts them. An accuracy therefore says little without the accuracy of
    copying beside it, and without the accuracy at [MASK] alone.

    Args:
      batches: records or batches of them: int "input_ids" [..., S], "masked_lm_positions" and
        "masked_lm_ids" [..., P], float "masked_lm_weights" [..., P], and optionally
        "is_real_example" [...].
      mask_id: id of [MASK]; None if there is none, and then no accuracies at it.

    Returns:
      "masked_lm_baseline_most_frequent": always the most frequent token; "…_copying": the visible
      token, and at [MASK] the most frequent one there; "…_at_mask": the same, at [MASK] alone.
    """
    # Label → number of predictions, at other tokens and at [MASK].
    elsewhere: collections.Counter[int] = collections.Counter()
    at_mask: collections.Counter[int] = collections.Counter()
    num_copied = 0
    for features in batches:
        is_counted = features["masked_lm_weights"] > 0
        if "is_real_example" in features:
            is_counted &= np.reshape(features["is_real_example"], (-1, 1)) > 0
        labels = features["masked_lm_ids"][is_counted]
        visible = np.take_along_axis(
            features["input_ids"], features["masked_lm_positions"], axis=-1
        )[is_counted]
        is_mask = np.zeros(visible.shape, bool) if mask_id is None else visible == mask_id
        elsewhere.update(labels[~is_mask].tolist())
        at_mask.update(labels[is_mask].tolist())
        num_copied += int((visible == labels).sum())
    counts = elsewhere + at_mask
    total = max(counts.total(), 1)
    baselines = {"masked_lm_baseline_most_frequent": max(counts.values(), default=0) / total}
    if at_mask:
        num_guessed = max(at_mask.values())
        baselines["masked_lm_baseline_copying"] = (num_copied + num_guessed) / total
        baselines["masked_lm_baseline_at_mask"] = num_guessed / at_mask.total()
    return baselines


def warn_of_guessing(metrics: Mapping[str, float]) -> str | None:
    """Returns why a model is no better than guessing, in one line; None if it is better.

    Args:
      metrics: with the baselines.
    """
    accuracy = metrics["masked_lm_accuracy"]
    baseline = metrics["masked_lm_baseline_most_frequent"]
    position = ""
    # At [MASK] nothing can be copied, so the accuracy there is the better test.
    if "masked_lm_accuracy_at_mask" in metrics and "masked_lm_baseline_at_mask" in metrics:
        accuracy = metrics["masked_lm_accuracy_at_mask"]
        baseline = metrics["masked_lm_baseline_at_mask"]
        position = " at [MASK]"
    if accuracy > _MIN_GAIN * baseline:
        return None
    return (
        f"masked-LM accuracy{position} is {accuracy:.2%}, and {baseline:.2%} by always guessing "
        "the most frequent token: the model has learned little but frequencies: raise "
        "--num_train_steps or --learning_rate, or start from a checkpoint with --init_checkpoint"
    )
