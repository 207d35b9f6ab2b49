"""The processes of a run on several machines, from the environment variable TF_CONFIG or Slurm's.

Input: TF_CONFIG, as TensorFlow's `TFConfigClusterResolver` reads it; or the variables of a task
that `srun` started. Output: `Cluster`, and its strategy for `bert_tf/training/devices.py`.
"""

import dataclasses
import json
import os
import re
import signal
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
# Name of the chief in TensorFlow 1, which services still set.
_FORMER_CHIEF = "master"
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:.]+\]|[\w.-]+):[1-9]\d{0,4}")
# Ports of a Slurm step, below those that Linux gives to outgoing connections (32768). Every step of
# a job has its own ports on every node, and so have the jobs with the next numbers, which may be on
# the same nodes.
_FIRST_PORT = 12000
_PORTS_PER_STEP = 16
_NUM_STEPS = 1250
_STEP_STRIDE = 477


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Processes that train together.

    Attributes:
      names: name of each process, e.g. "worker 1".
      addresses: host:port of each.
      index: index of this process. Process 0, the chief, writes files.
    """

    names: tuple[str, ...]
    addresses: tuple[str, ...]
    index: int

    @property
    def tf_config(self) -> str:
        """The environment variable TF_CONFIG of this process, as TensorFlow reads it."""
        addresses_by_kind: dict[str, list[str]] = {}
        for name, address in zip(self.names, self.addresses, strict=True):
            addresses_by_kind.setdefault(name.split()[0], []).append(address)
        kind, index = self.names[self.index].split()
        task = {"type": kind, "index": int(index)}
        return json.dumps({"cluster": addresses_by_kind, "task": task})

    def describe(self, index: int | None = None) -> str:
        """Returns name and address of a process, by default this one: "worker 1 (host2:2222)"."""
        if index is None:
            index = self.index
        return f"{self.names[index]} ({self.addresses[index]})"


def find_cluster(environment: Mapping[str, str], required: bool = False) -> Cluster | None:
    """Returns the cluster of TF_CONFIG, else of Slurm; None if this process is alone.

    Raises `UserError` if TF_CONFIG is wrong, or if no cluster is found though one is `required`.
    """
    text = environment.get("TF_CONFIG", "")
    if text:
        try:
            config = json.loads(text)
        except ValueError:
            raise _wrong("it is not JSON") from None
        # Services set it without a cluster for a single machine, which TensorFlow takes for one
        # process.
        if not isinstance(config, dict) or config.get("cluster"):
            return _read_tf_config(config)
        if required:
            raise _wrong('it has no "cluster"')
        return None
    cluster = _read_slurm_step(environment)
    if cluster is None and required:
        raise _wrong("it is not set")
    return cluster


def cluster_of(distribution_strategy: str, tpu_name: str | None) -> Cluster | None:
    """Returns the processes of a run, see `devices.set_up`; None for a single process or TPUs."""
    if distribution_strategy == "multi_worker_mirrored":
        return find_cluster(os.environ, required=True)
    if distribution_strategy == "auto" and not tpu_name:
        return find_cluster(os.environ)
    return None


def multi_worker_strategy(cluster: Cluster) -> tf.distribute.Strategy:
    """Returns the strategy once all processes have started.

    TensorFlow's coordination service waits for them, up to an hour. Raises `UserError` if this
    process can't join.
    """
    os.environ["TF_CONFIG"] = cluster.tf_config
    other_processes = [
        cluster.describe(index) for index in range(len(cluster.names)) if index != cluster.index
    ]
    # A single write keeps the line whole, as other processes print to the same terminal.
    sys.stderr.write(f"{cluster.describe()} waits for {', '.join(other_processes)}\n")
    sys.stderr.flush()
    # A signal ends the process at once here: Python's own handlers would wait with TensorFlow.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    try:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    except tf.errors.OpError as error:
        raise UserError(
            f"TF_CONFIG: {cluster.describe()} can't join the cluster: {in_one_line(error)}"
        ) from None
    # The strategy's start takes SIGTERM over, and a process can't leave alone before it trains with
    # the others.
    hold()
    return strategy


def _read_tf_config(config: object) -> Cluster:
    """Returns the cluster that TF_CONFIG describes; raises `UserError` if it is wrong."""
    if not isinstance(config, dict):
        config = {}
    cluster = config.get("cluster")
    task = config.get("task")
    if not isinstance(cluster, dict) or not isinstance(task, dict):
        raise _wrong('"cluster" and "task" must be objects')
    cluster, task = _with_chief(cluster, task)
    names = []
    addresses = []
    # Sorting puts a chief before the workers.
    for kind, kind_addresses in sorted(cluster.items()):
        if kind_addresses and kind not in _KINDS:
            raise _wrong(
                f"{kind!r} is no kind of process, {' and '.join(_KINDS)} are: "
                "leave it out of the job"
            )
        if not isinstance(kind_addresses, list):
            raise _wrong(f'"{kind}" must be a list of addresses')
        for index, address in enumerate(kind_addresses):
            if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
                raise _wrong(f"{address!r} is no address, host:port is expected")
            if address in addresses:
                raise _wrong(f"{address} is there twice")
            names.append(f"{kind} {index}")
            addresses.append(address)
    name = f"{task.get('type')} {task.get('index')}"
    if name not in names:
        raise _wrong(f"this process is {name}, but there are {', '.join(names) or 'none'}")
    return Cluster(tuple(names), tuple(addresses), names.index(name))


def _with_chief(cluster: dict, task: dict) -> tuple[dict, dict]:
    """Returns the two parts of TF_CONFIG with the chief of TensorFlow 1 under its name of today."""
    if "chief" in cluster or _FORMER_CHIEF not in cluster:
        return cluster, task
    kinds = dict(cluster)
    kinds["chief"] = kinds.pop(_FORMER_CHIEF)
    if task.get("type") == _FORMER_CHIEF:
        task = {**task, "type": "chief"}
    return kinds, task


def _read_slurm_step(environment: Mapping[str, str]) -> Cluster | None:
    """Returns the tasks of a step (`srun`), node by node.

    None in a script of `sbatch`, in a shell, and in a step of one task.
    """
    if "SLURM_STEP_ID" not in environment or environment.get("SLURM_STEP_NUM_TASKS", "1") == "1":
        return None
    try:
        hosts = _slurm_hosts(environment["SLURM_STEP_NODELIST"])
        tasks_per_host: list[int] = []
        # "2(x3),1" is 2, 2, 2, 1.
        for tasks, hosts_alike in re.findall(
            r"(\d+)(?:\(x(\d+)\))?", environment["SLURM_STEP_TASKS_PER_NODE"]
        ):
            tasks_per_host += [int(tasks)] * int(hosts_alike or 1)
        step = int(environment["SLURM_JOB_ID"])
        step += _STEP_STRIDE * int(environment["SLURM_STEP_ID"])
        first_port = _FIRST_PORT + step % _NUM_STEPS * _PORTS_PER_STEP
        addresses = []
        for host, num_tasks in zip(hosts, tasks_per_host, strict=True):
            addresses += [f"{host}:{first_port + task}" for task in range(num_tasks)]
        # SLURM_PROCID is of no use here, as its order depends on --distribution.
        tasks_before = sum(tasks_per_host[: int(environment["SLURM_NODEID"])])
        index = tasks_before + int(environment["SLURM_LOCALID"])
        if index >= len(addresses):
            raise IndexError(f"task {index} of {len(addresses)}")
    except (KeyError, IndexError, ValueError, OSError, subprocess.SubprocessError) as error:
        raise UserError(
            "the tasks of this step of Slurm are not known "
            f"({type(error).__name__}: {error}): start them with srun where scontrol is installed, "
            "or set TF_CONFIG, which wins, or give --distribution_strategy=none"
        ) from None
    names = [f"worker {number}" for number in range(len(addresses))]
    return Cluster(tuple(names), tuple(addresses), index)


def _slurm_hosts(nodes: str) -> list[str]:
    """Returns the hosts of a list such as gpu[01-03,7], which Slurm itself expands."""
    if "[" not in nodes:
        return nodes.split(",")
    command = ["scontrol", "show", "hostnames", nodes]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def _wrong(problem: str) -> UserError:
    return UserError(
        f"TF_CONFIG: {problem}: --distribution_strategy=multi_worker_mirrored needs this "
        "environment variable on every machine, unless srun starts the processes, e.g. "
        f"TF_CONFIG='{_EXAMPLE}'"
    )
