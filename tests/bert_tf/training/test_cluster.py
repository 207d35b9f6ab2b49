import json
import pathlib
import re
import subprocess

import pytest
import yaml

from bert_common.errors import UserError
from bert_tf.training.cluster import Cluster, find_cluster
from tests.refusals import assert_refused

TASK = {"type": "worker", "index": 0}


def test_the_processes_in_their_order():
    workers = {"worker": ["a:1", "[::1]:2"]}
    found = find_cluster(
        {
            "TF_CONFIG": json.dumps(
                {
                    "cluster": {**workers, "chief": ["c.example.org:65535"]},
                    "task": {"type": "worker", "index": 1},
                }
            )
        }
    )
    assert found == Cluster(
        ("chief 0", "worker 0", "worker 1"), ("c.example.org:65535", "a:1", "[::1]:2"), 2
    )
    assert found.describe() == "worker 1 ([::1]:2)"
    assert find_cluster({"TF_CONFIG": found.tf_config}) == found
    config = {
        "cluster": {**workers, "ps": []},
        "task": {"type": "worker", "index": "0"},
        "environment": "cloud",
    }
    assert find_cluster({"TF_CONFIG": json.dumps(config)}).index == 0
    # TensorFlow 1 calls the chief so.
    former = {"cluster": {**workers, "master": ["m:1"]}, "task": {"type": "master", "index": 0}}
    found = find_cluster({"TF_CONFIG": json.dumps(former)})
    assert found.names == ("chief 0", "worker 0", "worker 1") and found.index == 0
    assert '"chief": ["m:1"]' in found.tf_config
    assert find_cluster({}) is find_cluster({"TF_CONFIG": ""}) is None
    # TensorFlow takes these for one process, too.
    for alone in ({}, {"task": TASK}, {"cluster": {}, "task": TASK}):
        assert find_cluster({"TF_CONFIG": json.dumps(alone)}) is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "it is not set"),
        ("", "it is not set"),
        ("not JSON", "it is not JSON"),
        ("[]", '"cluster" and "task" must be objects'),
        ({"cluster": {"worker": ["a:1"]}}, '"cluster" and "task" must be'),
        ({}, 'it has no "cluster"'),
        ({"cluster": {}, "task": TASK}, 'it has no "cluster"'),
        ({"cluster": {"worker": "a:1"}, "task": TASK}, '"worker" must be a list of addresses'),
        ({"cluster": {"worker": [1]}, "task": TASK}, "1 is no address, host:port is expected"),
        ({"cluster": {"worker": ["http://a:1"]}, "task": TASK}, "'http://a:1' is no address"),
        ({"cluster": {"worker": ["a"]}, "task": TASK}, "'a' is no address"),
        ({"cluster": {"worker": ["a:1", "a:1"]}, "task": TASK}, "a:1 is there twice"),
        (
            {"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": TASK},
            "'ps' is no kind of process, chief and worker are",
        ),
        (
            {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 2}},
            "this process is worker 2, but there are worker 0, worker 1",
        ),
        (
            {"cluster": {"worker": ["a:1"]}, "task": {"type": "chief", "index": 0}},
            "this process is chief 0",
        ),
    ],
)
def test_what_is_wrong_with_tf_config(value, message):
    given = (
        {}
        if value is None
        else {"TF_CONFIG": value if isinstance(value, str) else json.dumps(value)}
    )
    assert_refused(
        lambda: find_cluster(given, required=True),
        f"TF_CONFIG: {message}",
        "multi_worker_mirrored needs this environment variable",
    )


@pytest.fixture
def scontrol(tmp_path, monkeypatch):
    """Slurm's own expansion of two lists of nodes."""
    (tmp_path / "scontrol").write_text(
        "#!/bin/sh\ncase $3 in 'a[1-2]') printf 'a1\\na2\\n';; 'gpu[01-03,7]') printf 'gpu01\\ngpu02\\ngpu03\\ngpu7\\n';;"
        "*) exit 1;; esac\n"
    )
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")


def slurm(**changes: str | None) -> dict[str, str]:
    """The environment of a task, as srun of Slurm 22.05 makes it; None takes a variable away."""
    variables = {
        "SLURM_JOB_ID": "7",
        "SLURM_STEP_ID": "0",
        "SLURM_STEP_NODELIST": "a[1-2]",
        "SLURM_STEP_NUM_TASKS": "4",
        "SLURM_STEP_TASKS_PER_NODE": "2(x2)",
        "SLURM_PROCID": "1",
        "SLURM_NODEID": "0",
        "SLURM_LOCALID": "1",
        "SLURM_JOB_NODELIST": "a[1-9]",
        "SLURM_NTASKS": "4",
        **changes,
    }
    return {name: value for name, value in variables.items() if value is not None}


def test_the_tasks_of_a_step_are_the_workers(scontrol):
    found = find_cluster(slurm())
    assert found.names == ("worker 0", "worker 1", "worker 2", "worker 3") and found.index == 1
    assert found.addresses == ("a1:12112", "a1:12113", "a2:12112", "a2:12113")
    # With --distribution=cyclic the second task is on the second node.
    assert find_cluster(slurm(SLURM_NODEID="1", SLURM_LOCALID="0", SLURM_PROCID="1")).index == 2
    found = find_cluster(
        slurm(
            SLURM_STEP_NODELIST="gpu[01-03,7]",
            SLURM_STEP_TASKS_PER_NODE="1(x3),2",
            SLURM_NODEID="3",
            SLURM_LOCALID="1",
            SLURM_STEP_NUM_TASKS="5",
        )
    )
    assert [address.partition(":")[0] for address in found.addresses] == [
        "gpu01",
        "gpu02",
        "gpu03",
        "gpu7",
        "gpu7",
    ]
    assert found.index == 4
    # TF_CONFIG wins.
    assert find_cluster(slurm(TF_CONFIG=found.tf_config)) == found


def test_steps_at_the_same_time_have_ports_of_their_own(scontrol):
    ports = [
        find_cluster(slurm(SLURM_JOB_ID=job, SLURM_STEP_ID=step)).addresses[0]
        for job in ("7", "8", "9")
        for step in ("0", "1", "2")
    ]
    assert len(set(ports)) == 9


@pytest.mark.parametrize(
    "changes",
    [
        {"SLURM_STEP_NUM_TASKS": "1"},
        {"SLURM_STEP_NUM_TASKS": None},
        # A script of sbatch, and a shell of salloc: in an allocation for several tasks, not in a
        # step.
        {"SLURM_STEP_ID": None},
    ],
)
def test_processes_that_are_alone(changes):
    assert find_cluster(slurm(**changes)) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"SLURM_STEP_NODELIST": None}, "KeyError: 'SLURM_STEP_NODELIST'"),
        ({"SLURM_STEP_NODELIST": "a1"}, "ValueError: zip"),
        ({"SLURM_LOCALID": "5"}, "IndexError"),
        ({"SLURM_STEP_NODELIST": "b[1-2]"}, "CalledProcessError"),
    ],
)
def test_what_is_not_known_of_a_step_is_one_line(scontrol, changes, message):
    with pytest.raises(
        UserError, match="start them with srun where scontrol is installed"
    ) as error:
        find_cluster(slurm(**changes))
    assert message in str(error.value)


_PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/many_machines.md"


@pytest.mark.parametrize("kind", ["Job", "JobSet"])
def test_the_manifests_for_kubernetes_give_each_pod_its_place(kind):
    objects = [
        one
        for text in re.findall(r"```yaml\n(.*?)```", _PAGE.read_text("utf-8"), re.DOTALL)
        for one in yaml.safe_load_all(text)
    ]
    (manifest,) = (one for one in objects if one["kind"] == kind)
    name = manifest["metadata"]["name"]
    if kind == "Job":
        # https://kubernetes.io/docs/tasks/job/job-with-pod-to-pod-communication
        job, pods, service = (
            manifest["spec"],
            name,
            manifest["spec"]["template"]["spec"]["subdomain"],
        )
        (headless,) = (one for one in objects if one["kind"] == "Service")
        assert headless["metadata"]["name"] == service
        assert headless["spec"]["clusterIP"] == "None"
        assert headless["spec"]["selector"] == {"job-name": name}
    else:
        # https://jobset.sigs.k8s.io/docs/concepts: <JobSet>-<Job>-<index of the Job>-<pod>
        (jobs,) = manifest["spec"]["replicatedJobs"]
        job, pods = jobs["template"]["spec"], f"{name}-{jobs['name']}-0"
        service = manifest["spec"]["network"]["subdomain"]
    assert job["completionMode"] == "Indexed"
    (container,) = job["template"]["spec"]["containers"]
    processes = int(container["env"][0]["value"])
    assert job["completions"] == job["parallelism"] == processes
    (script,) = container["args"]
    # What the training command would see.
    script = script.split("exec python")[0] + "printenv TF_CONFIG"
    for index in range(processes):
        variables = {"PROCESSES": str(processes), "JOB_COMPLETION_INDEX": str(index)}
        printed = subprocess.run(
            [*container["command"], script],
            env={"PATH": "/usr/bin:/bin", **variables},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        cluster = find_cluster({"TF_CONFIG": printed})
        assert cluster.index == index
        assert cluster.addresses == tuple(
            f"{pods}-{number}.{service}:2222" for number in range(processes)
        )
