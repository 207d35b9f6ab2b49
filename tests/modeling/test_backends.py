"""The model under another backend of Keras, in a process of its own: a backend is chosen once for a process."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

from modeling.checkpoints.weights import original_names
from modeling.pretraining import BertForPreTraining, pretraining_sums
from tests.modeling.common import SMALL, random_features

_PROGRAM = """
import sys
import keras
import numpy as np
from modeling.checkpoints.weights import original_names
from modeling.config import BertConfig
from modeling.pretraining import BertForPreTraining, pretraining_sums

config_file, weights, features, results = sys.argv[1:]
model = BertForPreTraining(BertConfig.from_file(config_file))
model.build_weights()
with np.load(weights) as file:
  for name, variable in original_names(model).items():
    variable.assign(file[name])
with np.load(features) as file:
  features = dict(file)
assert all(keras.ops.any(keras.ops.abs(dropped - kept) > 1e-4) for dropped, kept in zip(
    model(features, training=True).values(), model(features).values()))
outputs = model(features)
values = {**outputs, **pretraining_sums(outputs, features)}
np.savez(results, **{name: value.detach().numpy() if hasattr(value, "detach") else np.asarray(value)
                     for name, value in values.items()})
"""


def test_another_backend_gives_the_same(tmp_path, project):
  backend = next((name for name in ("torch", "jax") if importlib.util.find_spec(name)), None)
  if backend is None:
    pytest.skip("Keras' other backends need torch or jax, neither is installed")
  model = BertForPreTraining(SMALL, seed=2)
  features = random_features(SMALL, batch=3, length=9, predictions=2)
  outputs = model(features)
  expected = {**outputs, **pretraining_sums(outputs, features)}
  SMALL.to_file(str(tmp_path / "bert_config.json"))
  np.savez(tmp_path / "weights.npz", **{name: value.numpy() for name, value in original_names(model).items()})
  np.savez(tmp_path / "features.npz", **features)
  files = [tmp_path / name for name in ("bert_config.json", "weights.npz", "features.npz", "results.npz")]
  subprocess.run([sys.executable, "-c", _PROGRAM, *map(str, files)], check=True, cwd=project,
                 env={**os.environ, "KERAS_BACKEND": backend, "PYTHONPATH": str(project)})
  with np.load(tmp_path / "results.npz") as found:
    assert set(found) == set(expected)
    for name, value in expected.items():
      np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=2e-5, err_msg=name)
