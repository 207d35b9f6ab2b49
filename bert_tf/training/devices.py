"""Devices: which strategy, which precision, XLA or not, and how fast they compute what a training asks for.

Nothing falls back silently from what was asked for. The arithmetic is what `modeling/costs.py` counts.

Run here: the default strategy, MirroredStrategy on two logical CPUs, MultiWorkerMirroredStrategy with two processes.
Not run for want of the hardware: GPUs and TPUs.
"""

import dataclasses
import functools
import os
import socket
import sys
import time
import urllib.parse

import numpy as np
import tensorflow as tf

from bert_common.errors import UserError, in_one_line
from bert_common.gpus import read_driver, unused_gpus
from bert_tf.training.reports import duration
from modeling.saving import needs_tensorflow

# Where a TPU's server listens, and how long it may take to answer.
_TPU_PORT = 8470
_SECONDS_TO_CONNECT = 20.0
# Dense peaks that NVIDIA publishes, in TFLOP/s, by what begins the device's name: float16, bfloat16 and TF32 (None
# where the tensor cores have none), and float32, which they do not have.
_GPUS = {
    "NVIDIA H200": (989.0, 989.0, 495.0, 67.0),
    "NVIDIA H100 PCIe": (756.0, 756.0, 378.0, 51.0),
    "NVIDIA H100 NVL": (835.0, 835.0, 418.0, 60.0),
    "NVIDIA H100": (989.0, 989.0, 495.0, 67.0),
    "NVIDIA A100": (312.0, 312.0, 156.0, 19.5),
    "NVIDIA L40S": (362.0, 362.0, 183.0, 91.6),
    "NVIDIA L4": (121.0, 121.0, 60.0, 30.3),
    "NVIDIA A10": (125.0, 125.0, 62.5, 31.2),
    "NVIDIA GeForce RTX 4090": (165.0, 165.0, 82.6, 82.6),
    "NVIDIA GeForce RTX 3090": (71.0, 71.0, 35.6, 35.6),
    "Tesla V100": (125.0, None, None, 15.7),
    "Tesla T4": (65.0, None, None, 8.1),
}
# Of a chip, in bfloat16, which float32 is multiplied in, too, and the cores that the name of a TPU counts, e.g. "v3-8".
_TPUS = {"v2": (45.0, 2), "v3": (123.0, 2), "v4": (275.0, 2), "v5litepod": (197.0, 1)}
# Share of the matrix-multiply rate that a training step reaches, for the first estimate of the time.
_ESTIMATED_UTILISATION = 0.5
# Of one H100, November 2026, BERT-Base with 128 tokens in bfloat16: shares of the peak that training steps reach with
# XLA (3,407 sequences/s) and without (848).
_SHARE_COMPILED, _SHARE_NOT_COMPILED = 0.24, 0.06
# Seconds until the first step: 16 to 20 with 2 layers, 45 with 12; of every further shape of batches 10 to 20.
_SECONDS_TO_COMPILE, _SECONDS_PER_LAYER, _SECONDS_PER_SHAPE = 14.0, 2.6, 15.0
# Of a GPU that is not in the table.
_UNKNOWN_PEAK = 100e12
_DTYPES = ("mixed_float16", "mixed_bfloat16", "tf32", "float32")


@dataclasses.dataclass(frozen=True)
class Devices:
  """What a run computes on.

  Attributes:
    kind: "CPU", "GPU" or "TPU".
    description: for the report, e.g. "2 x GPU (MirroredStrategy)".
    dtype: Keras dtype policy: "float32", "mixed_bfloat16" or "mixed_float16".
    jit_compile: whether the replica's computation is compiled with XLA.
    compiles_by_work: XLA is not asked for or forbidden: it is used where it saves time, see `compiled_for`.
    why_compiled: what `compiled_for` has decided, for the report.
    memory: bytes of each GPU, the least of them; None where not known.
    compute_capability: of the GPUs, the least of them, e.g. (9, 0); None of other devices.
    tf32: GPUs may round the factors of float32 products to 10 bits.
  """

  strategy: tf.distribute.Strategy
  kind: str
  description: str
  dtype: str
  jit_compile: bool
  compiles_by_work: bool = False
  why_compiled: str = ""
  memory: int | None = None
  compute_capability: tuple[int, int] | None = None
  tf32: bool = False
  is_chief: bool = True
  num_workers: int = 1

  @property
  def precision(self) -> str:
    """The policy, or "tf32"."""
    return "tf32" if self.tf32 else self.dtype

  @property
  def has_few_shapes(self) -> bool:
    """Whether every shape of a batch costs seconds: on GPUs some functions are compiled in any case."""
    return self.jit_compile or self.kind == "GPU"

  @property
  def xla(self) -> str:
    """"XLA on" or "XLA off", with the reason where there was a choice."""
    return f"XLA {'on' if self.jit_compile else 'off'}{f' ({self.why_compiled})' if self.why_compiled else ''}"

  def __str__(self) -> str:
    """For reports: what is computed on, and how exactly."""
    return f"{self.description}, {self.precision}"


def set_up(distribution_strategy: str = "auto", precision: str = "auto", jit_compile: str = "auto",
           tpu_name: str | None = None, tpu_zone: str | None = None, gcp_project: str | None = None,
           paths: tuple[str, ...] = (), deterministic: bool = False) -> Devices:
  """Makes the strategy and settles precision and compilation.

  Args:
    distribution_strategy: "auto" is TPU where one is named, multi_worker_mirrored where TF_CONFIG or a scheduler
      describes a cluster, mirrored on several GPUs, else none.
    precision: "auto" is bfloat16 on TPUs and on GPUs of compute capability 8 or more, float16 on GPUs of 7, else
      float32. On a CPU bfloat16 is worth asking for where it has AMX units. "tf32" is float32 whose products GPUs
      round to 10 bits, which is TensorFlow's default, and here is what "float32" is not.
    jit_compile: "auto" is true on GPUs, see `compiled_for`, and false on CPUs, where oneDNN's matrix products are
      faster than XLA's.
    tpu_name: "local", a Cloud TPU's name or a grpc:// address; zone and project as gcloud's.
    paths: every path the run reads or writes, checked to be remote before a TPU is connected.
    deterministic: operations that add in any order on GPUs take one order, or are refused. Whatever else of this
      process uses TensorFlow is concerned, too. XLA's part is done before TensorFlow starts, see `gpus.prepare`.

  Raises:
    UserError: a device that was asked for is not there, or a process of the cluster.
  """
  from bert_tf.training.cluster import cluster_of, multi_worker_strategy

  needs_tensorflow("a run")
  kind = distribution_strategy
  cluster = cluster_of(kind, tpu_name)
  if kind == "auto":
    if tpu_name:
      kind = "tpu"
    elif cluster:
      kind = "multi_worker_mirrored"
    else:
      kind = "mirrored" if len(tf.config.list_physical_devices("GPU")) > 1 else "none"
  num_workers, is_chief = 1, True
  if kind == "tpu":
    strategy = _tpu_strategy(tpu_name, tpu_zone, gcp_project, paths)
  elif cluster:
    num_workers, is_chief = len(cluster.names), cluster.index == 0
    strategy = multi_worker_strategy(cluster)
  elif kind == "mirrored":
    devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    if len(devices) < 2:
      raise UserError(f"--distribution_strategy=mirrored needs several devices, this machine has "
                      f"{devices[0].device_type} only once: use --distribution_strategy=none")
    strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
  else:
    strategy = tf.distribute.get_strategy()
  tf.config.experimental.enable_tensor_float_32_execution(precision == "tf32")
  if deterministic:
    tf.config.experimental.enable_op_determinism()
  gpus = tf.config.list_physical_devices("GPU")
  device_kind = "TPU" if kind == "tpu" else "GPU" if gpus else "CPU"
  driver = read_driver()
  warning = unused_gpus(driver, len(gpus)) if device_kind == "CPU" else None
  if warning:
    print(warning, file=sys.stderr, flush=True)
  capability = min(tf.config.experimental.get_device_details(gpu).get("compute_capability", (0, 0))
                   for gpu in gpus) if device_kind == "GPU" else None
  replicas = strategy.num_replicas_in_sync
  # MultiWorkerMirroredStrategy calls itself CollectiveAllReduceStrategy.
  name = {"none": "no distribution", "mirrored": "MirroredStrategy", "tpu": "TPUStrategy",
          "multi_worker_mirrored": "MultiWorkerMirroredStrategy"}[kind]
  return Devices(
      strategy=strategy, kind=device_kind,
      description=f"{replicas} x {device_kind} ({name}{f', {num_workers} processes' if num_workers > 1 else ''})",
      dtype=_dtype(precision, device_kind, capability), compute_capability=capability, tf32=precision == "tf32",
      # On a TPU `strategy.run` compiles by itself.
      jit_compile=kind != "tpu" and (jit_compile == "true" or (jit_compile == "auto" and device_kind == "GPU")),
      compiles_by_work=jit_compile == "auto" and device_kind == "GPU",
      memory=min((memory for _, memory in driver.gpus), default=None) if driver and gpus else None,
      is_chief=is_chief, num_workers=num_workers)


def _dtype(precision: str, device_kind: str, capability: tuple[int, int] | None) -> str:
  if precision == "auto":
    precision = "float32"
    if device_kind == "TPU":
      precision = "bfloat16"
    elif capability is not None:
      precision = "bfloat16" if capability >= (8, 0) else "float16" if capability >= (7, 0) else "float32"
  return {"float32": "float32", "tf32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}[precision]


def _tpu_strategy(name: str | None, zone: str | None, project: str | None, paths: tuple[str, ...]
                  ) -> tf.distribute.TPUStrategy:
  """Resolves, connects and initialises a TPU, as the TensorFlow guide "Use TPUs" does.

  A remote TPU has no access to this machine's files, so every path must be on gs://; that is checked first, as
  connecting takes a minute.
  """
  if not name:
    raise UserError("--distribution_strategy=tpu needs --tpu_name (a Cloud TPU's name, a grpc:// address, or 'local' "
                    "on a TPU VM)")
  if name != "local":
    local = [path for path in paths if path and not path.startswith("gs://")]
    if local:
      raise UserError(f"a remote TPU reads and writes gs:// paths only, this one is local: {local[0]}")
  try:
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=name, zone=zone, project=project)
    if name != "local":
      # TensorFlow itself would wait for many minutes where nobody listens.
      server = urllib.parse.urlsplit(resolver.master())
      socket.create_connection((server.hostname, server.port or _TPU_PORT), _SECONDS_TO_CONNECT).close()
      tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
  except Exception as error:  # The resolver raises whatever its HTTP client does.
    raise UserError(f"--tpu_name={name}: the TPU can't be reached: {in_one_line(error)}") from None
  return tf.distribute.TPUStrategy(resolver)


@dataclasses.dataclass(frozen=True)
class StageWork:
  """Work of the steps that train on batches of one kind; most runs have one such stage.

  Attributes:
    first_step, last_step: updates made before it, and at its end.
    batch_size: examples of a step, on all devices together.
    tokens: that are computed for an example.
    flops: floating-point operations of the training for an example; 0 where they are not known.
    least_bytes: memory of a device that a step takes at least.
  """

  first_step: int
  last_step: int
  batch_size: int
  tokens: float
  flops: float
  least_bytes: float


@dataclasses.dataclass(frozen=True)
class Workload:
  """Arithmetic and memory of a run.

  Attributes:
    stages: of the training, in their order; empty where nothing is trained.
    lengths: int64, ascending, that batches are padded to: the model is compiled for each.
  """

  stages: tuple[StageWork, ...]
  lengths: np.ndarray

  def flops_ahead(self, step: int) -> float:
    """Floating-point operations of the training from a step to its end; 0 where they are not known."""
    return sum(max(stage.last_step - max(step, stage.first_step), 0) * stage.batch_size * stage.flops
               for stage in self.stages)


def utilisation(flops_per_second: float, devices: Devices) -> dict[str, float]:
  """"tflops_per_second" and, where the devices' peak is known, "peak_share" of it."""
  peak = peak_rate(devices)
  # A CPU's rate that was measured beside other programs may be exceeded: it was none then.
  known = peak is not None and flops_per_second <= peak
  return {"tflops_per_second": flops_per_second / 1e12, **({"peak_share": flops_per_second / peak} if known else {})}


def describe_time(flops: float, devices: Devices) -> str | None:
  """How long a training may take, for the user: of CPUs a guess, of others the least; None where nothing is known."""
  if devices.kind == "CPU":
    rate = devices.num_workers * matmul_rate()
    return (f"about {duration(flops / (rate * _ESTIMATED_UTILISATION))} (a guess from {rate / 1e9:.0f} GFLOP/s of "
            "matrix multiplication; the progress line soon knows better)")
  peak = peak_rate(devices)
  return peak and f"at least {duration(flops / peak)}, at the devices' peak of {peak / 1e12:,.0f} TFLOP/s"


def peak_rate(devices: Devices) -> float | None:
  """Floating-point operations per second of all devices together, None where it is not known; of CPUs measured once."""
  if devices.kind == "CPU":
    # The replicas of a process share its cores.
    return devices.num_workers * _cpu_rate(dtype="bfloat16" if devices.dtype == "mixed_bfloat16" else "float32")
  if devices.kind == "TPU":
    return tpu_peak(os.environ.get("TPU_ACCELERATOR_TYPE", ""))
  gpu = tf.config.list_physical_devices("GPU")[0]
  peak = gpu_peak(tf.config.experimental.get_device_details(gpu).get("device_name", ""), devices.precision)
  return peak and peak * devices.strategy.num_replicas_in_sync


def compiled_for(devices: Devices, workload: Workload, num_layers: int) -> Devices:
  """The same devices, with XLA where it saves more time than its compilation takes, unless the user has decided.

  The whole run counts, also of one that resumes: how it is rounded must not change.
  """
  if not devices.compiles_by_work:
    return devices
  at_peak = workload.flops_ahead(0) / (peak_rate(devices) or _UNKNOWN_PEAK)
  saved = at_peak * (1 / _SHARE_NOT_COMPILED - 1 / _SHARE_COMPILED)
  spent = _SECONDS_TO_COMPILE + num_layers * _SECONDS_PER_LAYER + (len(workload.lengths) - 1) * _SECONDS_PER_SHAPE
  return dataclasses.replace(devices, jit_compile=saved > spent, why_compiled=(
      f"saves about {duration(saved)} of all steps, compiling takes about {duration(spent)}"))


def gpu_peak(name: str, dtype: str) -> float | None:
  """Of a GPU by its name and the Keras policy, or "tf32"; None for an unknown one."""
  peaks = next((peaks for beginning, peaks in _GPUS.items() if f"{name} ".startswith((f"{beginning} ", f"{beginning}-"))
                ), None)
  peak = peaks[_DTYPES.index(dtype)] if peaks else None
  return peak and peak * 1e12


def tpu_peak(accelerator_type: str) -> float | None:
  """Of all chips of a TPU, e.g. "v3-8" or "v5litepod-4"; None for an unknown one."""
  version, _, number = accelerator_type.partition("-")
  if version not in _TPUS or not number.isdecimal():
    return None
  peak, cores = _TPUS[version]
  return peak * 1e12 * int(number) / cores


def matmul_rate(size: int = 1024, seconds: float = 0.3, dtype: str = "float32") -> float:
  """Floating-point operations per second of a product of two square matrices, the best of several."""
  multiply = tf.function(tf.matmul)
  a = tf.cast(tf.random.stateless_normal([size, size], seed=[0, 0]), dtype)
  multiply(a, a)
  best, end = 0.0, time.perf_counter() + seconds
  while time.perf_counter() < end or not best:
    began = time.perf_counter()
    # Reading one number waits for the product.
    multiply(a, a)[0, 0].numpy()
    best = max(best, 2.0 * size**3 / (time.perf_counter() - began))
  return best


_cpu_rate = functools.cache(lambda dtype: matmul_rate(seconds=0.15, dtype=dtype))
