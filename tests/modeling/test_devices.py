"""`fit`, `evaluate` and `predict` on several devices give what one gives (docs/devices.md)."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

from tests.modeling import devices_program
from tests.modeling.devices_program import results_of

# Devices → cases. More of them would only take longer: `devices_program.py` runs all.
CASES = {
    2: ["labels, SGD", "tags, BertAdamW"],
    8: ["head only"],
}
# After which the losses have fallen by a tenth.
STEPS = 30


@pytest.fixture(scope="module")
def of_one_device() -> dict:
    results = {}
    for names in CASES.values():
        for name in names:
            results |= results_of(name, STEPS)
    return results


def parts(results: dict, case: str, kind: str) -> dict:
    """The results of a kind ("fit", "end"...) by the rest of their names."""
    start = f"{case}|{kind}|"
    return {
        name.removeprefix(start): value for name, value in results.items() if name.startswith(start)
    }


@pytest.mark.parametrize("devices", CASES)
def test_several_devices_give_the_results_of_one(devices, of_one_device, tmp_path):
    program = pathlib.Path(devices_program.__file__)
    path = tmp_path / "results.npz"
    arguments = [program, str(devices), str(STEPS), path, *CASES[devices]]
    subprocess.run([sys.executable, *arguments], check=True)
    with np.load(path) as file:
        found = dict(file)
    for case in CASES[devices]:
        before, after = (parts(of_one_device, case, kind) for kind in ("evaluate 27", "after"))
        assert after["loss"] < 0.9 * before["loss"], case
        for kind in ("evaluate 27", "evaluate 7", "fit", "after", "predict"):
            for name, expected in parts(of_one_device, case, kind).items():
                value = found[f"{case}|{kind}|{name}"]
                # Predictions have the differences of all weights.
                limit = 1e-5 if kind == "predict" else 1e-6
                np.testing.assert_allclose(value, expected, rtol=limit, atol=limit, err_msg=name)
        start = parts(of_one_device, case, "start")
        for name, expected in parts(of_one_device, case, "end").items():
            # The gradient of a key's bias is rounding: a softmax does not see it.
            if name.endswith("attention/key/bias"):
                continue
            distance = np.linalg.norm(found[f"{case}|end|{name}"] - expected)
            limit = 1e-3 * np.linalg.norm(expected - start[name])
            if case.endswith("SGD"):
                limit = 1e-6 * expected.size**0.5
            assert distance <= limit, (case, name)


def test_losses_do_not_depend_on_the_sizes_of_batches(of_one_device):
    case = "labels, SGD"
    whole = parts(of_one_device, case, "evaluate 27")
    assert parts(of_one_device, case, "evaluate 7") == pytest.approx(whole, rel=2e-6)
