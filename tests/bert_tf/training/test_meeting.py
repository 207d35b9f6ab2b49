import contextlib
import json
import socket
import threading
import time

import pytest

from bert_common.cluster import Cluster
from bert_common.errors import UserError
from bert_tf.training import meeting
from bert_tf.training.meeting import meet
from bert_tf.training.signals import Interrupted, StopSignal


@pytest.fixture
def three() -> list[Cluster]:
  """Three processes with free ports."""
  with contextlib.ExitStack() as held:
    sockets = [held.enter_context(socket.socket()) for _ in range(3)]
    for one in sockets:
      one.bind(("localhost", 0))
    addresses = tuple(f"localhost:{one.getsockname()[1]}" for one in sockets)
  return [Cluster(("worker 0", "worker 1", "worker 2"), addresses, index) for index in range(3)]


class Waiting(threading.Thread):
  """A process that waits, as a thread."""

  def __init__(self, cluster: Cluster, timeout: float = 60.0):
    super().__init__(daemon=True)
    self.stop = StopSignal()
    self._arguments = cluster, timeout, self.stop
    self._result: object = None
    self.start()

  def run(self) -> None:
    try:
      self._result = meet(*self._arguments)
    except (UserError, Interrupted) as error:
      self._result = error

  def result(self):
    self.join(60)
    assert not self.is_alive()
    return self._result


def _connected(cluster: Cluster) -> socket.socket:
  """A connection to the first process, as soon as it listens."""
  deadline = time.monotonic() + 30
  while True:
    with contextlib.suppress(ConnectionRefusedError):
      return socket.create_connection(("localhost", int(cluster.addresses[0].rpartition(":")[2])))
    assert time.monotonic() < deadline


def test_all_meet_in_whatever_order_they_come(three):
  waiting = []
  for index in (2, 0, 1):
    waiting.append(Waiting(three[index]))
    time.sleep(0.3)
  assert all(isinstance(one.result(), meeting.Meeting) for one in waiting)
  # The port is TensorFlow's now, though the connections last.
  with socket.create_server(("", int(three[0].addresses[0].rpartition(":")[2]))):
    pass


def test_who_has_gone_is_named_by_those_who_stay(three):
  met = [one.result() for one in [Waiting(cluster) for cluster in three]]
  # As the kernel does for a process that is killed.
  met[1]._lines[0].close()
  found = {}
  threads = [threading.Thread(target=lambda index=index: found.update({index: met[index].who_has_gone()}))
             for index in (0, 2)]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join(60)
  assert found == {0: three[0].describe(1), 2: three[0].describe(1)}


def test_the_first_process_and_a_silent_one_are_named(three, monkeypatch):
  monkeypatch.setattr(meeting, "_SECONDS_TO_LEAVE", 0.3)
  met = [one.result() for one in [Waiting(cluster) for cluster in three]]
  assert met[0].who_has_gone() == f"{three[0].describe(1)}, {three[0].describe(2)}"
  met = [one.result() for one in [Waiting(cluster) for cluster in three]]
  for line in met[0]._lines.values():
    line.close()
  assert met[1].who_has_gone() == three[0].describe(0)
  # Stopped, say: neither a word nor an end.
  met = [one.result() for one in [Waiting(cluster) for cluster in three]]
  assert met[2].who_has_gone() == three[0].describe(0)


def test_one_that_does_not_come_is_named_and_given_up_by_all(three, monkeypatch, capfd):
  monkeypatch.setattr(meeting, "_SECONDS_BEFORE_FIRST", 0.2)
  monkeypatch.setattr(meeting, "_SECONDS_BETWEEN", 0.2)
  waiting = [Waiting(three[0], 1.5), Waiting(three[2])]
  for error in (one.result() for one in waiting):
    assert isinstance(error, UserError)
    assert str(error).startswith(f"{three[0].describe()} has waited 2 s for {three[0].describe(1)}: not started")
    assert "--cluster_timeout" in str(error)
  lines = set(capfd.readouterr().err.splitlines())
  for index in (0, 2):
    assert f"{three[index].describe()} waits for {three[0].describe(1)}: not started yet, or not reachable" in lines


def test_the_first_one_that_does_not_come_is_given_up(three):
  error = Waiting(three[1], 0.5).result()
  assert isinstance(error, UserError) and f"for {three[1].describe(0)}" in str(error)


@pytest.mark.parametrize("met", [0, 1])
def test_a_signal_to_one_ends_the_wait_of_all(three, met):
  waiting = [Waiting(three[0]), Waiting(three[1])]
  time.sleep(0.5)
  waiting[met].stop.received = "SIGTERM"
  results = [one.result() for one in waiting]
  assert all(isinstance(one, Interrupted) for one in results)
  assert str(results[met]) == "SIGTERM" and str(results[1 - met]) == "a signal to another process"


def test_one_that_is_started_again_is_waited_for_again(three):
  first = Waiting(three[0])
  with _connected(three[0]) as killed:
    killed.sendall(json.dumps(["bert_tf", 1, three[0].addresses]).encode() + b"\n")
    time.sleep(0.5)
  second = Waiting(three[2])
  time.sleep(0.5)
  assert first.is_alive() and second.is_alive()
  assert isinstance(Waiting(three[1]).result(), meeting.Meeting)
  assert isinstance(first.result(), meeting.Meeting) and isinstance(second.result(), meeting.Meeting)


@pytest.mark.parametrize("text", [b"GET / HTTP/1.1\r\n\r\n", b"", b"[]\n", b"{}\n", b"[1]\n", b'["bert_tf", 7, []]\n',
                                  b'["bert_tf", "1", []]\n', b'["bert_tf", [], []]\n', b"[" * 100_000 + b"\n",
                                  b"\xff\n"])
def test_strangers_are_not_counted(three, text):
  pair = [Cluster(three[0].names[:2], three[0].addresses[:2], index) for index in range(2)]
  first = Waiting(pair[0])
  with _connected(pair[0]) as stranger:
    stranger.sendall(text)
  assert isinstance(Waiting(pair[1]).result(), meeting.Meeting) and isinstance(first.result(), meeting.Meeting)


def test_another_server_at_the_address_of_the_first_is_not_the_first(three):
  with socket.create_server(("localhost", int(three[0].addresses[0].rpartition(":")[2]))) as server:
    second = Waiting(three[1], 1.0)
    connection, _ = server.accept()
    with connection:
      # The beginning of HTTP/2, as a server of TensorFlow sends it.
      connection.sendall(b"\0\0\x18\4\0\0\0\0\0\n")
    assert f"for {three[1].describe(0)}" in str(second.result())


def test_other_addresses_and_a_port_in_use_are_refused(three):
  other = Cluster(three[1].names, (*three[1].addresses[:2], "localhost:1"), 1)
  results = [one.result() for one in (Waiting(three[0]), Waiting(other))]
  for error in results:
    assert str(error).startswith(f"worker 1 has other addresses in its TF_CONFIG than {three[0].describe()}")
  with socket.create_server(("", int(three[0].addresses[0].rpartition(":")[2]))):
    error = Waiting(three[0]).result()
  assert str(error).startswith(f"{three[0].describe()} can't listen at its port: Address already in use")
