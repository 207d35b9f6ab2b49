"""Training on several devices on JAX gives one device's weights (docs/keras.md, Backends)."""

import importlib.util
import pathlib
import subprocess
import sys

import numpy as np
import pytest

_PROGRAM = pathlib.Path(__file__).with_name("jax_devices_program.py")
_TASKS = ("classes", "tags", "pre-training")

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("jax") is None, reason="jax is not installed"
)


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, np.ndarray]:
    """`MODE|TASK|PATH of a weight`, "losses" or "shards" → value."""
    path = tmp_path_factory.mktemp("jax_devices") / "results.npz"
    subprocess.run([sys.executable, _PROGRAM, path], check=True)
    with np.load(path) as file:
        return dict(file)


def _check_weights(results: dict[str, np.ndarray], mode: str) -> None:
    assert results["devices"] == 8
    for task in _TASKS:
        losses = results[f"one|{task}|losses"]
        assert losses[-1] < 0.9 * losses[0]
    names = [name.removeprefix("one|") for name in results if name.startswith("one|")]
    for name in names:
        # The gradient of a key's bias is rounding, which Adam makes as large as any.
        if not name.endswith(("attention/key/bias", "shards")):
            np.testing.assert_allclose(
                results[f"{mode}|{name}"], results[f"one|{name}"], atol=1e-4, err_msg=name
            )


def test_data_parallel_training_gives_the_weights_of_one_device(results):
    _check_weights(results, "data-parallel")
    for task in _TASKS:
        assert (results[f"data-parallel|{task}|shards"] == [16, 16]).all()


def test_weights_that_devices_share_are_those_of_one_device(results):
    _check_weights(results, "model-parallel")
    for task in _TASKS:
        # Half of a kernel's columns, and of both of its moments.
        np.testing.assert_array_equal(results[f"model-parallel|{task}|shards"], [[16, 8]] * 3)
