"""Data-parallel training on JAX gives one device's weights (docs/keras.md, Backends)."""

import importlib.util
import pathlib
import subprocess
import sys

import numpy as np
import pytest

_PROGRAM = pathlib.Path(__file__).with_name("jax_devices_program.py")


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")
def test_data_parallel_training_gives_the_weights_of_one_device(tmp_path):
    path = tmp_path / "results.npz"
    subprocess.run([sys.executable, _PROGRAM, path], check=True)
    with np.load(path) as file:
        results = dict(file)
    assert results.pop("devices") == 8
    names = [name.removeprefix("one|") for name in results if name.startswith("one|")]
    for model in ("BertForClassification", "BertForTokenClassification"):
        losses = results[f"one|{model}|losses"]
        assert losses[-1] < 0.9 * losses[0]
    for name in names:
        # The gradient of a key's bias is rounding, which Adam makes as large as any.
        if not name.endswith("attention/key/bias"):
            np.testing.assert_allclose(
                results[f"eight|{name}"], results[f"one|{name}"], atol=1e-4, err_msg=name
            )
