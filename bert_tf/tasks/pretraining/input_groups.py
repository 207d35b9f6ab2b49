"""Into how many groups the record files are dealt (`bert_tf/training/inputs.py`): as begun, as asked, or by rule.

The number belongs to the run: with another one the rest of an epoch would repeat records and leave out others. The
number of processes does not, as long as it divides that of the groups.
"""

from collections.abc import Sequence

from bert_common.errors import UserError
from bert_tf.tasks.pretraining.options import PretrainingOptions
from bert_tf.training.devices import cluster_of
from bert_tf.training.run_directory import read_flags
from modeling.checkpoints.tensorflow_files import latest_checkpoint

# Beyond that, reading everything keeps a process from its own share; docs/scale.md has the measurement.
_PROCESSES_READING_ALL = 3


def choose_groups(options: PretrainingOptions, phases: Sequence[tuple[int, int]]) -> int:
  """The groups of a run.

  Args:
    phases: of each how many files it has, and its batch size.

  Raises:
    UserError: there are fewer files, or they don't divide the batch size or the number of processes; the run that is
      resumed has another number, and --input_order_may_change is not given.
  """
  if not options.do_train:
    return 1
  asked, begun = options.input_groups, None
  if latest_checkpoint(options.output_dir) is not None:
    # Earlier versions had one group.
    begun = read_flags(options.output_dir).get("input_groups") or 1
  if begun is not None and asked not in (None, begun) and not options.input_order_may_change:
    raise UserError(f"--input_groups={asked}: the run in {options.output_dir} was begun with {begun}; with another "
                    "number the rest of an epoch repeats records and leaves out others: leave it out, or give "
                    "--input_order_may_change")
  cluster = cluster_of(options.strategy_kind, options.tpu_name)
  processes = len(cluster.names) if cluster else 1
  groups = asked or begun
  if groups is None:
    groups = processes if processes > _PROCESSES_READING_ALL and _misfit(processes, processes, phases) is None else 1
  misfit = _misfit(groups, processes, phases)
  if misfit:
    raise UserError(f"--input_groups={groups}{'' if asked else ', with which the run was begun'}: {misfit}")
  return groups


def _misfit(groups: int, processes: int, phases: Sequence[tuple[int, int]]) -> str | None:
  if groups == 1:
    return None
  for num_files, batch_size in phases:
    if num_files < groups:
      return f"there are {num_files} record files, and each group needs one: make more (--output_file=NAME@SHARDS)"
    if batch_size % groups:
      return f"--train_batch_size={batch_size} can't be divided by it"
  if groups % processes:
    return f"{processes} processes can't share them: start as many as divide {groups}"
  return None
