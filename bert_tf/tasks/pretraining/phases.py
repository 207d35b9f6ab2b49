"""Phases of pre-training: the records of each, and where it lies in the run (section A.2 of the
paper).

A run has one phase, or trains on sequences of several lengths one after the other, under one
learning-rate schedule. The files of all phases are dealt into the same number of groups
(`bert_tf/training/inputs.py`). It belongs to the run: with another one the rest of an epoch would
repeat records and leave out others. The number of processes does not, as long as it divides that of
the groups.
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

_MASKING_OPTIONS = ("masked_lm_prob", "masking", "do_whole_word_mask")
# With more, reading everything keeps a process from its own share; docs/many_machines.md has the
# measurement.
_PROCESSES_READING_ALL = 3


@dataclasses.dataclass(frozen=True)
class PretrainingPhase(Phase):
    """Steps that train on the same records.

    Attributes:
      options: those of the run, with the lengths, batch size and records of the phase.
      train_records, eval_records: checked; the same where there is nothing held out.
      first_record: place in the stream of examples at which it begins.
      groups: into how many the files of `train_records` are dealt; the same in all phases.
    """

    options: PretrainingOptions
    train_records: PretrainingRecords
    eval_records: PretrainingRecords
    first_record: int = 0
    groups: int = 1

    def batch_sizes(self, devices: Devices | None = None) -> BatchSizes:
        """Records of its steps."""
        options, (rows, sequences) = self.options, self.train_records.sampled
        if not self.train_records.schema.is_packed:
            return BatchSizes((options.train_batch_size,), first=self.first_record)
        parts = (
            devices.strategy.num_replicas_in_sync if devices else 1
        ) * options.gradient_accumulation_steps
        # Compiled code has one size, and so have replicas and micro-batches.
        is_fixed = parts > 1 or (
            devices is not None and (devices.jit_compile or devices.kind == "TPU")
        )
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

    def parsers(self, config: BertConfig, vocabulary: Vocabulary | None) -> list[Callable]:
        """How training and evaluation records are parsed, see `data.parser`."""
        options, found = self.options, []
        for given in (self.train_records, self.eval_records):
            mask = None
            # Left-to-right models predict every token.
            if not given.schema.has_masks and not config.causal:
                if vocabulary is None:
                    raise UserError(
                        f"--{given.flag}: the records have no masks, and their vocabulary is unknown: give "
                        "--vocab_file"
                    )
                mask = data.masker(
                    given.schema,
                    Masking(
                        options.max_predictions_per_seq,
                        options.masked_lm_prob[0],
                        MaskingRatios.parse(options.masking),
                        vocabulary.size,
                        vocabulary.mask_id,
                        vocabulary.is_continuation if options.do_whole_word_mask else None,
                    ),
                    options.seed,
                    options.masked_lm_probs,
                )
            found.append(data.parser(given.schema, config, mask))
        return found


def find_phases(options: PretrainingOptions, config: BertConfig) -> list[PretrainingPhase]:
    """Looks at the records of all phases."""
    found = []
    for one, first, last in options.phase_options():
        if options.phases:
            # The predictions of a phase's records, and those files of --eval_file that are of its
            # length.
            paths = find_records(one.input_file, "phases")
            schema = records.inspect_first_record(paths[0]).schema
            if schema.max_seq_length != one.max_seq_length:
                raise UserError(
                    f"--phases: the first record of {paths[0]} was made with max_seq_length="
                    f"{schema.max_seq_length}, not {one.max_seq_length}"
                )
            predictions = (
                schema.max_predictions_per_seq
                or math.ceil(one.max_seq_length * one.masked_lm_prob[0]) + 1
            )
            one = one.replace(max_predictions_per_seq=predictions)
            if options.eval_file:
                paths = [
                    path
                    for path in find_records(options.eval_file, "eval_file")
                    if records.inspect_first_record(path).schema.max_seq_length
                    == one.max_seq_length
                ]
                if not paths:
                    raise UserError(
                        f"--eval_file has no records of {one.max_seq_length} tokens: each phase is evaluated on "
                        "records of its own length"
                    )
                one = one.replace(eval_file=",".join(map(glob.escape, paths)))
        lengths = (one.max_seq_length, one.max_predictions_per_seq)
        train_records = data.check_records(
            one.input_file, "phases" if options.phases else "input_file", config, *lengths
        )
        eval_records = (
            data.check_records(one.eval_file, "eval_file", config, *lengths)
            if one.eval_file
            else train_records
        )
        mean = train_records.sequences_per_record
        if one.do_train and one.train_batch_size < mean:
            raise UserError(
                f"--train_batch_size={one.train_batch_size} is less than the {mean:.2f} sequences that a row of "
                f"--{train_records.flag} holds: take at least {math.ceil(mean)}"
            )
        changed = [
            option.name
            for option in declared_options(PretrainingOptions)
            if option.name in _MASKING_OPTIONS and getattr(one, option.name) != option.default
        ]
        # Masks of an evaluation may be those of its records, whatever training makes.
        given = train_records if one.do_train else eval_records
        if changed and given.schema.has_masks:
            raise UserError(
                f"--{changed[0]}: the records of --{given.flag} are masked already: leave it out, or make them "
                "with --dynamic_masking"
            )
        most = round(one.max_seq_length * one.masked_lm_prob[0])
        if "masked_lm_prob" in changed and most > one.max_predictions_per_seq and not config.causal:
            raise UserError(
                f"--masked_lm_prob={one.masked_lm_prob[0]:g} predicts up to {most} of {one.max_seq_length} "
                f"tokens: give --max_predictions_per_seq={most}, in the generation of packed records, too"
            )
        found.append(
            PretrainingPhase(
                first_step=first,
                last_step=last,
                batch_size=one.train_batch_size,
                # Of an example, padding included.
                tokens=one.max_seq_length / mean,
                flops=0.0,
                options=one,
                train_records=train_records,
                eval_records=eval_records,
            )
        )
    groups, phases, place = _choose_groups(options, found), [], 0
    for phase in found:
        phases.append(dataclasses.replace(phase, first_record=place, groups=groups))
        place = phases[-1].batch_sizes().place(phase.last_step - phase.first_step)
    return phases


def _choose_groups(options: PretrainingOptions, phases: Sequence[PretrainingPhase]) -> int:
    """The groups of a run: as begun, as asked, or by rule."""
    if not options.do_train:
        return 1
    asked, begun = options.input_groups, None
    if latest_checkpoint(options.output_dir) is not None:
        # Earlier versions had one group.
        begun = read_flags(options.output_dir).get("input_groups") or 1
    if begun is not None and asked not in (None, begun):
        raise UserError(
            f"--input_groups={asked}: the run in {options.output_dir} was begun with {begun}; with another "
            "number the rest of an epoch repeats records and leaves out others: leave the flag out"
        )
    cluster = cluster_of(options.strategy_kind, options.tpu_name)
    processes = len(cluster.names) if cluster else 1

    def misfit(groups: int) -> str | None:
        for phase in phases if groups > 1 else ():
            num_files, batch_size = (
                len(phase.train_records.files.paths),
                phase.options.train_batch_size,
            )
            if num_files < groups:
                return f"there are {num_files} record files, and each group needs one: make more (--output_file=NAME@SHARDS)"
            if batch_size % groups:
                return f"--train_batch_size={batch_size} can't be divided by it"
        if groups > 1 and groups % processes:
            return f"{processes} processes can't share them: start as many as divide {groups}"
        return None

    by_rule = processes if processes > _PROCESSES_READING_ALL and misfit(processes) is None else 1
    groups = asked or begun or by_rule
    if problem := misfit(groups):
        raise UserError(
            f"--input_groups={groups}{'' if asked else ', with which the run was begun'}: {problem}"
        )
    return groups
