"""The flags that all training scripts share: devices, precision, loops. A script adopts them:

    from common import run_flags
    flags.adopt_module_key_flags(run_flags)
"""

from absl import flags

from common import cli
from common.errors import UserError

FLAGS = flags.FLAGS

flags.DEFINE_integer("save_checkpoints_steps", 1000, "Steps between checkpoints.")
flags.DEFINE_integer("keep_checkpoint_max", 5, "How many checkpoints are kept; 0 for all.")
flags.DEFINE_integer("iterations_per_loop", 1000, "Steps inside one tf.function, between reports. Where it is not "
                     "given, as many as take a few seconds, at most 1000.")
flags.DEFINE_bool("optimizer_bias_correction", False, "Adam with bias correction, which the original does not have.")
flags.DEFINE_integer("gradient_accumulation_steps", 1, "Micro-batches that --train_batch_size is cut into, to save "
                     "memory; the result is the same.")
flags.DEFINE_enum("distribution_strategy", "auto", ["auto", "none", "mirrored", "multi_worker_mirrored", "tpu"],
                  "Devices to train on.")
flags.DEFINE_enum("precision", "auto", ["auto", "float32", "bfloat16", "float16"],
                  "Of the matrix products. auto: bfloat16 on TPUs and new GPUs, float16 on older ones, else float32.")
flags.DEFINE_enum("jit_compile", "auto", ["auto", "true", "false"], "Compile the whole step with XLA. auto: on "
                  "GPUs; on CPUs oneDNN is faster.")
flags.DEFINE_list("profile_steps", None, "FIRST,LAST: steps to record with the TensorFlow profiler.")
flags.DEFINE_bool("use_tpu", False, "As --distribution_strategy=tpu.")
flags.DEFINE_string("tpu_name", None, "Name or grpc:// address of the TPU; 'local' on a TPU VM.")
flags.DEFINE_string("tpu_zone", None, "Zone of the TPU.")
flags.DEFINE_string("gcp_project", None, "Project of the TPU.")
flags.DEFINE_string("master", None, "grpc:// address of the TPU, as --tpu_name.")
flags.DEFINE_integer("num_tpu_cores", 8, "Accepted for old command lines: the number of cores is read from the TPU.")


def options() -> dict[str, object]:
  """The flags as keyword arguments of `PretrainingOptions` and `FineTuningOptions`.

  Raises:
    UserError: they contradict each other.
  """
  from training.devices import TpuOptions

  if FLAGS.use_tpu and FLAGS.distribution_strategy not in ("auto", "tpu"):
    raise UserError(f"--use_tpu contradicts --distribution_strategy={FLAGS.distribution_strategy}")
  return {
      "save_checkpoints_steps": FLAGS.save_checkpoints_steps,
      "keep_checkpoint_max": FLAGS.keep_checkpoint_max,
      "iterations_per_loop": FLAGS.iterations_per_loop if "iterations_per_loop" in cli.given_flags() else None,
      "optimizer_bias_correction": FLAGS.optimizer_bias_correction,
      "gradient_accumulation_steps": FLAGS.gradient_accumulation_steps,
      "distribution_strategy": "tpu" if FLAGS.use_tpu else FLAGS.distribution_strategy,
      "precision": FLAGS.precision,
      "jit_compile": FLAGS.jit_compile,
      "profile_steps": _profile_steps(FLAGS.profile_steps),
      "tpu": TpuOptions(name=FLAGS.tpu_name or FLAGS.master, zone=FLAGS.tpu_zone, project=FLAGS.gcp_project),
  }


def _profile_steps(values: list[str] | None) -> tuple[int, int] | None:
  if not values:
    return None
  try:
    first, last = map(int, values)
  except ValueError:
    raise UserError(f"--profile_steps={','.join(values)}: two steps are wanted, e.g. --profile_steps=20,30") from None
  if not 0 < first < last:
    raise UserError(f"--profile_steps={first},{last}: the first step must be positive and less than the last")
  return first, last
