"""Pre-training: masked LM and next sentence (section 3.1 and A.2 of the paper).

Input: records (`bert_tf/tasks/pretraining/data.py`). Output: a run directory, by way of
`bert_tf/runs/run.py`.
"""

import collections
import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.runs import provenance
from bert_tf.runs import run as driver
from bert_tf.runs.evaluation import Evaluation, write_eval_results
from bert_tf.runs.options import TEACHERS
from bert_tf.runs.task import RunningModel, Stage, Start, Task, least_bytes, row_flops
from bert_tf.tasks.pretraining import data
from bert_tf.tasks.pretraining.options import PretrainingOptions
from bert_tf.tasks.pretraining.phases import find_phases
from bert_tf.tasks.pretraining.vocabulary import find_vocabulary
from bert_tf.training.devices import Devices, StageWork, Workload
from bert_tf.training.inputs import evaluation_dataset, training_dataset
from bert_tf.training.loop import LoopOptions
from bert_tf.training.prediction import EvaluationPass
from bert_tf.training.speed import describe_time
from bert_tf.training.step import Objective
from modeling import pretraining
from modeling.checkpoints.load import config_for, read_checkpoint, step_of
from modeling.checkpoints.tensorflow_files import latest_checkpoint
from modeling.costs import BYTES_PER_TOKEN, check_memory
from modeling.losses import HeadLoss
from modeling.optimizer import WarmupDecay
from modeling.pretraining import BertForCausalLm, BertForPreTraining

# Examples in TensorBoard, and tokens on either side of a mask.
_EXAMPLES_SHOWN, _CONTEXT = 2, 8
# An accuracy below this multiple of guessing is none.
_SMALLEST_GAIN = 1.05


def make_objective(
    model: BertForPreTraining,
    losses: tuple[str, ...] = ("masked_lm", "next_sentence"),
    mask_id: int | None = None,
    masked_lm: HeadLoss | None = None,
) -> Objective:
    """Pre-training as the training step sees it; of a `BertForCausalLm` with the next token in
    place of the masked ones.

    Args:
      losses: ("masked_lm",) trains without the next-sentence task (section 5.1 of the paper).
      masked_lm: the loss of the masked tokens in place of `masked_lm_loss`.
    """
    is_causal = isinstance(model, BertForCausalLm)
    heads = (
        model.head_losses
        if is_causal
        else (masked_lm or pretraining.masked_lm_loss(mask_id), pretraining.NEXT_SENTENCE)
    )
    minimised = [
        loss for loss in heads if loss is not pretraining.NEXT_SENTENCE or "next_sentence" in losses
    ]
    return Objective(
        losses=tuple(loss.name for loss in minimised),
        sums=model.sums
        if is_causal
        else lambda features, dropout: pretraining.pretraining_sums(
            model(features, dropout=dropout), features, heads
        ),
        counts=lambda features: {
            name: count for loss in heads for name, count in loss.counts(features).items()
        },
        metrics=lambda sums: pretraining.pretraining_metrics(sums, minimised),
    )


class PretrainingTask(Task):
    """Records, checked against flags and model."""

    options: PretrainingOptions

    def __init__(self, options: PretrainingOptions):
        self.options = options
        self.notes = []
        given = read_checkpoint(options.init_checkpoint) if options.init_checkpoint else None
        own = latest_checkpoint(options.output_dir)
        stored = (
            config_for(given, options.bert_config_file)
            if options.bert_config_file
            else next(
                (
                    one.config
                    for one in (read_checkpoint(own) if own else None, given)
                    if one and one.config is not None
                ),
                None,
            )
        )
        if stored is None:
            raise UserError(
                "--bert_config_file must be given (or an --init_checkpoint with a bert_config.json beside it)"
            )
        self.config = options.adapt(stored)
        if self.config.causal:
            self.notes.append(
                "left-to-right: every position predicts the next token; what the records hide is restored"
            )
        self.phases = find_phases(options, self.config)
        # As the run directory keeps them.
        self.options = options = options.replace(input_groups=self.phases[0].groups)
        self.start = Start(
            given, optional_heads=() if options.next_sentence_prediction else ("next_sentence",)
        )
        if not options.do_train and own is not None:
            provenance.check_evaluated(options.output_dir, options.init_checkpoint)
            self.start.weights = read_checkpoint(own)
            self.start.step = step_of(self.start.weights)
        elif not options.do_train and given is None:
            raise UserError(
                f"--do_eval: {options.output_dir} holds no checkpoint: give --init_checkpoint, or train first"
            )
        groups: dict[str, list[str]] = {}
        for phase in self.phases:
            for records in dict.fromkeys((phase.train_records, phase.eval_records)):
                groups.setdefault(records.flag, []).extend(records.files.paths)
        weights = read_checkpoint(own) if own and options.do_train else self.start.weights
        found = find_vocabulary(options, self.config, weights, groups)
        self.vocabulary, self.mask_id = (
            found.vocabulary,
            found.vocabulary and found.vocabulary.mask_id,
        )
        self.start.do_lower_case, self.start.vocab_sha256 = found.do_lower_case, found.fingerprint
        self.start.vocab_file = found.vocabulary.path if found.vocabulary else None
        self.notes += found.notes
        self._teachers = None
        if options.teacher_checkpoint and options.do_train:
            self._teachers = TEACHERS.load("step")(
                options.teacher_checkpoint,
                "masked_lm",
                lambda config, dtype: BertForPreTraining(config, dtype=dtype),
                self.config,
                max(phase.options.max_seq_length for phase in self.phases),
            )
            self._teachers.check_vocabulary(
                self.vocabulary, self.start.do_lower_case, self.start.vocab_sha256
            )
        self._parsers = [phase.parsers(self.config, self.vocabulary) for phase in self.phases]
        # By the number of the phase.
        self._evaluation_passes: dict[int, EvaluationPass] = {}
        self._fillings: dict[int, tuple[dict[str, np.ndarray], Callable]] = {}

    def _phase_after(self, step: int) -> int:
        """The phase that the step after `step` updates belongs to; an evaluation belongs to that of
        the step before it."""
        return next(
            (number for number, phase in enumerate(self.phases) if step < phase.last_step),
            len(self.phases) - 1,
        )

    @property
    def can_evaluate(self) -> bool:
        return self.options.do_eval or self.options.eval_steps > 0

    def make_model(self, dtype: str) -> BertForPreTraining:
        if self._teachers is not None:
            self._teachers.load(dtype)
        make = BertForCausalLm if self.config.causal else BertForPreTraining
        return make(self.config, seed=self.options.seed, dtype=dtype)

    def objective(self, model: BertForPreTraining) -> Objective:
        taught = (
            None
            if self._teachers is None
            else self._teachers.distilled(
                pretraining.masked_lm_loss(self.mask_id),
                self.options,
                lambda outputs: outputs["masked_lm_logits"],
            )
        )
        return make_objective(model, self.options.losses, self.mask_id, taught)

    def inputs(self) -> dict[str, list[str]]:
        sets = {
            "train": [phase.train_records for phase in self.phases],
            "dev": [phase.eval_records for phase in self.phases if self.options.eval_file],
        }
        return super().inputs() | {
            name: list(dict.fromkeys(path for one in records for path in one.files.paths))
            for name, records in sets.items()
            if records
        }

    def schedule(self) -> WarmupDecay:
        options = self.options
        return WarmupDecay(
            options.learning_rate,
            options.num_train_steps,
            options.num_warmup_steps,
            options.lr_schedule,
            options.decay_proportion,
        )

    def loop_options(self) -> LoopOptions:
        options = self.options
        return LoopOptions(
            num_train_steps=options.num_train_steps,
            save_checkpoints_steps=options.save_checkpoints_steps,
            eval_steps=options.eval_steps,
            iterations_per_loop=options.iterations_per_loop,
            profile_steps=options.profile_steps,
            stage_ends=tuple(phase.last_step for phase in self.phases),
        )

    def stage(self, run: RunningModel) -> Stage:
        number = self._phase_after(run.step)
        phase, (parse, _) = self.phases[number], self._parsers[number]
        sizes, strategy, begin, step = (
            phase.batch_sizes(run.devices),
            run.devices.strategy,
            run.examples,
            run.step,
        )
        name = (
            f"phase {number + 1} of {len(self.phases)}: {phase.options.max_seq_length} tokens, steps "
            f"{phase.first_step} to {phase.last_step}"
            if len(self.phases) > 1
            else None
        )
        return Stage(
            self.workload(run.devices).stages[number],
            lambda: strategy.distribute_datasets_from_function(
                lambda context: training_dataset(
                    phase.train_records.files,
                    parse,
                    sizes,
                    phase.options.seed,
                    begin,
                    context,
                    phase.groups,
                    step,
                )
            ),
            sizes,
            name,
        )

    def workload(self, devices: Devices) -> Workload:
        stages = []
        for phase in self.phases:
            size, per_record = (
                phase.options.train_batch_size,
                phase.train_records.sequences_per_record,
            )
            # Of an example, padding included; and positions of a row that are projected to the
            # vocabulary.
            tokens = phase.options.max_seq_length / per_record
            predictions = (
                phase.options.max_seq_length
                if self.config.causal
                else phase.options.max_predictions_per_seq
            )
            row = phase.options.max_seq_length, predictions
            flops = row_flops(self.options, self.config, *row) + (
                self._teachers.row_flops(*row) if self._teachers else 0.0
            )
            stages.append(
                StageWork(
                    phase.first_step,
                    phase.last_step,
                    size,
                    tokens,
                    flops / per_record,
                    least_bytes(self.options, self.config, devices, size, tokens),
                )
            )
        return Workload(
            tuple(stages), np.array([phase.options.max_seq_length for phase in self.phases])
        )

    def check_devices(self, devices: Devices) -> None:
        super().check_devices(devices)
        if self.options.do_train and self.options.fused_attention == "on":
            from modeling.fused_attention import COMPUTE_CAPABILITY, check_fused_attention

            for phase in self.phases:
                if phase.train_records.schema.is_packed:
                    raise UserError(
                        f"--fused_attention: the records of --{phase.train_records.flag} are packed, and it has no "
                        "way to keep the sequences of a row apart: take records that are not packed"
                    )
            capability = devices.compute_capability
            if capability is None or capability < COMPUTE_CAPABILITY:
                needed, there = (
                    one and "compute capability {}.{}".format(*one)
                    for one in (COMPUTE_CAPABILITY, capability)
                )
                raise UserError(
                    f"--fused_attention is for GPUs of {needed} or newer, and this run is on "
                    f"{there or f'{devices.kind}s'}: leave it out"
                )
            check_fused_attention(self.config, devices.dtype)
        replicas = devices.strategy.num_replicas_in_sync
        if self.can_evaluate and self.options.eval_batch_size % replicas:
            raise UserError(
                f"--eval_batch_size={self.options.eval_batch_size} can't be divided by {replicas} replicas: take "
                f"a multiple of {replicas}"
            )
        if self.can_evaluate:
            longest = max(phase.options.max_seq_length for phase in self.phases)
            check_memory(
                self.options.eval_batch_size * longest * BYTES_PER_TOKEN,
                f"an evaluation batch of --eval_batch_size={self.options.eval_batch_size}",
                "take a smaller one",
            )

    def evaluate(self, run: RunningModel) -> Evaluation:
        number = self._phase_after(run.step - 1)
        if number not in self._evaluation_passes:
            strategy, size, most = (
                run.devices.strategy,
                self.options.eval_batch_size,
                self.options.evaluation_batches,
            )
            given, (_, parse) = self.phases[number].eval_records.files, self._parsers[number]
            batches = -(-given.num_examples // size)
            # Against the records alone, whatever is learnt from.
            objective = make_objective(run.model, self.options.losses, self.mask_id)
            self._evaluation_passes[number] = EvaluationPass(
                objective,
                lambda: strategy.distribute_datasets_from_function(
                    lambda context: evaluation_dataset(given, parse, size, context, most)
                ),
                min(batches, most or batches),
                strategy,
                run.devices.jit_compile,
                run.check_stop,
            )
        return Evaluation(run.step, self._evaluation_passes[number]())

    def show_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
        """What the model fills into the masks of a few examples."""
        if self.vocabulary is not None and not self.config.causal:
            header = ("", "before", "shown", "after", "hidden", "predicted")
            run.observers.notify(
                "table", run.step, "eval/samples", header, lambda: self._samples(run)
            )

    def _samples(self, run: RunningModel) -> list[tuple[str, ...]]:
        number = self._phase_after(run.step - 1)
        if number not in self._fillings:
            features = next(
                iter(
                    evaluation_dataset(
                        self.phases[number].eval_records.files,
                        self._parsers[number][1],
                        _EXAMPLES_SHOWN,
                        tf.distribute.InputContext(1, 0, 1),
                    )
                )
            )
            self._fillings[number] = (
                {name: value.numpy() for name, value in features.items()},
                tf.function(
                    lambda: tf.argmax(run.model(features)["masked_lm_logits"], axis=-1),
                    autograph=False,
                ),
            )
        features, fill = self._fillings[number]
        token_of, rows = self.vocabulary.token_of, []
        for ids, *predictions in zip(
            features["input_ids"].tolist(),
            *(features[f"masked_lm_{name}"].tolist() for name in ("positions", "ids", "weights")),
            fill().numpy().tolist(),
            strict=True,
        ):
            for place, label, weight, filled in zip(*predictions, strict=True):
                if weight > 0:
                    before, after = (
                        " ".join(map(token_of, part))
                        for part in (
                            ids[max(place - _CONTEXT, 0) : place],
                            ids[place + 1 : place + 1 + _CONTEXT],
                        )
                    )
                    rows.append(
                        (
                            "✓" if filled == label else "✗",
                            before,
                            token_of(ids[place]),
                            after,
                            token_of(label),
                            token_of(filled),
                        )
                    )
        return rows

    def write_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
        options, number = self.options, self._phase_after(run.step - 1)
        given, most = self.phases[number].eval_records, options.evaluation_batches
        read = (
            given.files.num_examples
            if most is None
            else min(given.files.num_examples, most * options.eval_batch_size)
        )
        examples = round(read * given.sequences_per_record)
        if self.config.causal:
            run.log(write_eval_results(options.output_dir, evaluation, examples))
            return
        baselines = measure_baselines(
            evaluation_dataset(
                given.files,
                self._parsers[number][1],
                options.eval_batch_size,
                tf.distribute.InputContext(1, 0, 1),
                options.evaluation_batches,
            ).as_numpy_iterator(),
            self.mask_id,
        )
        metrics = {**evaluation.metrics, **baselines}
        results = dataclasses.replace(
            evaluation, metrics=metrics, warning=warn_of_guessing(metrics)
        )
        run.log(write_eval_results(options.output_dir, results, examples))
        if results.degenerate:
            run.log(f"warning: {results.degenerate}")

    def plan(self, run: RunningModel) -> str:
        options, devices, step = self.options, run.devices, run.step
        lines = [("devices", f"{devices}, {devices.xla}"), ("model", run.describe_model())]
        for phase in self.phases:
            given, size, length = (
                phase.train_records,
                phase.options.train_batch_size,
                phase.options.max_seq_length,
            )
            steps = max(phase.last_step - max(step, phase.first_step), 0)
            rows, count = size / given.sequences_per_record, len(given.files.paths)
            packed = f" in {rows:.1f} rows" if given.schema.is_packed else ""
            lines += [
                ("data", f"{given.describe()}, in {count} file{'s' if count > 1 else ''}"),
                (
                    "ahead",
                    f"{steps:,} steps of {size} examples{packed} = {round(steps * rows * length):,} tokens = "
                    f"{steps * size / given.num_sequences:.2f} epochs",
                ),
            ]
        if devices.kind == "CPU" and (
            time := describe_time(self.workload(devices).flops_ahead(step), devices)
        ):
            lines.append(("time", time))
        if options.num_warmup_steps >= options.num_train_steps:
            lines.append(
                (
                    "note",
                    f"--num_warmup_steps={options.num_warmup_steps} is not less than --num_train_steps: the "
                    "learning rate never reaches --learning_rate",
                )
            )
        if self.can_evaluate and not options.eval_file:
            lines.append(("note", "no --eval_file: evaluation reads the training data"))
        return "\n".join(f"{name:8} {text}" for name, text in lines)

    def explain(self, error: Exception, log: Callable[[str], None]) -> None:
        if isinstance(
            error,
            (
                tf.errors.DataLossError,
                tf.errors.NotFoundError,
                tf.errors.InvalidArgumentError,
                UnicodeDecodeError,
            ),
        ):
            log("reading failed; looking for the record that is wrong")
            for phase in self.phases:
                for given in dict.fromkeys((phase.train_records, phase.eval_records)):
                    data.check_all_records(given, self.config)


# What `run_pretraining.py` does; see `bert_tf/runs/run.py`.
run = functools.partial(driver.run, PretrainingTask)


def measure_baselines(
    batches: Iterable[Mapping[str, np.ndarray]], mask_id: int | None
) -> dict[str, float]:
    """The masked-LM accuracies of three rules that need no model.

    Of the tokens to predict a tenth stand in the sequence as they are, and who repeats whatever is
    visible has them. So an accuracy says little without that of copying beside it, and without that
    at [MASK] alone.

    Args:
      batches: records or batches of them: int "input_ids" [..., S], "masked_lm_positions" and
        "masked_lm_ids" [..., P], float "masked_lm_weights" [..., P], and optionally
        "is_real_example" [...].
      mask_id: of [MASK]; None where there is none, nor the last two accuracies.

    Returns:
      "masked_lm_baseline_most_frequent": always the most frequent token; "…_copying": the visible
      token, and at [MASK] the most frequent one there; "…_at_mask": the same, at [MASK] alone.
    """
    # Label → how often it is right, elsewhere and at [MASK].
    elsewhere: collections.Counter[int] = collections.Counter()
    at_mask: collections.Counter[int] = collections.Counter()
    copied = 0
    for features in batches:
        counts = features["masked_lm_weights"] > 0
        if "is_real_example" in features:
            counts &= np.reshape(features["is_real_example"], (-1, 1)) > 0
        label = features["masked_lm_ids"][counts]
        visible = np.take_along_axis(
            features["input_ids"], features["masked_lm_positions"], axis=-1
        )[counts]
        is_mask = visible == (-1 if mask_id is None else mask_id)
        elsewhere.update(label[~is_mask].tolist())
        at_mask.update(label[is_mask].tolist())
        copied += int((visible == label).sum())
    labels = elsewhere + at_mask
    total, guessed = max(labels.total(), 1), max(at_mask.values(), default=0)
    found = {"most_frequent": max(labels.values(), default=0) / total}
    if at_mask:
        found |= {"copying": (copied + guessed) / total, "at_mask": guessed / at_mask.total()}
    return {f"masked_lm_baseline_{name}": share for name, share in found.items()}


def warn_of_guessing(metrics: Mapping[str, float]) -> str | None:
    """Why a model is no better than guessing, in one line; None where it is. The metrics have the
    baselines, too."""
    accuracy, guessing, where = (
        metrics["masked_lm_accuracy"],
        metrics["masked_lm_baseline_most_frequent"],
        "",
    )
    if {"masked_lm_accuracy_at_mask", "masked_lm_baseline_at_mask"} <= set(metrics):
        accuracy, guessing = (
            metrics["masked_lm_accuracy_at_mask"],
            metrics["masked_lm_baseline_at_mask"],
        )
        where = " at [MASK]"
    if accuracy > _SMALLEST_GAIN * guessing:
        return None
    return (
        f"masked-LM accuracy{where} is {accuracy:.2%}, and {guessing:.2%} by always guessing the most frequent token"
        ": the model has learnt little but frequencies: raise --num_train_steps or --learning_rate, or start from a "
        "checkpoint with --init_checkpoint"
    )
