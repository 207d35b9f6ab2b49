"""The processes of a run on several machines: the environment variable TF_CONFIG, or what Slurm or
Kubernetes sets.

Input: TF_CONFIG, as TensorFlow's `TFConfigClusterResolver` reads it; or the variables of a task
that `srun` started, or of a pod of an indexed Job. Output: `Cluster`, and its strategy for
`bert_tf/training/devices.py`.
"""

import dataclasses
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping

import tensorflow as tf

from bert_common.errors import UserError, in_one_line
from bert_tf.training.signals import hold

_EXAMPLE = (
    '{"cluster": {"worker": ["host1:2222", "host2:2222"]}, "task": {"type": "worker", "index": 0}}'
)
_KINDS = ("chief", "worker")
# Below the ports that Linux gives to outgoing connections (32768). A step of a job of Slurm has
# some of its own on every node, and so do the jobs with the next numbers, which may be on the same
# nodes.
_FIRST_PORT, _PORTS_OF_A_STEP, _STEPS, _STRIDE_OF_STEPS = 12000, 16, 1250, 477
_KUBERNETES_PORT = 2222


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Processes that train together.

    Attributes:
      names: of all of them, e.g. "worker 1".
      addresses: host:port of each.
      index: of this process; the first one, the chief, writes files.
    """

    names: tuple[str, ...]
    addresses: tuple[str, ...]
    index: int

    @property
    def tf_config(self) -> str:
        """The environment variable TF_CONFIG of this process, as TensorFlow reads it."""
        listed: dict[str, list[str]] = {}
        for name, address in zip(self.names, self.addresses, strict=True):
            listed.setdefault(name.split()[0], []).append(address)
        kind, index = self.names[self.index].split()
        return json.dumps({"cluster": listed, "task": {"type": kind, "index": int(index)}})

    def describe(self, index: int | None = None) -> str:
        """A process, this one unless another is given, e.g. "worker 1 (host2:2222)"."""
        index = self.index if index is None else index
        return f"{self.names[index]} ({self.addresses[index]})"


def find_cluster(environment: Mapping[str, str], required: bool = False) -> Cluster | None:
    """The cluster of TF_CONFIG, else of the scheduler; None where this process is alone and none is
    `required`."""
    text = environment.get("TF_CONFIG", "")
    found = _of_slurm(environment) or _of_kubernetes(environment) if not text else None
    if text:
        try:
            found = _of_tf_config(json.loads(text))
        except ValueError:
            raise _wrong("it is not JSON") from None
    if found is None and required:
        raise _wrong("it is not set")
    return found


def cluster_of(distribution_strategy: str, tpu_name: str | None) -> Cluster | None:
    """The processes that a run is distributed over, see `devices.set_up`; None where it has only
    this one, or TPUs."""
    if distribution_strategy == "multi_worker_mirrored":
        return find_cluster(os.environ, required=True)
    return find_cluster(os.environ) if distribution_strategy == "auto" and not tpu_name else None


def multi_worker_strategy(cluster: Cluster) -> tf.distribute.Strategy:
    """The strategy, once all processes are there: TensorFlow's coordination service waits for them,
    up to an hour."""
    os.environ["TF_CONFIG"] = cluster.tf_config
    others = ", ".join(
        cluster.describe(index) for index in range(len(cluster.names)) if index != cluster.index
    )
    # In one piece, as others print there, too.
    sys.stderr.write(f"{cluster.describe()} waits for {others}\n")
    sys.stderr.flush()
    # A signal ends the process at once: Python's own handlers would wait with TensorFlow.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    try:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    except tf.errors.OpError as error:
        raise UserError(
            f"TF_CONFIG: {cluster.describe()} can't join the cluster: {in_one_line(error)}"
        ) from None
    # Its start takes SIGTERM for itself, and a process can't leave alone before it trains with the
    # others.
    hold()
    return strategy


def _of_tf_config(config: object) -> Cluster:
    cluster, task = (
        config.get(key) if isinstance(config, dict) else None for key in ("cluster", "task")
    )
    if not isinstance(cluster, dict) or not isinstance(task, dict):
        raise _wrong('"cluster" and "task" must be objects')
    names, addresses = [], []
    # Sorted: a chief before workers.
    for kind, listed in sorted(cluster.items()):
        if listed and kind not in _KINDS:
            raise _wrong(
                f"{kind!r} is no kind of process, {' and '.join(_KINDS)} are: leave it out of the job"
            )
        if not isinstance(listed, list):
            raise _wrong(f'"{kind}" must be a list of addresses')
        for index, address in enumerate(listed):
            if not isinstance(address, str) or not re.fullmatch(
                r"(\[[0-9a-fA-F:.]+\]|[\w.-]+):[1-9]\d{0,4}", address
            ):
                raise _wrong(f"{address!r} is no address, host:port is expected")
            if address in addresses:
                raise _wrong(f"{address} is there twice")
            names.append(f"{kind} {index}")
            addresses.append(address)
    name = f"{task.get('type')} {task.get('index')}"
    if name not in names:
        raise _wrong(f"this process is {name}, but there are {', '.join(names) or 'none'}")
    return Cluster(tuple(names), tuple(addresses), names.index(name))


def _of_slurm(environment: Mapping[str, str]) -> Cluster | None:
    """The tasks of a step (`srun`), node by node; None in a script of `sbatch`, a shell, and a step
    of one task."""
    if "SLURM_STEP_ID" not in environment or environment.get("SLURM_STEP_NUM_TASKS", "1") == "1":
        return None
    try:
        hosts = environment["SLURM_STEP_NODELIST"].split(",")
        if "[" in environment["SLURM_STEP_NODELIST"]:
            # gpu[01-03,7]
            hosts = subprocess.run(
                ["scontrol", "show", "hostnames", environment["SLURM_STEP_NODELIST"]],
                check=True,
                capture_output=True,
                text=True,
            ).stdout.split()
        tasks: list[int] = []
        # "2(x3),1" is 2, 2, 2, 1.
        for number, nodes in re.findall(
            r"(\d+)(?:\(x(\d+)\))?", environment["SLURM_STEP_TASKS_PER_NODE"]
        ):
            tasks += [int(number)] * int(nodes or 1)
        step = (
            int(environment["SLURM_JOB_ID"]) + _STRIDE_OF_STEPS * int(environment["SLURM_STEP_ID"])
        ) % _STEPS
        first = _FIRST_PORT + step * _PORTS_OF_A_STEP
        addresses = [
            f"{host}:{first + task}"
            for host, count in zip(hosts, tasks, strict=True)
            for task in range(count)
        ]
        # Not SLURM_PROCID, whose order depends on --distribution.
        index = sum(tasks[: int(environment["SLURM_NODEID"])]) + int(environment["SLURM_LOCALID"])
        return _workers(addresses, index)
    except (KeyError, IndexError, ValueError, OSError, subprocess.SubprocessError) as error:
        raise UserError(
            f"the tasks of this step of Slurm are not known ({type(error).__name__}: {error}): start them with "
            "srun where scontrol is installed, or set TF_CONFIG, which wins, or give "
            "--distribution_strategy=none"
        ) from None


def _of_kubernetes(environment: Mapping[str, str]) -> Cluster | None:
    """The pods of an indexed Job with a service of its own (`subdomain`); their number is in
    WORLD_SIZE."""
    if "JOB_COMPLETION_INDEX" not in environment or environment.get("WORLD_SIZE", "1") == "1":
        return None
    try:
        index, number = int(environment["JOB_COMPLETION_INDEX"]), int(environment["WORLD_SIZE"])
        # JOB-0.SERVICE.NAMESPACE.svc.cluster.local
        name, _, domain = socket.getfqdn(environment["HOSTNAME"]).partition(".")
        job = name.removesuffix(f"-{index}")
        return _workers(
            [
                f"{job}-{pod}{'.' if domain else ''}{domain}:{_KUBERNETES_PORT}"
                for pod in range(number)
            ],
            index,
        )
    except (KeyError, IndexError, ValueError) as error:
        raise UserError(
            f"the pods of this Job are not known ({type(error).__name__}: {error}): set WORLD_SIZE to their "
            "number, or TF_CONFIG, which wins, or give --distribution_strategy=none"
        ) from None


def _workers(addresses: list[str], index: int) -> Cluster:
    """Processes of equal rank; raises `IndexError` where this one is none of them."""
    addresses[index]
    return Cluster(
        tuple(f"worker {number}" for number in range(len(addresses))), tuple(addresses), index
    )


def _wrong(what: str) -> UserError:
    return UserError(
        f"TF_CONFIG: {what}: --distribution_strategy=multi_worker_mirrored needs this environment variable "
        f"on every machine, unless srun starts the processes, e.g. TF_CONFIG='{_EXAMPLE}'"
    )
