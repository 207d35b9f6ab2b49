"""The programs of a TPU ask for nothing that a TPU does not have (docs/devices.md)."""

import json
import pathlib
import subprocess
import sys

import pytest

from tests.bert_tf.training import tpu_program


@pytest.fixture(scope="module")
def facts(tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("tpu")
    program = pathlib.Path(tpu_program.__file__)
    subprocess.run([sys.executable, program, folder], check=True, stdout=subprocess.DEVNULL)
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


def test_the_hosts_of_a_tpu_read_and_mask_records_without_python(facts):
    assert facts["pretraining"]["python"] == []
