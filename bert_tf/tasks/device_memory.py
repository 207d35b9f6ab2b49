"""Memory of the devices: what a training step takes, and what the user is told where it is not enough."""

import contextlib
from collections.abc import Callable, Iterator

import tensorflow as tf

from bert_common.errors import UserError
from bert_common.gpus import is_out_of_memory
from bert_tf.tasks.options import TrainingOptions
from bert_tf.tasks.task import Task
from bert_tf.training.devices import Devices
from modeling import memory


@contextlib.contextmanager
def explained(make_error: Callable[[], UserError]) -> Iterator[None]:
  """Raises another error where a device's memory does not suffice."""
  try:
    yield
  except tf.errors.OpError as error:
    if not is_out_of_memory(str(error)):
      raise
    raise make_error() from None


def describe_step(task: Task, devices: Devices, available: float | None) -> tuple[str, bool]:
  """What a training step takes of each device, for the user, and whether that is `available`, if that is known."""
  options, text = task.options, f"a step of --train_batch_size={task.options.train_batch_size}"
  if not task.step_shapes():
    return text, True
  precise = {"half_precision": devices.dtype != "float32", "recompute": options.recompute,
             "fused_attention": options.fused_attention}
  parts = devices.strategy.num_replicas_in_sync * options.gradient_accumulation_steps
  needed, rows, *shape = max((memory.step_bytes(task.config, rows / parts, *shape, **precise), rows, *shape)
                             for rows, *shape in task.step_shapes())
  text += f" takes about {memory.shown(needed)} of each device"
  if available is None:
    return text, True
  share = memory.fitting_rows(available, task.config, *shape, **precise) * parts / rows
  most = int(options.train_batch_size * share) // parts * parts
  return (f"{text}, which has {memory.shown(available)}: {f'about {most}' if most else 'not even one'} would fit",
          needed <= available)


def training_error(task: Task, devices: Devices) -> UserError:
  """What to do where a training step does not fit."""
  available = devices.memory or (memory.machine_memory() if devices.kind == "CPU" else None)
  return UserError(
      f"out of memory: {describe_step(task, devices, available)[0]}. Lower it; or keep it with "
      f"--gradient_accumulation_steps={2 * task.options.gradient_accumulation_steps} or --recompute, the results are "
      "the same; or shorten --max_seq_length. Other programs may use the memory, too (nvidia-smi)")


def prediction_error(options: TrainingOptions) -> UserError:
  """What to do where a batch of an evaluation or of predictions does not fit."""
  values = options.values()
  name = "predict_batch_size" if "predict_batch_size" in values else "eval_batch_size"
  return UserError(f"out of memory: a batch of --{name}={values[name]} does not fit into the device: lower it")
