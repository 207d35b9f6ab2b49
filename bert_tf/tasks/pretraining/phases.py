"""Phases of pre-training: the records of each, and its steps (section A.2 of the paper).

A run has one phase, or trains on sequences of several lengths one after the other, under one
learning-rate schedule. The files of all phases are dealt into the same number of groups
(`bert_tf/training/inputs.py`). This number belongs to the run: with another one the rest of an
epoch would repeat records and leave out others. The number of processes may change as long as it
divides the number of groups.
"""

import dataclasses
import glob
import math
from collections.abc import Callable, Sequence

from bert_common.errors import UserError
from bert_common.options import declared_options
from bert_tf.tasks.pretraining import data
from bert_tf.tasks.pretraining.data import PretrainingRecords
from bert_tf.tasks.pretraining.options import PretrainingOptions
from bert_tf.training.batches import BatchSizes
from bert_tf.training.cluster import cluster_of
from bert_tf.training.devices import Devices
from bert_tf.training.phases import Phase
from bert_tf.training.run_directory import read_flags
from data_gen.pretraining import records
from data_gen.pretraining.masking import Masking, MaskingRatios
from data_gen.pretraining.records import find_records
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.checkpoints.tensorflow_files import latest_checkpoint
from modeling.config import BertConfig

# Options of making masks, which have no effect on records that contain masks.
_MASKING_OPTIONS = ("masked_lm_prob", "masking", "do_whole_word_mask")
# Reading all files keeps more processes than this from their own shares; the measurement is in
# docs/many_machines.md.
_PROCESSES_READING_ALL = 3


@dataclasses.dataclass(frozen=True)
class PretrainingPhase(Phase):
    """Steps that train on the same records.

    Attributes:
      options: the run's, with the lengths, batch size and records of the phase.
      train_records, eval_records: checked records; the same object if nothing is held out.
      first_record: position in the stream of examples at which the phase begins.
      groups: number of groups into which the files of `train_records` are dealt; the same in all
        phases.
    """

    options: PretrainingOptions
    train_records: PretrainingRecords
    eval_records: PretrainingRecords
    first_record: int = 0
    groups: int = 1

    def batch_sizes(self, devices: Devices | None = None) -> BatchSizes:
        """Returns the number of records of each step."""
        options = self.options
        if not self.train_records.schema.is_packed:
            return BatchSizes((options.train_batch_size,), first=self.first_record)
        parts = options.gradient_accumulation_steps
        # Compiled code has one size, and so have replicas and micro-batches.
        is_fixed = parts > 1
        if devices is not None:
            parts *= devices.strategy.num_replicas_in_sync
            is_fixed = parts > 1 or devices.jit_compile or devices.kind == "TPU"
        rows, sequences = self.train_records.sampled
        return BatchSizes.packed(
            options.train_batch_size,
            rows,
            sequences,
            parts if is_fixed else None,
            self.first_record,
            self.groups,
        )

    def describe(self) -> str:
        """Returns a description for the user."""
        return f"{self.options.max_seq_length} tokens, {super().describe()}"

    def parsers(
        self, config: BertConfig, vocabulary: Vocabulary | None, in_graph: bool = False
    ) -> list[Callable]:
        """Returns the functions that parse records for training and for evaluation.

        See `data.parser`, and `data.masker` for `in_graph`. Raises `UserError` if masks must be
        made without a vocabulary.
        """
        parsers = []
        for pretraining_records in (self.train_records, self.eval_records):
            schema = pretraining_records.schema
            masker = None
            # Left-to-right models predict every token and need no masks.
            if not schema.has_masks and not config.causal:
                if vocabulary is None:
                    raise UserError(
                        f"--{pretraining_records.flag}: the records have no masks, and their "
                        "vocabulary is unknown: give --vocab_file"
                    )
                masker = data.masker(
                    schema,
                    self._masking(vocabulary),
                    self.options.seed,
                    self.options.masked_lm_probs,
                    in_graph,
                )
            parsers.append(data.parser(schema, config, masker))
        return parsers

    def evaluation_parser_at(
        self, masked_lm_prob: float, config: BertConfig, vocabulary: Vocabulary, in_graph: bool
    ) -> Callable:
        """Returns the function that parses the evaluation's records, so many tokens masked."""
        options = self.options
        masking = dataclasses.replace(
            self._masking(vocabulary),
            max_predictions_per_seq=math.ceil(options.max_seq_length * masked_lm_prob),
            masked_lm_prob=masked_lm_prob,
        )
        schema = self.eval_records.schema
        masker = data.masker(schema, masking, options.seed, in_graph=in_graph)
        return data.parser(schema, config, masker)

    def _masking(self, vocabulary: Vocabulary) -> Masking:
        options = self.options
        return Masking(
            options.max_predictions_per_seq,
            options.masked_lm_prob[0],
            MaskingRatios.parse(options.masking),
            vocabulary.size,
            vocabulary.mask_id,
            vocabulary.is_continuation if options.do_whole_word_mask else None,
        )


def find_phases(options: PretrainingOptions, config: BertConfig) -> list[PretrainingPhase]:
    """Checks the records of all phases, and returns the phases of the run."""
    checked = []
    for phase_options, first_step, last_step in options.phase_options():
        flag = "input_file"
        if options.phases:
            flag = "phases"
            phase_options = _complete_options(phase_options)
        train_records = data.check_records(
            phase_options.input_file,
            flag,
            config,
            phase_options.max_seq_length,
            phase_options.max_predictions_per_seq,
        )
        if phase_options.eval_file:
            eval_records = data.check_records(
                phase_options.eval_file,
                "eval_file",
                config,
                phase_options.max_seq_length,
                phase_options.max_predictions_per_seq,
            )
        else:
            eval_records = train_records
        phase = PretrainingPhase(
            first_step=first_step,
            last_step=last_step,
            batch_size=phase_options.train_batch_size,
            # Number of tokens of an example, padding included.
            tokens=phase_options.max_seq_length / train_records.sequences_per_record,
            flops=0.0,
            options=phase_options,
            train_records=train_records,
            eval_records=eval_records,
        )
        _check_phase(phase, config)
        checked.append(phase)
    return _placed(checked, _choose_groups(options, checked))


def resize(
    phases: Sequence[PretrainingPhase], options: PretrainingOptions
) -> list[PretrainingPhase]:
    """Returns the phases of a run on the same records under options with other batch sizes."""
    resized = []
    for phase, (phase_options, _, _) in zip(phases, options.phase_options(), strict=True):
        sizes = {
            "train_batch_size": phase_options.train_batch_size,
            "eval_batch_size": phase_options.eval_batch_size,
        }
        phase = dataclasses.replace(
            phase,
            batch_size=phase_options.train_batch_size,
            options=phase.options.replace(**sizes),
        )
        resized.append(phase)
    return _placed(resized, phases[0].groups)


def _placed(phases: Sequence[PretrainingPhase], groups: int) -> list[PretrainingPhase]:
    """Returns the phases with their positions in the stream of examples."""
    placed = []
    # A phase begins in the stream where the one before it has ended.
    first_record = 0
    for phase in phases:
        phase = dataclasses.replace(phase, first_record=first_record, groups=groups)
        placed.append(phase)
        first_record = phase.batch_sizes().place(phase.last_step - phase.first_step)
    return placed


def _complete_options(options: PretrainingOptions) -> PretrainingOptions:
    """Returns the options of one of several phases with its predictions and evaluation files.

    --max_predictions_per_seq is taken from the records; --eval_file is reduced to the files with
    records of the phase's length.
    """
    length = options.max_seq_length
    first_path = find_records(options.input_file, "phases")[0]
    # Other records of the phase are checked against the first one by `check_records`.
    schema = records.inspect_first_record(first_path).schema
    if schema.max_seq_length != length:
        raise UserError(
            f"--phases: the first record of {first_path} was made with "
            f"max_seq_length={schema.max_seq_length}, not {length}"
        )
    if schema.has_masks:
        max_predictions = schema.max_predictions_per_seq
    else:
        # Records without masks do not limit the predictions: rounding adds one at most.
        max_predictions = math.ceil(length * options.masked_lm_prob[0]) + 1
    options = options.replace(max_predictions_per_seq=max_predictions)
    if options.eval_file:
        paths = []
        for path in find_records(options.eval_file, "eval_file"):
            if records.inspect_first_record(path).schema.max_seq_length == length:
                paths.append(glob.escape(path))
        if not paths:
            raise UserError(
                f"--eval_file has no records of {length} tokens: each phase is evaluated on "
                "records of its own length"
            )
        options = options.replace(eval_file=",".join(paths))
    return options


def _check_phase(phase: PretrainingPhase, config: BertConfig) -> None:
    """Raises `UserError` for options that do not fit the records of a phase."""
    options = phase.options
    sequences = phase.train_records.sequences_per_record
    if options.do_train and options.train_batch_size < sequences:
        raise UserError(
            f"--train_batch_size={options.train_batch_size} is less than the {sequences:.2f} "
            f"sequences that a row of --{phase.train_records.flag} holds: take at least "
            f"{math.ceil(sequences)}"
        )
    # A masking option would silently have no effect on records that contain masks.
    changed = []
    for option in declared_options(PretrainingOptions):
        if option.name in _MASKING_OPTIONS and getattr(options, option.name) != option.default:
            changed.append(option.name)
    # Evaluation may read records with masks, even if training makes masks by other rules.
    masked_records = phase.train_records if options.do_train else phase.eval_records
    if changed and masked_records.schema.has_masks:
        raise UserError(
            f"--{changed[0]}: the records of --{masked_records.flag} are masked already: leave it "
            "out, or make them with --dynamic_masking"
        )
    if options.eval_masked_lm_prob:
        if config.causal:
            raise UserError("--eval_masked_lm_prob: a left-to-right model predicts every token")
        if phase.eval_records.schema.has_masks:
            raise UserError(
                f"--eval_masked_lm_prob: the records of --{phase.eval_records.flag} are masked "
                "already: make them with --dynamic_masking"
            )
    masked_lm_prob = options.masked_lm_prob[0]
    predictions = round(options.max_seq_length * masked_lm_prob)
    # Left-to-right models predict every token.
    if "masked_lm_prob" in changed and not config.causal:
        if predictions > options.max_predictions_per_seq:
            raise UserError(
                f"--masked_lm_prob={masked_lm_prob:g} predicts up to {predictions} of "
                f"{options.max_seq_length} tokens: give --max_predictions_per_seq={predictions}, "
                "in the generation of packed records, too"
            )


def _choose_groups(options: PretrainingOptions, phases: Sequence[PretrainingPhase]) -> int:
    """Returns the number of groups: as a run was begun, else by the flag, else by rule."""
    if not options.do_train:
        return 1
    stored_groups = None
    if latest_checkpoint(options.output_dir) is not None:
        # Versions without this option had one group.
        stored_groups = read_flags(options.output_dir).get("input_groups") or 1
        if options.input_groups not in (None, stored_groups):
            raise UserError(
                f"--input_groups={options.input_groups}: the run in {options.output_dir} was begun "
                f"with {stored_groups}; with another number the rest of an epoch repeats records "
                "and leaves out others: leave the flag out"
            )
    cluster = cluster_of(options.strategy_kind, options.tpu_name)
    processes = len(cluster.names) if cluster else 1
    source = f"--input_groups={options.input_groups}"
    groups = options.input_groups
    if groups is None and stored_groups is not None:
        groups = stored_groups
        source = f"--input_groups={groups}, with which the run was begun"
    if groups is None:
        # Fall back to one group, which always fits, if processes can't have a group each.
        if processes > _PROCESSES_READING_ALL and not _group_problem(processes, phases, processes):
            return processes
        return 1
    problem = _group_problem(groups, phases, processes)
    if problem:
        raise UserError(f"{source}: {problem}")
    return groups


def _group_problem(groups: int, phases: Sequence[PretrainingPhase], processes: int) -> str | None:
    """Returns why files, batches or processes can't be divided into groups; None if they can."""
    if groups == 1:
        return None
    for phase in phases:
        num_files = len(phase.train_records.files.paths)
        if num_files < groups:
            return (
                f"there are {num_files} record files, and each group needs one: make more "
                "(--output_file=NAME@SHARDS)"
            )
        if phase.options.train_batch_size % groups:
            return f"--train_batch_size={phase.options.train_batch_size} can't be divided by it"
    # Each process reads whole groups only.
    if groups % processes:
        return f"{processes} processes can't share them: start as many as divide {groups}"
    return None
