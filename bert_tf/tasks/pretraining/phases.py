"""Phases of pre-training: the records of each, and where it lies in the run (section A.2 of the paper).

A run has one phase, or trains on sequences of several lengths one after the other, under one learning-rate schedule.
"""

import dataclasses
import math
from collections.abc import Callable

from bert_common import files
from bert_common.errors import UserError
from bert_common.options import declared_options
from bert_tf.tasks.pretraining import data
from bert_tf.tasks.pretraining.data import PretrainingRecords
from bert_tf.tasks.pretraining.dynamic_masking import masker
from bert_tf.tasks.pretraining.input_groups import choose_groups
from bert_tf.tasks.pretraining.options import PretrainingOptions
from bert_tf.tasks.pretraining.vocabulary import read_notes
from bert_tf.training.devices import Devices
from bert_tf.training.inputs import BatchSizes
from data_gen.pretraining import records
from data_gen.pretraining.masking import Masking, MaskingRatios
from data_gen.pretraining.record_files import find_records
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.config import BertConfig

_MASKING_OPTIONS = ("masked_lm_prob", "masking", "do_whole_word_mask")


@dataclasses.dataclass(frozen=True)
class Phase:
  """Steps that train on the same records.

  Attributes:
    options: those of the run, with the lengths, batch size and records of the phase.
    first_step, last_step: updates made before it, and at its end.
    first_record: place in the stream of examples at which it begins.
    train_records, eval_records: checked; the same where there is nothing held out.
    groups: into how many the files of `train_records` are dealt; the same in all phases.
  """

  options: PretrainingOptions
  first_step: int
  last_step: int
  first_record: int
  train_records: PretrainingRecords
  eval_records: PretrainingRecords
  groups: int = 1

  @property
  def tokens_per_example(self) -> float:
    """Tokens that are computed for an example, padding included."""
    return self.options.max_seq_length / self.train_records.sequences_per_record

  def num_predictions(self, config: BertConfig) -> int:
    """Positions of a row that are projected to the vocabulary."""
    return self.options.max_seq_length if config.causal else self.options.max_predictions_per_seq

  def batch_sizes(self, devices: Devices | None = None) -> BatchSizes:
    """Records of its steps."""
    options, (rows, sequences) = self.options, self.train_records.sampled
    if not self.train_records.schema.is_packed:
      return BatchSizes((options.train_batch_size,), first=self.first_record)
    parts = (devices.strategy.num_replicas_in_sync if devices else 1) * options.gradient_accumulation_steps
    # Compiled code has one size, and so have replicas and micro-batches.
    is_fixed = parts > 1 or (devices is not None and (devices.jit_compile or devices.kind == "TPU"))
    return BatchSizes.packed(options.train_batch_size, rows, sequences, parts if is_fixed else None, self.first_record,
                             self.groups)

  def parsers(self, config: BertConfig, vocabulary: Vocabulary | None) -> tuple[Callable, Callable]:
    """How training and evaluation records are parsed, see `data.parser`."""
    return tuple(self._parser(given, config, vocabulary) for given in (self.train_records, self.eval_records))

  def packing_notes(self, config: BertConfig) -> list[str]:
    """Warnings of rows without masks that were packed for other masks than training makes."""
    options, notes = self.options, []
    for given in dict.fromkeys((self.train_records, self.eval_records)):
      if config.causal or given.schema.has_masks or not given.schema.is_packed:
        continue
      for note in read_notes(given.flag, given.files.paths):
        made, now = ((one.max_predictions_per_seq, one.masked_lm_prob) for one in (note, options))
        if None not in made and made != now:
          notes.append(f"warning: --{note.flag}: {note.paths[0]} was packed for --max_predictions_per_seq={made[0]} "
                       f"and --masked_lm_prob={made[1]:g}, not {now[0]} and {now[1]:g}: rows may lack room for some of "
                       "the predictions")
    return notes

  def _parser(self, given: PretrainingRecords, config: BertConfig, vocabulary: Vocabulary | None) -> Callable:
    # Left-to-right models predict every token.
    if given.schema.has_masks or config.causal:
      return data.parser(given.schema, config)
    options = self.options
    if vocabulary is None:
      raise UserError(f"--{given.flag}: the records have no masks, and nothing tells their vocabulary: give "
                      "--vocab_file")
    masking = Masking(
        options.max_predictions_per_seq, options.masked_lm_prob, MaskingRatios.parse(options.masking),
        vocabulary.size, vocabulary.mask_id, vocabulary.is_continuation if options.do_whole_word_mask else None)
    return data.parser(given.schema, config, masker(given.schema, masking, options.seed))


def find_phases(options: PretrainingOptions, config: BertConfig) -> list[Phase]:
  """Looks at the records of all phases."""
  found = []
  for one, first, last in options.phase_options():
    if options.phases:
      one = _complete(one)
    lengths = (one.max_seq_length, one.max_predictions_per_seq)
    train_records = data.check_records(one.input_file, "phases" if options.phases else "input_file", config, *lengths)
    eval_records = train_records
    if one.eval_file:
      eval_records = data.check_records(one.eval_file, "eval_file", config, *lengths)
    _check(one, train_records, eval_records)
    found.append((one, first, last, train_records, eval_records))
  groups = choose_groups(options, [(len(records.files.paths), one.train_batch_size) for one, _, _, records, _ in found])
  phases, place = [], 0
  for one, first, last, train_records, eval_records in found:
    phases.append(Phase(one, first, last, place, train_records, eval_records, groups))
    place = phases[-1].batch_sizes().place(last - first)
  return phases


def _complete(options: PretrainingOptions) -> PretrainingOptions:
  """The predictions of a phase's records, and those files of --eval_file that are of its length."""
  paths = find_records(options.input_file, "phases")
  found = records.inspect_first_record(paths[0]).schema
  if found.max_seq_length != options.max_seq_length:
    raise UserError(f"--phases: the first record of {paths[0]} was made with max_seq_length={found.max_seq_length}, "
                    f"not {options.max_seq_length}")
  predictions = found.max_predictions_per_seq or math.ceil(options.max_seq_length * options.masked_lm_prob) + 1
  eval_file = None
  if options.eval_file:
    paths = [path for path in find_records(options.eval_file, "eval_file")
             if records.inspect_first_record(path).schema.max_seq_length == options.max_seq_length]
    if not paths:
      raise UserError(f"--eval_file has no records of {options.max_seq_length} tokens: each phase is evaluated on "
                      "records of its own length")
    eval_file = ",".join(map(files.escape_pattern, paths))
  return options.replace(max_predictions_per_seq=predictions, eval_file=eval_file)


def _check(options: PretrainingOptions, train_records: PretrainingRecords, eval_records: PretrainingRecords) -> None:
  mean = train_records.sequences_per_record
  if options.do_train and options.train_batch_size < mean:
    raise UserError(f"--train_batch_size={options.train_batch_size} is less than the {mean:.2f} sequences that a row "
                    f"of --{train_records.flag} holds: take at least {math.ceil(mean)}")
  changed = [one.name for one in declared_options(PretrainingOptions)
             if one.name in _MASKING_OPTIONS and getattr(options, one.name) != one.default]
  # Masks of an evaluation may be those of its records, whatever training makes.
  given = train_records if options.do_train else eval_records
  if changed and given.schema.has_masks:
    raise UserError(f"--{changed[0]}: the records of --{given.flag} are masked already: leave it out, or make them "
                    "with --dynamic_masking")
