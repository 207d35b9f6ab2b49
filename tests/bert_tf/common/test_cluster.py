import json
import os
import socket
import threading
import time

import pytest

from bert_tf.common import cluster
from bert_tf.common.cluster import Cluster, read_cluster, told_who_is_missing
from bert_tf.common.errors import UserError

TASK = {"type": "worker", "index": 0}


def test_the_processes_in_their_order(monkeypatch):
  workers = {"worker": ["a:1", "[::1]:2"]}
  monkeypatch.setenv("TF_CONFIG", json.dumps({
      "cluster": {**workers, "chief": ["c.example.org:65535"]}, "task": {"type": "worker", "index": 1}}))
  found = read_cluster()
  assert found == Cluster(("chief 0", "worker 0", "worker 1"), ("c.example.org:65535", "a:1", "[::1]:2"), 2)
  assert not found.is_chief
  monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": workers, "task": {"type": "worker", "index": "0"}}))
  assert read_cluster().is_chief


@pytest.mark.parametrize(("value", "message"), [
    (None, "it is not set"), ("", "it is not set"), ("not JSON", "it is not JSON"), ("[" * 100_000, "it is not JSON"),
    ("[]", '"cluster" and "task" must be objects'), ({"cluster": {"worker": ["a:1"]}}, '"cluster" and "task" must be'),
    ({"cluster": [], "task": TASK}, '"cluster" and "task" must be'),
    ({"cluster": {}, "task": TASK}, "it names no process"),
    ({"cluster": {"worker": []}, "task": TASK}, "it names no process"),
    ({"cluster": {"worker": "a:1"}, "task": TASK}, '"worker" must be a list of addresses'),
    ({"cluster": {"worker": {"0": "a:1"}}, "task": TASK}, '"worker" must be a list of addresses'),
    ({"cluster": {"worker": [1]}, "task": TASK}, "1 is no address, host:port is expected"),
    ({"cluster": {"worker": ["http://a:1"]}, "task": TASK}, "'http://a:1' is no address"),
    ({"cluster": {"worker": ["a"]}, "task": TASK}, "'a' is no address"),
    ({"cluster": {"worker": ["a:0"]}, "task": TASK}, "'a:0' is no address"),
    ({"cluster": {"worker": ["a:66000"]}, "task": TASK}, "'a:66000' is no address"),
    ({"cluster": {"worker": ["a:1", "a:1"]}, "task": TASK}, "a:1 is there twice"),
    ({"cluster": {"worker": ["\udcff:1"]}, "task": TASK}, "'\\udcff:1' is no address"),
    ({"cluster": {"worker": ["a:\u0663"]}, "task": TASK}, "'a:\u0663' is no address"),
    ({"cluster": {"worker": ["a:1"]}, "task": TASK, "rpc_layer": 5}, '"rpc_layer" is 5, only "grpc" is possible'),
    ({"cluster": {"ps": ["a:1"]}, "task": TASK}, "'ps' is no kind of process, chief and worker are"),
    ({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 2}},
     "this process is worker 2, but there are worker 0, worker 1"),
    ({"cluster": {"worker": ["a:1"]}, "task": {"type": "chief", "index": 0}}, "this process is chief 0"),
    ({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": None}}, "this process is worker None"),
    ({"cluster": {"worker": ["a:1"]}, "task": {}}, "this process is None None")])
def test_what_is_wrong_with_tf_config_is_said(monkeypatch, value, message):
  monkeypatch.delenv("TF_CONFIG", raising=False)
  if value is not None:
    monkeypatch.setenv("TF_CONFIG", value if isinstance(value, str) else json.dumps(value))
  with pytest.raises(UserError) as error:
    read_cluster()
  assert str(error.value).startswith(f"TF_CONFIG: {message}") and "\n" not in str(error.value)
  assert "multi_worker_mirrored needs this environment variable" in str(error.value)


def test_a_process_that_waits_says_for_whom(capfd):
  with socket.socket() as there, socket.socket() as absent:
    for one in (there, absent):
      one.bind(("localhost", 0))
    there.listen()
    addresses = tuple(f"localhost:{one.getsockname()[1]}" for one in (there, absent))
    three = Cluster(("worker 0", "worker 1", "worker 2"), ("localhost:1", *addresses), 0)
    for silent in (f"worker 2 ({addresses[1]}): not started yet, or not reachable", "the others, which are starting"):
      reader, writer = os.pipe()
      with open(reader) as ends:
        thread = threading.Thread(target=cluster.watch, args=(three, ends, 0.0, 0.01))
        thread.start()
        # Two lines and the end, however long they take.
        lines = []
        while len(lines) < 2:
          time.sleep(0.01)
          lines += capfd.readouterr().err.splitlines()
        os.close(writer)
        thread.join(60)
      assert not thread.is_alive()
      assert set(lines) == {f"worker 0 (localhost:1) waits for {silent}"}
      absent.listen()


def test_the_watching_process_ends_with_the_wait(monkeypatch, capfd):
  monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"worker": ["localhost:1"]}, "task": TASK}))
  with told_who_is_missing():
    pass
  assert capfd.readouterr().err == ""
