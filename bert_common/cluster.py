"""The processes of a run on several machines: the environment variable TF_CONFIG, or what a scheduler sets.

Input: TF_CONFIG, as TensorFlow's `TFConfigClusterResolver` reads it. Output: `Cluster`, for
`bert_tf/training/devices.py`.
"""

import dataclasses
import json
import re
from collections.abc import Mapping

from bert_common.errors import UserError
from bert_common.schedulers import described_cluster

_EXAMPLE = '{"cluster": {"worker": ["host1:2222", "host2:2222"]}, "task": {"type": "worker", "index": 0}}'
_KINDS = ("chief", "worker")
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:.]+\]|[\w.-]+):(\d{1,5})", re.ASCII)
# What other clusters have and this project has no use for.
_OTHER_KINDS = {
    "ps": "parameter servers are not used, all processes are workers",
    "evaluator": "the workers evaluate"}


@dataclasses.dataclass(frozen=True)
class Cluster:
  """Processes that train together.

  Attributes:
    names: of all of them, e.g. "worker 1", the one that writes files first.
    addresses: host:port of each.
  """

  names: tuple[str, ...]
  addresses: tuple[str, ...]
  index: int

  @property
  def is_chief(self) -> bool:
    """Whether this process writes files."""
    return self.index == 0

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


def read_cluster(environment: Mapping[str, str]) -> Cluster:
  """As `find_cluster`, for those who need one. Raises `UserError` if there is none."""
  cluster = find_cluster(environment)
  if cluster is None:
    raise _wrong("it is not set")
  return cluster


def find_cluster(environment: Mapping[str, str]) -> Cluster | None:
  """The cluster of TF_CONFIG, else of the scheduler; None where this process is alone.

  Raises:
    UserError: says what is wrong with the variables.
  """
  text = environment.get("TF_CONFIG", "")
  if not text:
    described = described_cluster(environment)
    return described and _checked(described)
  try:
    config = json.loads(text)
  except (ValueError, RecursionError):
    raise _wrong("it is not JSON") from None
  return _checked(config)


def _checked(config: object) -> Cluster:
  cluster, task = (config.get(key) if isinstance(config, dict) else None for key in ("cluster", "task"))
  if not isinstance(cluster, dict) or not isinstance(task, dict):
    raise _wrong('"cluster" and "task" must be objects')
  # TensorFlow reads it, too.
  if config.get("rpc_layer") not in (None, "", "grpc"):
    raise _wrong(f'"rpc_layer" is {json.dumps(config["rpc_layer"])}, only "grpc" is possible')
  names, addresses = [], []
  for kind, listed in cluster.items():
    if listed and kind in _OTHER_KINDS:
      raise _wrong(f"{kind!r}: {_OTHER_KINDS[kind]}: leave it out of the job")
    if kind not in _KINDS and kind not in _OTHER_KINDS:
      raise _wrong(f"{kind!r} is no kind of process, {' and '.join(_KINDS)} are")
    if not isinstance(listed, list):
      raise _wrong(f'"{kind}" must be a list of addresses')
  for kind in _KINDS:
    for index, address in enumerate(cluster.get(kind, ())):
      match = _ADDRESS.fullmatch(address) if isinstance(address, str) else None
      if not match or not 0 < int(match[2]) < 1 << 16:
        raise _wrong(f"{address!r} is no address, host:port is expected")
      if address in addresses:
        raise _wrong(f"{address} is there twice")
      names.append(f"{kind} {index}")
      addresses.append(address)
  if not names:
    raise _wrong("it names no process")
  name = f"{task.get('type')} {task.get('index')}"
  if name not in names:
    raise _wrong(f"this process is {name}, but there are {', '.join(names)}")
  return Cluster(tuple(names), tuple(addresses), names.index(name))


def _wrong(what: str) -> UserError:
  return UserError(f"TF_CONFIG: {what}: --distribution_strategy=multi_worker_mirrored needs this environment variable "
                   f"on every machine, unless srun starts the processes, e.g. TF_CONFIG='{_EXAMPLE}'")

