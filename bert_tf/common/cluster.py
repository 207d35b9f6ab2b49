"""The processes of a run on several machines: the environment variable TF_CONFIG, and who is still missing.

Input: TF_CONFIG, as TensorFlow's `TFConfigClusterResolver` reads it. Output: `Cluster`, for
`bert_tf/training/devices.py`.
"""

import contextlib
import dataclasses
import json
import os
import re
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import IO

from bert_tf.common.errors import UserError

_EXAMPLE = '{"cluster": {"worker": ["host1:2222", "host2:2222"]}, "task": {"type": "worker", "index": 0}}'
_KINDS = ("chief", "worker")
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:.]+\]|[\w.-]+):(\d{1,5})", re.ASCII)
# When a process that waits prints for which others, and how often again.
_SECONDS_BEFORE_FIRST, _SECONDS_BETWEEN = 10.0, 30.0
_SECONDS_TO_CONNECT = 2.0


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

  def silent(self) -> list[str]:
    """The other processes that do not answer at their addresses, e.g. "worker 1 (host2:2222)"."""
    found = []
    for number, (name, address) in enumerate(zip(self.names, self.addresses, strict=True)):
      host, _, port = address.rpartition(":")
      if number == self.index:
        continue
      try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS_TO_CONNECT).close()
      except OSError:
        found.append(f"{name} ({address})")
    return found


def read_cluster() -> Cluster:
  """The cluster of TF_CONFIG. Raises `UserError` that says what is wrong with it, or that it is not set."""
  text = os.environ.get("TF_CONFIG", "")
  if not text:
    raise _wrong("it is not set")
  try:
    config = json.loads(text)
  except (ValueError, RecursionError):
    raise _wrong("it is not JSON") from None
  cluster, task = (config.get(key) if isinstance(config, dict) else None for key in ("cluster", "task"))
  if not isinstance(cluster, dict) or not isinstance(task, dict):
    raise _wrong('"cluster" and "task" must be objects')
  # TensorFlow reads it, too.
  if config.get("rpc_layer") not in (None, "", "grpc"):
    raise _wrong(f'"rpc_layer" is {json.dumps(config["rpc_layer"])}, only "grpc" is possible')
  names, addresses = [], []
  for kind, listed in cluster.items():
    if kind not in _KINDS:
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


@contextlib.contextmanager
def told_who_is_missing() -> Iterator[None]:
  """Prints on stderr, every so often while the block waits for the other processes, which of them do not answer.

  That is done by a process of its own: TensorFlow lets no thread of Python's run while it waits.
  """
  watcher = subprocess.Popen([sys.executable, "-m", "bert_tf.common.cluster"], stdin=subprocess.PIPE,
                             cwd=os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
  try:
    yield
  finally:
    watcher.stdin.close()
    watcher.wait()


def watch(cluster: Cluster, ends: IO, first: float = _SECONDS_BEFORE_FIRST, between: float = _SECONDS_BETWEEN) -> None:
  """Watches until `ends`, a pipe, is closed: also by the death of the process that waits."""
  seconds = first
  while not select.select([ends], [], [], seconds)[0]:
    seconds = between
    silent = cluster.silent()
    who = f"{', '.join(silent)}: not started yet, or not reachable" if silent else "the others, which are starting"
    print(f"{cluster.names[cluster.index]} ({cluster.addresses[cluster.index]}) waits for {who}", file=sys.stderr,
          flush=True)


def _wrong(what: str) -> UserError:
  return UserError(f"TF_CONFIG: {what}: --distribution_strategy=multi_worker_mirrored needs this environment variable "
                   f"on every machine, e.g. TF_CONFIG='{_EXAMPLE}'")


if __name__ == "__main__":
  watch(read_cluster(), sys.stdin)
