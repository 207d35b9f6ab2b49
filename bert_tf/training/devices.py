"""Distribution strategy, precision and XLA settings of a run.

Devices never fall back silently from what the flags say. `speed.py` knows how fast they are.
"""

import ctypes
import dataclasses
import functools
import os
import socket
import sys
import urllib.parse
from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from bert_common.errors import UserError, in_one_line, say
from bert_common.gpus import read_driver, unused_gpus
from modeling.saving import needs_tensorflow
from modeling.xla import jit_compile_scope

# Port at which a TPU's server listens, and how long it may take to answer.
_TPU_PORT = 8470
_SECONDS_TO_CONNECT = 20.0
# absl::SetMinLogLevel as TensorFlow 2.20 and 2.21 export it: the name contains the release of absl.
_ABSL_SET_MIN_LOG_LEVEL = (
    "_ZN4absl12lts_2025012714SetMinLogLevelENS0_18LogSeverityAtLeastE",
    "_ZN4absl12lts_2025081414SetMinLogLevelENS0_18LogSeverityAtLeastE",
)
# --precision → the Keras policy.
_POLICIES = {
    "float32": "float32",
    "tf32": "float32",
    "bfloat16": "mixed_bfloat16",
    "float16": "mixed_float16",
}
# --distribution_strategy → the name in reports.
_STRATEGY_NAMES = {
    "none": "no distribution",
    "mirrored": "MirroredStrategy",
    "tpu": "TPUStrategy",
    # This strategy calls itself CollectiveAllReduceStrategy.
    "multi_worker_mirrored": "MultiWorkerMirroredStrategy",
}


@dataclasses.dataclass(frozen=True)
class Devices:
    """Devices of a run and their settings.

    Attributes:
      strategy: of the replicas.
      kind: "CPU", "GPU" or "TPU".
      description: for the report, e.g. "2 x GPU (MirroredStrategy)".
      dtype: Keras dtype policy: "float32", "mixed_bfloat16" or "mixed_float16".
      jit_compile: whether XLA compiles the steps.
      compiles_by_work: whether XLA is used only if it saves time, see `speed.compiled_for`.
      why_compiled: reason for the decision of `compiled_for`, for the report.
      compute_capability: lowest one of the GPUs, e.g. (9, 0); None for other devices.
      tf32: whether GPUs may round the factors of float32 products to 10 bits.
      is_chief: whether this process writes the files.
      num_workers: number of processes of the run.
    """

    strategy: tf.distribute.Strategy
    kind: str
    description: str
    dtype: str
    jit_compile: bool
    compiles_by_work: bool = False
    why_compiled: str = ""
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
        """Whether every shape of a batch costs seconds.

        GPUs compile some functions in any case.
        """
        return self.jit_compile or self.kind == "GPU"

    @property
    def xla(self) -> str:
        """The words "XLA on" or "XLA off", with the reason if there was a choice."""
        state = "XLA on" if self.jit_compile else "XLA off"
        if self.why_compiled:
            state += f" ({self.why_compiled})"
        return state

    def __str__(self) -> str:
        """Returns devices and precision, for reports."""
        return f"{self.description}, {self.precision}"


class TpuAddress(NamedTuple):
    """Where the TPU of a run is; the fields are options of `DeviceOptions`."""

    tpu_name: str | None = None
    tpu_zone: str | None = None
    gcp_project: str | None = None


_NO_TPU = TpuAddress()


def set_up(
    distribution_strategy: str = "auto",
    precision: str = "auto",
    jit_compile: str = "auto",
    tpu: TpuAddress = _NO_TPU,
    paths: tuple[str, ...] = (),
    deterministic: bool = False,
) -> Devices:
    """Makes the strategy and settles precision and compilation; the arguments are `DeviceOptions`.

    Args:
      distribution_strategy: "auto" is a TPU if one is named, multi_worker_mirrored if TF_CONFIG or
        a scheduler describes a cluster, mirrored on several GPUs, else none.
      precision: "auto" is bfloat16 on TPUs and on GPUs of compute capability 8 or more, float16 on
        GPUs of 7, else float32. TensorFlow computes "float32" as "tf32" by default, we do not.
      jit_compile: "auto" is true on GPUs, see `speed.compiled_for`, and false on CPUs, where oneDNN
        is faster.
      paths: every path the run reads or writes, checked to be remote before a TPU is connected.
      deterministic: whether operations that add in any order on GPUs take one order, or are
        refused, in this process. XLA's part is done before TensorFlow starts, see `gpus.prepare`.
    """
    from bert_tf.training.cluster import cluster_of, multi_worker_strategy

    needs_tensorflow("a run")
    _quiet_absl()
    # The strategy of a cluster must be made before TensorFlow computes anything.
    cluster = cluster_of(distribution_strategy, tpu.tpu_name)
    if distribution_strategy == "auto":
        if tpu.tpu_name:
            distribution_strategy = "tpu"
        elif cluster:
            distribution_strategy = "multi_worker_mirrored"
        elif len(tf.config.list_physical_devices("GPU")) > 1:
            distribution_strategy = "mirrored"
        else:
            distribution_strategy = "none"
    num_workers = 1
    is_chief = True
    if distribution_strategy == "tpu":
        strategy = _tpu_strategy(tpu, paths)
    elif cluster:
        num_workers = len(cluster.names)
        is_chief = cluster.index == 0
        strategy = multi_worker_strategy(cluster)
    elif distribution_strategy == "mirrored":
        strategy = _mirrored_strategy()
    else:
        strategy = tf.distribute.get_strategy()
    # TensorFlow's default is that GPUs compute float32 products as TF32.
    tf.config.experimental.enable_tensor_float_32_execution(precision == "tf32")
    if deterministic:
        tf.config.experimental.enable_op_determinism()
    kind = _device_kind(distribution_strategy)
    capability = _lowest_capability() if kind == "GPU" else None
    compiles_by_work = jit_compile == "auto" and kind == "GPU"
    strategy_name = _STRATEGY_NAMES[distribution_strategy]
    if num_workers > 1:
        strategy_name += f", {num_workers} processes"
    return Devices(
        strategy=strategy,
        kind=kind,
        description=f"{strategy.num_replicas_in_sync} x {kind} ({strategy_name})",
        dtype=_POLICIES[_resolve_precision(precision, kind, capability)],
        compute_capability=capability,
        tf32=precision == "tf32",
        # On a TPU `strategy.run` compiles by itself.
        jit_compile=kind != "TPU" and (jit_compile == "true" or compiles_by_work),
        compiles_by_work=compiles_by_work,
        is_chief=is_chief,
        num_workers=num_workers,
    )


def _quiet_absl() -> None:
    """Hides the lines of absl's C++ library on standard error that TF_CPP_MIN_LOG_LEVEL leaves out.

    TensorFlow follows the variable only in messages of its own. XLA says through absl, in the first
    compilation of a process, that it compiled something.
    """
    level = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "")
    if not level.isdigit():
        return
    path = os.path.join(tf.sysconfig.get_lib(), "libtensorflow_framework.so.2")
    if not os.path.exists(path):
        # Another system: the lines are shown.
        return
    library = ctypes.CDLL(path)
    for name in _ABSL_SET_MIN_LOG_LEVEL:
        set_min_log_level = getattr(library, name, None)
        if set_min_log_level is not None:
            set_min_log_level(int(level))


def _device_kind(distribution_strategy: str) -> str:
    """Returns "CPU", "GPU" or "TPU"; warns if the machine has GPUs that TensorFlow does not use."""
    if distribution_strategy == "tpu":
        return "TPU"
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        return "GPU"
    warning = unused_gpus(read_driver(), len(gpus))
    if warning:
        say(warning, file=sys.stderr)
    return "CPU"


def _lowest_capability() -> tuple[int, int]:
    """Returns the lowest compute capability of the GPUs."""
    # The devices of a run compute in one precision, which the oldest must have.
    capabilities = []
    for gpu in tf.config.list_physical_devices("GPU"):
        details = tf.config.experimental.get_device_details(gpu)
        capabilities.append(details.get("compute_capability", (0, 0)))
    return min(capabilities)


def _resolve_precision(precision: str, kind: str, capability: tuple[int, int] | None) -> str:
    """Returns --precision with "auto" replaced by what the devices compute fast."""
    if precision != "auto":
        return precision
    if kind == "TPU" or (kind == "GPU" and capability >= (8, 0)):
        return "bfloat16"
    if kind == "GPU" and capability >= (7, 0):
        return "float16"
    return "float32"


def _mirrored_strategy() -> tf.distribute.MirroredStrategy:
    devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    # Logical CPUs serve tests; a machine has one unless a program configures more.
    if len(devices) < 2:
        raise UserError(
            "--distribution_strategy=mirrored needs several devices, this machine has "
            f"{devices[0].device_type} only once: use --distribution_strategy=none"
        )
    return tf.distribute.MirroredStrategy([device.name for device in devices])


def _tpu_strategy(tpu: TpuAddress, paths: tuple[str, ...]) -> tf.distribute.TPUStrategy:
    """Resolves, connects and initializes a TPU, as the TensorFlow guide "Use TPUs" does.

    A remote TPU has no access to this machine's files; that is checked first, as connecting takes a
    minute.
    """
    name = tpu.tpu_name
    if not name:
        raise UserError(
            "--distribution_strategy=tpu needs --tpu_name (a Cloud TPU's name, a grpc:// address, "
            "or 'local' on a TPU VM)"
        )
    is_remote = name != "local"
    if is_remote:
        for path in paths:
            if path and not path.startswith("gs://"):
                raise UserError(
                    f"a remote TPU reads and writes gs:// paths only, this one is local: {path}"
                )
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
            tpu=name, zone=tpu.tpu_zone, project=tpu.gcp_project
        )
        if is_remote:
            # TensorFlow itself would wait for many minutes if nobody listens.
            server = urllib.parse.urlsplit(resolver.master())
            address = (server.hostname, server.port or _TPU_PORT)
            socket.create_connection(address, _SECONDS_TO_CONNECT).close()
            tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except Exception as error:  # The resolver raises whatever its HTTP client does.
        raise UserError(
            f"--tpu_name={name}: the TPU can't be reached: {in_one_line(error)}"
        ) from None
    return tf.distribute.TPUStrategy(resolver)


def graph_function(function: Callable, jit_compile: bool) -> Callable:
    """Makes a `tf.function`, which is traced in a `jit_compile_scope` if XLA compiles it.

    Args:
      function: of nests of tensors, without AutoGraph.
      jit_compile: compile it with XLA, which compiles whatever a TPU runs.
    """

    @functools.wraps(function)
    def traced(*arguments):
        is_on_tpu = isinstance(tf.distribute.get_strategy(), tf.distribute.TPUStrategy)
        with jit_compile_scope(jit_compile or is_on_tpu):
            return function(*arguments)

    return tf.function(traced, autograph=False, jit_compile=jit_compile or None)
