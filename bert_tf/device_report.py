"""The work of the script device_report.py: one screen about the machine's devices."""

import dataclasses
import os
import sysconfig

from bert_common import gpus
from bert_common.options import Options, option

_SIZES = {"CPU": 1024, "GPU": 8192}


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeviceReportOptions(Options):
  """What is looked at."""

  compilation_cache_dir: str | None = option(
      None, "Where run scripts keep compiled programs.", default_text=gpus.DEFAULT_CACHE)


def report(options: DeviceReportOptions) -> None:
  import tensorflow as tf

  driver, missing = gpus.read_driver(), gpus.missing_libraries(sysconfig.get_path("purelib"))
  found = tf.config.list_physical_devices("GPU")
  build = tf.sysconfig.get_build_info()
  versions = f"for CUDA {build.get('cuda_version')}, cuDNN {build.get('cudnn_version')}"
  lines = [("TensorFlow", f"{tf.__version__}, {versions}"), *describe(driver, missing), *_speeds()]
  directory = options.compilation_cache_dir
  directory = gpus.default_cache_directory(os.environ) if directory is None else directory or "none"
  lines.append(("cache", f"{directory}, of programs compiled for GPUs (--compilation_cache_dir)"))
  lines += [("problem", text) for text in gpus.problems(
      driver, missing, len(found), os.environ.get("CUDA_VISIBLE_DEVICES"))]
  for name, text in lines:
    print(f"{name:11} {text}", flush=True)


def describe(driver: gpus.Driver | None, missing: dict[str, str]) -> list[tuple[str, str]]:
  """Rows on driver, GPUs and CUDA's libraries."""
  if driver is None:
    return [("driver", "none")]
  version = f"{driver.version}, for CUDA up to {driver.cuda[0]}.{driver.cuda[1]}" if driver.version else "unknown"
  return [("driver", version),
          *(("GPU", f"{gpu.name}, compute capability {gpu.capability[0]}.{gpu.capability[1]}, "
                    f"{gpu.memory / 1e9:.1f} GB") for gpu in driver.gpus),
          ("libraries", f"missing: {', '.join(missing)}" if missing else "CUDA's are all there")]


def _speeds() -> list[tuple[str, str]]:
  import tensorflow as tf

  from bert_tf.training.devices import set_up
  from bert_tf.training.throughput import matmul_rate

  devices = set_up("none")
  size = _SIZES.get(devices.kind, 1024)
  rates = []
  for name in ("bfloat16", "float32", *(["tf32"] if devices.kind == "GPU" else [])):
    tf.config.experimental.enable_tensor_float_32_execution(name == "tf32")
    rate = matmul_rate(size, dtype="float32" if name == "tf32" else name)
    rates.append(f"{name} {rate / 1e12:.3g}")
  return [("used", f"{devices.description}; --precision=auto is {devices.precision}"),
          ("speed", f"{', '.join(rates)} TFLOP/s, products of {size} x {size} matrices")]
