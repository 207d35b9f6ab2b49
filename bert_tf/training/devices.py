"""Devices: which strategy, which precision, XLA or not.

Nothing falls back silently from what was asked for. How fast they are is in `speed.py`.
"""

import dataclasses
import socket
import sys
import urllib.parse

import tensorflow as tf

from bert_common.errors import UserError, in_one_line
from bert_common.gpus import read_driver, unused_gpus
from modeling.saving import needs_tensorflow

# Where a TPU's server listens, and how long it may take to answer.
_TPU_PORT = 8470
_SECONDS_TO_CONNECT = 20.0
# --precision → the Keras policy.
_POLICIES = {
    "float32": "float32",
    "tf32": "float32",
    "bfloat16": "mixed_bfloat16",
    "float16": "mixed_float16",
}


@dataclasses.dataclass(frozen=True)
class Devices:
    """What a run computes on.

    Attributes:
      kind: "CPU", "GPU" or "TPU".
      description: for the report, e.g. "2 x GPU (MirroredStrategy)".
      dtype: Keras dtype policy: "float32", "mixed_bfloat16" or "mixed_float16".
      compiles_by_work: XLA is not asked for or forbidden: it is used where it saves time, see
        `speed.compiled_for`.
      why_compiled: what `compiled_for` has decided, for the report.
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
        """Whether every shape of a batch costs seconds: on GPUs some functions are compiled in any
        case."""
        return self.jit_compile or self.kind == "GPU"

    @property
    def xla(self) -> str:
        """ "XLA on" or "XLA off", with the reason where there was a choice."""
        return f"XLA {'on' if self.jit_compile else 'off'}{f' ({self.why_compiled})' if self.why_compiled else ''}"

    def __str__(self) -> str:
        """For reports: what is computed on, and how exactly."""
        return f"{self.description}, {self.precision}"


def set_up(
    distribution_strategy: str = "auto",
    precision: str = "auto",
    jit_compile: str = "auto",
    tpu_name: str | None = None,
    tpu_zone: str | None = None,
    gcp_project: str | None = None,
    paths: tuple[str, ...] = (),
    deterministic: bool = False,
) -> Devices:
    """Makes the strategy and settles precision and compilation; the arguments are `DeviceOptions`.

    Args:
      distribution_strategy: "auto" is TPU where one is named, multi_worker_mirrored where TF_CONFIG
        or a scheduler describes a cluster, mirrored on several GPUs, else none.
      precision: "auto" is bfloat16 on TPUs and on GPUs of compute capability 8 or more, float16 on
        GPUs of 7, else float32. "tf32" is TensorFlow's default, and here is what "float32" is not.
      jit_compile: "auto" is true on GPUs, see `speed.compiled_for`, and false on CPUs, where oneDNN
        is faster.
      paths: every path the run reads or writes, checked to be remote before a TPU is connected.
      deterministic: operations that add in any order on GPUs take one order, or are refused, in all
        of this process. XLA's part is done before TensorFlow starts, see `gpus.prepare`.
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
            raise UserError(
                f"--distribution_strategy=mirrored needs several devices, this machine has "
                f"{devices[0].device_type} only once: use --distribution_strategy=none"
            )
        strategy = tf.distribute.MirroredStrategy([device.name for device in devices])
    else:
        strategy = tf.distribute.get_strategy()
    tf.config.experimental.enable_tensor_float_32_execution(precision == "tf32")
    if deterministic:
        tf.config.experimental.enable_op_determinism()
    gpus = tf.config.list_physical_devices("GPU")
    device_kind = "TPU" if kind == "tpu" else "GPU" if gpus else "CPU"
    if device_kind == "CPU" and (warning := unused_gpus(read_driver(), len(gpus))):
        print(warning, file=sys.stderr, flush=True)
    capability = (
        min(
            tf.config.experimental.get_device_details(gpu).get("compute_capability", (0, 0))
            for gpu in gpus
        )
        if device_kind == "GPU"
        else None
    )
    dtype, least = precision, capability or (0, 0)
    if precision == "auto":
        is_new = device_kind == "TPU" or least >= (8, 0)
        dtype = "bfloat16" if is_new else "float16" if least >= (7, 0) else "float32"
    replicas = strategy.num_replicas_in_sync
    # MultiWorkerMirroredStrategy calls itself CollectiveAllReduceStrategy.
    name = {
        "none": "no distribution",
        "mirrored": "MirroredStrategy",
        "tpu": "TPUStrategy",
        "multi_worker_mirrored": "MultiWorkerMirroredStrategy",
    }[kind]
    return Devices(
        strategy=strategy,
        kind=device_kind,
        description=f"{replicas} x {device_kind} ({name}{f', {num_workers} processes' if num_workers > 1 else ''})",
        dtype=_POLICIES[dtype],
        compute_capability=capability,
        tf32=precision == "tf32",
        # On a TPU `strategy.run` compiles by itself.
        jit_compile=kind != "tpu"
        and (jit_compile == "true" or (jit_compile == "auto" and device_kind == "GPU")),
        compiles_by_work=jit_compile == "auto" and device_kind == "GPU",
        is_chief=is_chief,
        num_workers=num_workers,
    )


def _tpu_strategy(
    name: str | None, zone: str | None, project: str | None, paths: tuple[str, ...]
) -> tf.distribute.TPUStrategy:
    """Resolves, connects and initialises a TPU, as the TensorFlow guide "Use TPUs" does.

    A remote TPU has no access to this machine's files; that is checked first, as connecting takes a
    minute.
    """
    if not name:
        raise UserError(
            "--distribution_strategy=tpu needs --tpu_name (a Cloud TPU's name, a grpc:// address, or 'local' "
            "on a TPU VM)"
        )
    if name != "local":
        local = [path for path in paths if path and not path.startswith("gs://")]
        if local:
            raise UserError(
                f"a remote TPU reads and writes gs:// paths only, this one is local: {local[0]}"
            )
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
            tpu=name, zone=zone, project=project
        )
        if name != "local":
            # TensorFlow itself would wait for many minutes where nobody listens.
            server = urllib.parse.urlsplit(resolver.master())
            socket.create_connection(
                (server.hostname, server.port or _TPU_PORT), _SECONDS_TO_CONNECT
            ).close()
            tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except Exception as error:  # The resolver raises whatever its HTTP client does.
        raise UserError(
            f"--tpu_name={name}: the TPU can't be reached: {in_one_line(error)}"
        ) from None
    return tf.distribute.TPUStrategy(resolver)
