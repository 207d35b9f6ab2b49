"""Connections between the processes of a cluster beside TensorFlow's: who is missing at the start, who has gone later.

Input: a `Cluster` (`bert_common/cluster.py`). Output: a `Meeting`, which outlasts the start of TensorFlow: the
kernel closes the connections of a process that dies, whatever it dies of.

All connect to the first process, at the address that TensorFlow is going to use. Lines of text go over a connection:
JSON lists of a word and what belongs to it.
"""

import contextlib
import json
import select
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Sequence

from bert_common.cluster import Cluster
from bert_common.errors import UserError
from bert_tf.training.signals import StopSignal

# When a process that waits prints for which others, and how often again.
_SECONDS_BEFORE_FIRST, _SECONDS_BETWEEN = 10.0, 30.0
_SECONDS_TO_CONNECT, _SECONDS_BETWEEN_LOOKS = 2.0, 0.2
# Between the first process that notices that one has gone, and the last.
_SECONDS_TO_LEAVE = 5.0
_LONGEST_LINE = 1 << 20
# Words of the lines: from the others; from the first process.
_HERE, _LEAVES = "bert_tf", "leaves"
_MISSING, _GO, _STOP, _GONE = "missing", "go", "stop", "gone"


class Meeting:
  """The processes of a cluster that have met, each with its connection.

  Args:
    lines: number of a process → the connection to it: of the first process all others, of another one the first.
  """

  def __init__(self, cluster: Cluster, lines: dict[int, "_Line"]):
    self._cluster, self._lines = cluster, lines

  def who_has_gone(self) -> str:
    """The processes that have ended before the others, e.g. "worker 1 (host2:2222)"; called once, to end.

    That of a process that doesn't answer is named after some seconds.
    """
    gone = self._named_by_first() if 0 in self._lines else self._seen_by_first()
    _send_all(self._lines.values(), _GONE, gone)
    return gone

  def _seen_by_first(self) -> str:
    """The processes that have ended without a word; if there are none, those that don't say that they end."""
    said = {index: line.received() for index, line in _ready(self._lines, _SECONDS_TO_LEAVE)}
    ended = [index for index, words in said.items() if words is None]
    silent = [index for index in self._lines if index not in said]
    return ", ".join(map(self._cluster.describe, sorted(ended or silent)))

  def _named_by_first(self) -> str:
    _send_all(self._lines.values(), _LEAVES)
    for _, line in _ready(self._lines, 2 * _SECONDS_TO_LEAVE):
      words = line.received()
      if words and words[0] == _GONE:
        return str(words[1])
    return self._cluster.describe(0)


def meet(cluster: Cluster, timeout: float, stop: StopSignal) -> Meeting:
  """Waits until all processes of the cluster are there.

  Args:
    timeout: seconds.

  Raises:
    UserError: not all came, or they have other addresses in their TF_CONFIG; the address of this process is not free.
    Interrupted: a signal came to one of them.
  """
  wait = _Wait(cluster, timeout, stop)
  return Meeting(cluster, _gather(wait) if cluster.is_chief else {0: _join(wait)})


class _Wait:
  """How long has been waited, and for whom; what is looked at again and again meanwhile."""

  def __init__(self, cluster: Cluster, timeout: float, stop: StopSignal):
    self.cluster, self.timeout, self.stop = cluster, timeout, stop
    self._started = time.monotonic()
    self._next = self._started + _SECONDS_BEFORE_FIRST

  def check(self, missing: str) -> None:
    """Raises `Interrupted` and, when the time is over, `UserError`; prints now and then."""
    self.stop.check()
    now, me = time.monotonic(), self.cluster.describe()
    if now - self._started > self.timeout:
      raise UserError(f"{me} has waited {self.timeout:.0f} s for {missing}: not started, or not reachable: see what it "
                      "printed, and start all processes again; --cluster_timeout is how long they wait")
    if now < self._next:
      return
    self._next = now + _SECONDS_BETWEEN
    # In one piece, as others print there, too.
    sys.stderr.write(f"{me} waits for {missing}: not started yet, or not reachable\n")
    sys.stderr.flush()

  def obey(self, words: Sequence) -> None:
    """Ends the wait where another process has ended it."""
    if words[0] == _STOP:
      raise UserError(str(words[1]))
    if words[0] == _LEAVES:
      self.stop.received = self.stop.received or "a signal to another process"
    self.stop.check()


class _Line:
  """A connection, and the part of a line that has come."""

  def __init__(self, connection: socket.socket):
    connection.settimeout(_SECONDS_TO_CONNECT)
    self._connection, self._text, self.fileno = connection, b"", connection.fileno

  def send(self, *words: object) -> None:
    """Sends a line, unless the other end has gone."""
    with contextlib.suppress(OSError):
      self._connection.sendall(json.dumps(words).encode() + b"\n")

  def received(self) -> list | None:
    """The words of the last complete line, [""] where there is none yet; None where the other end has gone."""
    try:
      text = self._connection.recv(_LONGEST_LINE)
    except OSError:
      return None
    lines = (self._text + text).split(b"\n")
    self._text = lines[-1]
    if not text or len(self._text) > _LONGEST_LINE:
      return None
    try:
      words = json.loads(lines[-2]) if len(lines) > 1 else [""]
    except (ValueError, RecursionError):
      # A server of TensorFlow, say, of a run that is about to end.
      return None
    return words if isinstance(words, list) and words else None

  def close(self) -> None:
    self._connection.close()


def _ready(lines: dict[int, _Line], seconds: float) -> Iterator[tuple[int, _Line]]:
  """Each connection once, as something comes."""
  waiting, deadline = dict(lines), time.monotonic() + seconds
  while waiting and (left := deadline - time.monotonic()) > 0:
    for line in select.select(list(waiting.values()), [], [], left)[0]:
      index = next(index for index, one in waiting.items() if one is line)
      del waiting[index]
      yield index, line


def _gather(wait: _Wait) -> dict[int, _Line]:
  """The first process: accepts the others."""
  cluster, there = wait.cluster, {}
  try:
    with _listening(cluster) as listener:
      while missing := [index for index in range(1, len(cluster.names)) if index not in there]:
        names = ", ".join(map(cluster.describe, missing))
        _send_all(there.values(), _MISSING, names)
        wait.check(names)
        for one in select.select([listener, *there.values()], [], [], _SECONDS_BETWEEN_LOOKS)[0]:
          if one is listener:
            there |= _accepted(listener, cluster)
          else:
            index = next(index for index, line in there.items() if line is one)
            words = one.received()
            if words is None:
              there.pop(index).close()
            else:
              wait.obey(words)
  except BaseException as error:
    # Whoever waits with this process must not wait for it in vain.
    _send_all(there.values(), *_farewell(error))
    raise
  _send_all(there.values(), _GO)
  return there


def _listening(cluster: Cluster) -> socket.socket:
  """A socket at the address of this process."""
  port = int(cluster.addresses[cluster.index].rpartition(":")[2])
  both = socket.has_dualstack_ipv6()
  try:
    return socket.create_server(("", port), family=socket.AF_INET6 if both else socket.AF_INET, dualstack_ipv6=both,
                                backlog=len(cluster.names))
  except OSError as error:
    raise UserError(f"{cluster.describe()} can't listen at its port: {error.strerror}: another program uses it, or a "
                    "run that is ending; choose another one in TF_CONFIG") from None


def _accepted(listener: socket.socket, cluster: Cluster) -> dict[int, _Line]:
  """The process that connects, if it is one of the cluster."""
  line = _Line(listener.accept()[0])
  words = line.received()
  if words is None or len(words) != 3 or words[0] != _HERE or words[1] not in range(1, len(cluster.names)):
    line.close()
    return {}
  if words[2] != list(cluster.addresses):
    other = f"{cluster.names[words[1]]} has other addresses in its TF_CONFIG than {cluster.describe()}"
    line.send(_STOP, other)
    raise UserError(f"{other}: give all processes the same")
  return {words[1]: line}


def _send_all(lines: Iterable[_Line], *words: object) -> None:
  for line in lines:
    line.send(*words)


def _join(wait: _Wait) -> _Line:
  """Another process: connects to the first one, until that says that all are there."""
  cluster = wait.cluster
  host, _, port = cluster.addresses[0].rpartition(":")
  while True:
    missing = cluster.describe(0)
    wait.check(missing)
    try:
      line = _Line(socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS_TO_CONNECT))
    except OSError:
      time.sleep(_SECONDS_BETWEEN_LOOKS)
      continue
    line.send(_HERE, cluster.index, cluster.addresses)
    words: list | None = [""]
    try:
      while words is not None:
        wait.check(missing)
        if not select.select([line], [], [], _SECONDS_BETWEEN_LOOKS)[0]:
          continue
        words = line.received()
        if words and words[0] == _GO:
          return line
        if words and words[0] == _MISSING:
          missing = str(words[1])
        elif words:
          wait.obey(words)
    except BaseException as error:
      line.send(*_farewell(error))
      raise
    line.close()
    time.sleep(_SECONDS_BETWEEN_LOOKS)


def _farewell(error: BaseException) -> tuple[str, ...]:
  return (_STOP, str(error)) if isinstance(error, UserError) else (_LEAVES,)
