"""run_pretraining.py under a real Slurm of one node, which the test starts (Debian: slurm-wlm,
munge)."""

import contextlib
import getpass
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.training.run_directory import read_metrics
from tests.bert_tf.training.common import ONE_LAYER, write_records
from tests.processes import tensors

pytestmark = pytest.mark.processes
STEPS = 90
_PROGRAMS = (
    "munged",
    "slurmctld",
    "slurmd",
    "srun",
    "sbatch",
    "scancel",
    "scontrol",
    "sinfo",
    "squeue",
)
# Daemons are not on the path of every user.
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
_MISSING = [name for name in _PROGRAMS if shutil.which(name, path=_PATH) is None]
# cred_expire: a requeued job waits that long, and then for the next round of the scheduler, of 30
# and 60 s otherwise.
_CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerParameters=bf_interval=1,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait=120
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def wait_for(condition: Callable[[], object]) -> None:
    while not condition():
        time.sleep(0.1)


class Slurm:
    """Daemons of one node in a directory, whose user submits jobs."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self._ports = [socket.socket() for _ in range(2)]
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("TF_", "SLURM"))
        } | {"PATH": _PATH, "SLURM_CONF": str(folder / "slurm.conf")}

    def start(self) -> None:
        folder = self.folder
        # Bound without listening as long as the daemons run, which may then use the addresses
        # again.
        for one in self._ports:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("", 0))
        ports = [one.getsockname()[1] for one in self._ports]
        for name in ("state", "spool"):
            (folder / name).mkdir()
        (folder / "slurm.conf").write_text(
            _CONFIGURATION.format(
                host=socket.gethostname().partition(".")[0],
                ports=ports,
                user=getpass.getuser(),
                folder=folder,
            )
        )
        (folder / "munge.key").touch(0o600)
        (folder / "munge.key").write_bytes(secrets.token_bytes(128))
        self.do(
            "munged",
            "--force",
            f"--key-file={folder}/munge.key",
            f"--socket={folder}/munge.sock",
            f"--pid-file={folder}/munge.pid",
            f"--log-file={folder}/munge.log",
            f"--seed-file={folder}/munge.seed",
        )
        self.do("slurmctld")
        self.do("slurmd")
        wait_for(lambda: "idle" in self.do("sinfo", "--noheader", "--format=%t"))

    def stop(self) -> None:
        for one in self._ports:
            one.close()
        for name in ("slurmd", "slurmctld", "munge"):
            with contextlib.suppress(OSError, ValueError):
                os.kill(int((self.folder / f"{name}.pid").read_text()), signal.SIGTERM)

    def do(self, *words: str) -> str:
        return subprocess.run(
            words,
            env=self._environment,
            check=True,
            capture_output=True,
            text=True,
            cwd=self.folder,
        ).stdout

    def submit(self, name: str, *arguments: str) -> str:
        """Has two tasks run a script; returns the number of the job. Each task prints into a
        file."""
        script = self.folder / f"{name}.sh"
        project = pathlib.Path(__file__).resolve().parents[1]
        command = " ".join(
            f"'{word}'" for word in (sys.executable, f"{project}/{arguments[0]}", *arguments[1:])
        )
        script.write_text(
            f"#!/bin/bash\nsrun --output={name}-%t.log {command}\necho $? >> {name}.status\n"
        )
        return self.do(
            "sbatch",
            "--parsable",
            "--requeue",
            "--open-mode=append",
            "--ntasks=2",
            f"--output={name}.log",
            str(script),
        ).strip()

    def has_ended(self, job: str) -> bool:
        return not self.do("squeue", "--noheader", "--job", job, "--states=PD,R,CG,CF").strip()

    def texts(self, name: str) -> list[str]:
        paths = [self.folder / f"{name}-{task}.log" for task in range(2)] + [
            self.folder / f"{name}.log"
        ]
        return [path.read_text() if path.exists() else "" for path in paths]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory) -> Iterator[Slurm]:
    if _MISSING:
        pytest.skip(
            f"needs Slurm, {', '.join(_MISSING)} not found (Debian: apt-get install slurm-wlm munge)"
        )
    slurm = Slurm(tmp_path_factory.mktemp("slurm"))
    try:
        slurm.start()
        yield slurm
    finally:
        slurm.stop()


def has_reached(run: pathlib.Path, step: int) -> bool:
    return any(line["step"] >= step for line in read_metrics(str(run)))


def test_a_job_that_is_requeued_and_cancelled_ends_with_the_same_weights(slurm):
    folder = slurm.folder
    write_records(folder / "train.tfrecord", 100, 0)
    ONE_LAYER.to_file(str(folder / "bert_config.json"))
    command = [
        "run_pretraining.py",
        "--do_train",
        f"--input_file={folder}/train.tfrecord",
        f"--bert_config_file={folder}/bert_config.json",
        "--max_seq_length=16",
        "--max_predictions_per_seq=3",
        "--train_batch_size=8",
        "--learning_rate=1e-3",
        f"--num_train_steps={STEPS}",
        "--iterations_per_loop=2",
        "--save_checkpoints_steps=5",
    ]
    unbroken, run = folder / "unbroken-run", folder / "run"
    job = slurm.submit("unbroken", *command, f"--output_dir={unbroken}")
    wait_for(lambda: slurm.has_ended(job))
    assert (folder / "unbroken.status").read_text() == "0\n", slurm.texts("unbroken")
    assert "2 x CPU (MultiWorkerMirroredStrategy, 2 processes)" in slurm.texts("unbroken")[0]

    job = slurm.submit("first", *command, f"--output_dir={run}")
    wait_for(lambda: has_reached(run, 20))
    slurm.do("scontrol", "requeue", job)
    wait_for(lambda: slurm.texts("first")[0].count("resuming from") or has_reached(run, STEPS))
    reached = max(line["step"] for line in read_metrics(str(run)))
    assert 20 <= reached < STEPS
    wait_for(lambda: has_reached(run, reached + 10))
    slurm.do("scancel", job)
    wait_for(lambda: slurm.has_ended(job))
    saved = int(tf.train.latest_checkpoint(str(run)).rpartition("-")[2])
    assert f"SIGTERM: saved step {saved} in {run}" in slurm.texts("first")[0], slurm.texts("first")
    assert reached < saved < STEPS and "Traceback" not in "".join(slurm.texts("first"))

    job = slurm.submit("second", *command, f"--output_dir={run}")
    wait_for(lambda: slurm.has_ended(job))
    assert (folder / "second.status").read_text() == "0\n", slurm.texts("second")
    assert f"resuming from {run}/ckpt-{saved}" in slurm.texts("second")[0]
    found, expected = tensors(run), tensors(unbroken)
    assert set(found) == set(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
