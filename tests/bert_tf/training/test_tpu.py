"""The programs of a TPU ask for nothing that a TPU does not have (docs/devices.md)."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from tests.bert_tf.training import tpu_program
from tests.page_commands import PROJECT

# The Python of `make aot`, which has the compilers.
COMPILERS = os.environ.get("AOT_PYTHON", str(PROJECT / "aot/bin/python"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("tpu")
    arguments = [sys.executable, tpu_program.__file__, folder]
    if os.path.exists(COMPILERS):
        arguments.append(folder / "step.hlo")
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="module")
def facts(folder) -> dict:
    return json.loads((folder / "facts.json").read_text())


@pytest.mark.parametrize("part", ["step", "evaluation"])
@pytest.mark.parametrize(
    "name", ["pretraining", "classifier", "choices", "tags", "answers", "sentences"]
)
def test_the_first_step_of_a_run_is_a_program_for_a_tpu(name, part, facts):
    """And so is the first batch of its evaluation, or of its prediction."""
    found = facts[name][part]
    assert found["inside"] > 50 and found["gates"] > 20
    # Values enter by TPUReplicatedInput only; there are neither strings nor unknown sizes.
    assert (found["ungated"], found["strings"], found["dynamic"]) == ([], [], [])


def test_the_compiler_of_a_tpu_takes_the_traced_step(folder):
    """That of eight chips of a v5e, with the sums over them."""
    if not os.path.exists(COMPILERS):
        pytest.skip("no Python with JAX's compilers: run make aot, or name one by AOT_PYTHON")
    arguments = [folder / "step.hlo", "v5e of 8", folder, "costs", "8"]
    done = subprocess.run(
        [COMPILERS, PROJECT / "benchmarks/aot_compile.py", *arguments],
        check=True,
        stdout=subprocess.PIPE,
    )
    costs = json.loads(done.stdout.splitlines()[-1])
    assert costs["flops"] > 5e5 and costs["temp"] > 0


def test_the_hosts_of_a_tpu_read_and_mask_records_without_python(facts):
    assert facts["pretraining"]["python"] == []
