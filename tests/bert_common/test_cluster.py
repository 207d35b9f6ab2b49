import json

import pytest

from bert_common.cluster import Cluster, find_cluster, read_cluster
from bert_common.errors import UserError

TASK = {"type": "worker", "index": 0}


def test_the_processes_in_their_order():
  workers = {"worker": ["a:1", "[::1]:2"]}
  found = find_cluster({"TF_CONFIG": json.dumps({
      "cluster": {**workers, "chief": ["c.example.org:65535"]}, "task": {"type": "worker", "index": 1}})})
  assert found == Cluster(("chief 0", "worker 0", "worker 1"), ("c.example.org:65535", "a:1", "[::1]:2"), 2)
  assert not found.is_chief and found.describe() == "worker 1 ([::1]:2)"
  assert find_cluster({"TF_CONFIG": found.tf_config}) == found
  config = {"cluster": {**workers, "ps": []}, "task": {"type": "worker", "index": "0"}, "environment": "cloud"}
  assert find_cluster({"TF_CONFIG": json.dumps(config)}).is_chief


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
    ({"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": TASK}, "'ps': parameter servers are not used"),
    ({"cluster": {"worker": ["a:1"], "evaluator": ["b:1"]}, "task": TASK}, "'evaluator': the workers evaluate"),
    ({"cluster": {"boss": ["a:1"]}, "task": TASK}, "'boss' is no kind of process, chief and worker are"),
    ({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 2}},
     "this process is worker 2, but there are worker 0, worker 1"),
    ({"cluster": {"worker": ["a:1"]}, "task": {"type": "chief", "index": 0}}, "this process is chief 0"),
    ({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": None}}, "this process is worker None"),
    ({"cluster": {"worker": ["a:1"]}, "task": {}}, "this process is None None")])
def test_what_is_wrong_with_tf_config_is_said(value, message):
  with pytest.raises(UserError) as error:
    read_cluster({} if value is None else {"TF_CONFIG": value if isinstance(value, str) else json.dumps(value)})
  assert str(error.value).startswith(f"TF_CONFIG: {message}") and "\n" not in str(error.value)
  assert "multi_worker_mirrored needs this environment variable" in str(error.value)
