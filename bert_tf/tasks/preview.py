"""What a run would need, read and write, for --dry_run.

Input: a task, and its model as the driver has made it. Output: lines for the user, beside `Task.plan`.
"""

from bert_tf.tasks.fine_tuning import FineTuningTask
from bert_tf.tasks.options import TENSORBOARD
from bert_tf.tasks.task import RunningModel, Task, count_parameters
from bert_tf.training.throughput import describe_time
from modeling import costs
from modeling.checkpoints.weights import original_names

# Of a weight that is trained, with Adam's two moments.
_VALUES_OF_TRAINED = 3


def describe(task: Task, run: RunningModel, plan: str | None) -> str:
  """What is known of time and memory, the files that are read, and what is written; one subject per line.

  Args:
    plan: that of the training; None where nothing is trained.
  """
  rows = []
  if plan is None:
    rows += [("devices", str(run.devices)), ("model", run.describe_model())]
  else:
    flops = task.workload(run.devices).flops_ahead(run.step)
    if flops and "\ntime " not in plan and (time := describe_time(flops, run.devices)):
      rows.append(("time", f"{time}; starting and evaluations come on top"))
    rows.append(("memory", _memory(task, run)))
  rows += [("reads", text) for text in _reads(task)] + [("writes", _writes(task, run, plan is not None))]
  return "\n".join(f"{name:12} {text}" for name, text in rows)


def _memory(task: Task, run: RunningModel) -> str:
  needed = max(stage.least_bytes for stage in task.workload(run.devices).stages)
  there = f"; this machine has {costs.shown(costs.machine_memory())}" if run.devices.kind == "CPU" else ""
  return f"at least {costs.shown(needed)} for a training step on a device{there}"


def _reads(task: Task) -> list[str]:
  """The flags that name what is read, and files that are found by them."""
  given = {name: path for name, path in task.options.path_options().items() if name != "output_dir"}
  found = task.data.files() if isinstance(task, FineTuningTask) else {}
  return [*(f"--{name}={','.join(path) if isinstance(path, tuple) else path}" for name, path in given.items()),
          *(f"{path} ({split})" for split, path in found.items() if path not in given.values())]


def _writes(task: Task, run: RunningModel, trains: bool) -> str:
  options = task.options
  if options.asks:
    return "nothing, answers are printed"
  if not trains:
    return f"{options.output_dir}: results"
  variables = original_names(run.model)
  trained = count_parameters({name: one for name, one in variables.items() if one.trainable})
  weights = count_parameters(variables)
  size = costs.BYTES_PER_FLOAT * (weights + (_VALUES_OF_TRAINED - 1) * trained)
  kept = f"the last {options.keep_checkpoint_max}" if options.keep_checkpoint_max else "all"
  best = f", the best weights ({costs.shown(costs.BYTES_PER_FLOAT * weights)})" if task.main_metric else ""
  places = "".join(f", {'TensorBoard' if name == TENSORBOARD else name}" for name in options.report_to)
  return (f"{options.output_dir}: a checkpoint of about {costs.shown(size)} every {options.save_checkpoints_steps} "
          f"steps and at the end, {kept} kept{best}, results{places}")
