"""`fit`, `evaluate` and `predict` on several devices give what one gives (docs/devices.md)."""

import subprocess
import sys

import numpy as np
import pytest

from tests.modeling import devices_program
from tests.modeling.devices_program import ALL_SIZES, BATCH, ROWS, results_of

# Devices → cases. More of them would only take longer: `devices_program.py` runs all.
CASES = {
    2: ["add_loss, SGD", "tags, BertAdamW"],
    8: ["head only"],
}
# What the process of two devices evaluates without training.
EVALUATIONS = [f"{head}, evaluation" for head in ("score", "answers", "choices", "left-to-right")]
# And trains in an epoch or two.
SHORT_CASES = [*EVALUATIONS, "generator", "overflow", "missing choices"]
# After which the losses have fallen by a tenth.
STEPS = 30


@pytest.fixture(scope="module")
def of_one_device() -> dict:
    results = {}
    for name in [*sum(CASES.values(), []), *SHORT_CASES]:
        results |= results_of(name, STEPS)
    return results


@pytest.fixture(scope="module")
def of_devices(tmp_path_factory) -> dict[int, dict]:
    """Devices → results."""
    results = {}
    for devices, names in CASES.items():
        path = tmp_path_factory.mktemp("devices") / "results.npz"
        if devices == 2:
            names = [*names, *SHORT_CASES]
        arguments = [devices_program.__file__, str(devices), str(STEPS), path, *names]
        subprocess.run([sys.executable, *arguments], check=True)
        with np.load(path) as file:
            results[devices] = dict(file)
    return results


def parts(results: dict, case: str, kind: str) -> dict:
    """The results of a kind ("fit", "end"...) by the rest of their names."""
    start = f"{case}|{kind}|"
    return {
        name.removeprefix(start): value for name, value in results.items() if name.startswith(start)
    }


@pytest.mark.parametrize("devices", CASES)
def test_several_devices_give_the_results_of_one(devices, of_one_device, of_devices):
    found = of_devices[devices]
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


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("case", EVALUATIONS)
def test_losses_do_not_depend_on_the_sizes_of_batches(case, devices, of_one_device, of_devices):
    found = {1: of_one_device, **of_devices}[devices]
    whole = parts(of_one_device, case, f"evaluate {BATCH}")
    for size in (BATCH, *ALL_SIZES):
        assert parts(found, case, f"evaluate {size}") == pytest.approx(whole, rel=1e-6), size


def test_a_generator_is_read_whole(of_one_device, of_devices):
    expected = parts(of_one_device, "generator", "fit")
    found = parts(of_devices[2], "generator", "fit")
    assert found["iterations"] == expected["iterations"] == -(-ROWS // 7)
    for name in ("loss", "accuracy"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-6)


def test_choices_drop_the_same_units_where_others_are_missing(of_one_device, of_devices):
    for kind in ("fit", "end"):
        found = parts(of_devices[2], "missing choices", kind)
        for name, expected in parts(of_one_device, "missing choices", kind).items():
            np.testing.assert_allclose(found[name], expected, rtol=0, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("devices", [1, 2])
def test_a_step_that_overflows_on_one_device_is_left_out(devices, of_one_device, of_devices):
    found = parts({1: of_one_device, **of_devices}[devices], "overflow", "fit")
    assert found == {"changed": False, "scale": 2.0**19}
