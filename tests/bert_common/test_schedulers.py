import pytest

from bert_common.cluster import find_cluster
from bert_common.errors import UserError
from bert_common.schedulers import described_cluster, share_of_gpus


def slurm(**changes: str | None) -> dict[str, str]:
  """The environment of a task, as srun of Slurm 22.05 makes it; None takes a variable away."""
  variables = {
      "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_STEP_NODELIST": "a[1-2]", "SLURM_STEP_NUM_TASKS": "4",
      "SLURM_STEP_TASKS_PER_NODE": "2(x2)", "SLURM_PROCID": "1", "SLURM_NODEID": "0", "SLURM_LOCALID": "1",
      "SLURMD_NODENAME": "a1", "SLURM_JOB_NODELIST": "a[1-9]", "SLURM_NTASKS": "4", **changes}
  return {name: value for name, value in variables.items() if value is not None}


def test_the_tasks_of_a_step_are_the_workers():
  found = find_cluster(slurm())
  assert found.names == ("worker 0", "worker 1", "worker 2", "worker 3") and found.index == 1
  assert found.addresses == ("a1:12112", "a1:12113", "a2:12112", "a2:12113")
  assert find_cluster(slurm(SLURM_NODEID="1", SLURM_LOCALID="0", SLURMD_NODENAME="a2", SLURM_PROCID="2")).index == 2
  # With --distribution=cyclic the second task is on the second node.
  assert find_cluster(slurm(SLURM_NODEID="1", SLURM_LOCALID="0", SLURMD_NODENAME="a2", SLURM_PROCID="1")).index == 2
  # An older Slurm does not name the node.
  assert find_cluster(slurm(SLURMD_NODENAME=None)) == found


@pytest.mark.parametrize(("listed", "nodes"), [
    ("vm", "vm"), ("n1,n2", "n1 n2"), ("n[1-3]", "n1 n2 n3"), ("n[01-03,7],login", "n01 n02 n03 n7 login"),
    ("n[008-011]", "n008 n009 n010 n011"), ("n[9-10]", "n9 n10"), ("n[1,3],m[2]", "n1 n3 m2"),
    ("r[1-2]n[01-02]", "r1n01 r1n02 r2n01 r2n02"), ("gpu-[1-2]-ib.cluster.example", "gpu-1-ib.cluster.example "
                                                    "gpu-2-ib.cluster.example"),
    ("a[1-2]b[3,5-6],c", "a1b3 a1b5 a1b6 a2b3 a2b5 a2b6 c"), ("n_[1-2]", "n_1 n_2")])
def test_ranges_of_nodes(listed, nodes):
  names = nodes.split()
  found = described_cluster(slurm(
      SLURM_STEP_NODELIST=listed, SLURM_STEP_TASKS_PER_NODE=f"2(x{len(names)})", SLURMD_NODENAME=names[0],
      SLURM_STEP_NUM_TASKS=str(2 * len(names))))
  assert [address.partition(":")[0] for address in found["cluster"]["worker"]] == [
      name for name in names for _ in range(2)]


@pytest.mark.parametrize(("tasks", "counts"), [
    ("4", [4]), ("2(x2)", [2, 2]), ("2(x3),1", [2, 2, 2, 1]), ("1,3,2(x2)", [1, 3, 2, 2]), ("16(x12)", [16] * 12)])
def test_numbers_of_tasks(tasks, counts):
  found = described_cluster(slurm(
      SLURM_STEP_NODELIST=f"n[1-{len(counts)}]" if len(counts) > 1 else "n1", SLURM_STEP_TASKS_PER_NODE=tasks,
      SLURM_STEP_NUM_TASKS=str(sum(counts)), SLURM_NODEID=str(len(counts) - 1), SLURM_LOCALID="0",
      SLURMD_NODENAME=f"n{len(counts)}"))
  workers = found["cluster"]["worker"]
  assert [sum(name.startswith(f"n{node}:") for name in workers) for node in range(1, len(counts) + 1)] == counts
  assert found["task"] == {"type": "worker", "index": sum(counts[:-1])}
  assert len(set(workers)) == len(workers)


@pytest.mark.parametrize("changes", [
    {"SLURM_STEP_NUM_TASKS": "1"}, {"SLURM_STEP_NUM_TASKS": None},
    # A script of sbatch, and a shell of salloc: in an allocation for several tasks, not in a step.
    {"SLURM_STEP_ID": None, "SLURM_STEP_NODELIST": None, "SLURM_STEP_TASKS_PER_NODE": None,
     "SLURM_STEP_NUM_TASKS": None}])
def test_one_process_is_no_cluster(changes):
  assert find_cluster(slurm(**changes)) is share_of_gpus(slurm(**changes)) is None
  assert find_cluster({}) is None


def test_tf_config_wins():
  given = '{"cluster": {"worker": ["x:1", "y:1"]}, "task": {"type": "worker", "index": 1}}'
  assert find_cluster(slurm(TF_CONFIG=given, SLURM_STEP_NODELIST="[")).addresses == ("x:1", "y:1")


def test_jobs_and_steps_at_the_same_time_have_other_ports():
  ports = set()
  for job in range(500, 560):
    for step in range(4):
      workers = described_cluster(slurm(SLURM_JOB_ID=str(job), SLURM_STEP_ID=str(step), SLURM_STEP_NODELIST="a1",
                                        SLURM_STEP_NUM_TASKS="8", SLURM_STEP_TASKS_PER_NODE="8"))["cluster"]["worker"]
      found = {int(address.partition(":")[2]) for address in workers}
      assert len(found) == 8 and not found & ports and min(found) >= 12000 and max(found) < 32768
      ports |= found
  for job in (0, 10**9):
    assert max(int(address[3:]) for address in described_cluster(slurm(SLURM_JOB_ID=str(job)))["cluster"]["worker"]
               ) < 32768


@pytest.mark.parametrize(("changes", "message"), [
    ({"SLURM_STEP_NODELIST": None}, "SLURM_STEP_NODELIST is not set: a list of nodes"),
    ({"SLURM_STEP_NODELIST": ""}, "SLURM_STEP_NODELIST=: a list of nodes"),
    ({"SLURM_STEP_NODELIST": "a[1-2"}, "SLURM_STEP_NODELIST=a[1-2: a list of nodes"),
    ({"SLURM_STEP_NODELIST": "a[2-1]"}, "a list of nodes"), ({"SLURM_STEP_NODELIST": "a[1--2]"}, "a list of nodes"),
    ({"SLURM_STEP_NODELIST": "a[]"}, "a list of nodes"), ({"SLURM_STEP_NODELIST": "a,,b"}, "a list of nodes"),
    ({"SLURM_STEP_NODELIST": "a[1-9999999999]"}, "a list of nodes"),
    ({"SLURM_STEP_NODELIST": "a[1-99999][1-99999][1-99999]"}, "a list of nodes"),
    ({"SLURM_STEP_NODELIST": "a b"}, "a list of nodes"), ({"SLURM_STEP_NODELIST": "\udcff"}, "a list of nodes"),
    ({"SLURM_STEP_NODELIST": "a[1-3]"}, "SLURM_STEP_TASKS_PER_NODE=2(x2): 2 nodes are expected to be 3"),
    ({"SLURM_STEP_NODELIST": "b[1-2]"}, "SLURM_NODEID=0: this node is not that one of b1, b2"),
    ({"SLURM_STEP_TASKS_PER_NODE": None}, "SLURM_STEP_TASKS_PER_NODE is not set: numbers such as 2(x3),1"),
    ({"SLURM_STEP_TASKS_PER_NODE": "2(x"}, "numbers such as"), ({"SLURM_STEP_TASKS_PER_NODE": "0"}, "numbers such as"),
    ({"SLURM_STEP_TASKS_PER_NODE": "x"}, "numbers such as"), ({"SLURM_STEP_TASKS_PER_NODE": "2,"}, "numbers such as"),
    ({"SLURM_STEP_TASKS_PER_NODE": "-2"}, "numbers such as"),
    ({"SLURM_STEP_NUM_TASKS": "5"}, "SLURM_STEP_NUM_TASKS=5: the nodes have 4 tasks"),
    ({"SLURM_STEP_NUM_TASKS": "x"}, "SLURM_STEP_NUM_TASKS=x: a whole number"),
    ({"SLURM_NODEID": None}, "SLURM_NODEID is not set: a whole number"), ({"SLURM_NODEID": "2"}, "this node is not"),
    ({"SLURM_NODEID": "-1"}, "a whole number"), ({"SLURM_NODEID": "9" * 5000}, "a whole number"),
    ({"SLURM_LOCALID": "2"}, "SLURM_LOCALID=2: a1 has 2 tasks"), ({"SLURM_LOCALID": "\u0663"}, "a whole number"),
    ({"SLURM_JOB_ID": ""}, "SLURM_JOB_ID=: a whole number"), ({"SLURM_STEP_ID": "batch"}, "a whole number")])
def test_what_is_wrong_with_the_variables_is_said(changes, message):
  with pytest.raises(UserError) as error:
    find_cluster(slurm(**changes))
  assert message in str(error.value) and "\n" not in str(error.value)
  assert "srun" in str(error.value) and "TF_CONFIG" in str(error.value)


@pytest.mark.parametrize(("visible", "on_node", "share"), [
    ("0,1,2,3", "4", "2,3"), ("GPU-a,GPU-b", "2", "GPU-b"),
    # Bound to the task by Slurm already; none.
    ("0,1", "4", None), ("0", "2", None), ("", "0", None), (None, None, None)])
def test_tasks_that_see_all_gpus_share_them(visible, on_node, share):
  assert share_of_gpus(slurm(CUDA_VISIBLE_DEVICES=visible, SLURM_GPUS_ON_NODE=on_node)) == share


def test_gpus_that_can_not_be_shared_are_refused():
  with pytest.raises(UserError, match="2 tasks share 3 GPUs of a1: start one task a node, or one a GPU"):
    share_of_gpus(slurm(CUDA_VISIBLE_DEVICES="0,1,2", SLURM_GPUS_ON_NODE="3"))


def test_hosts_of_sagemaker():
  hosts = '["algo-1", "algo-2"]'
  found = find_cluster({"SM_HOSTS": hosts, "SM_CURRENT_HOST": "algo-2"})
  assert (found.addresses, found.index) == (("algo-1:8890", "algo-2:8890"), 1)
  assert find_cluster({"SM_HOSTS": '["algo-1"]', "SM_CURRENT_HOST": "algo-1"}) is None
  for wrong, message in (("x", "SM_HOSTS=x: a JSON list"), ('"ab"', "a JSON list"), ("[1, 2]", "a JSON list"),
                         ("[" * 100_000, "a JSON list"), ('["a", "b"]', "SM_CURRENT_HOST=algo-2: it is none of a, b")):
    with pytest.raises(UserError) as error:
      find_cluster({"SM_HOSTS": wrong, "SM_CURRENT_HOST": "algo-2"})
    assert message in str(error.value)
