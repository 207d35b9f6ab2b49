#!/usr/bin/env bash
# In tunix the last two layers of a 12-layer BERT teach the first layer of a student: layers are ordered by their names.
#
# Guess before the run: FeaturePoolingStrategy gives a student of three layers the means of the teacher's layers 1 to 4,
# 5 to 8 and 9 to 12, however the model names its layers.
# Seen: google-tunix 0.1.7 with flax 0.12.8. Layer n of this teacher has the output n. With layers in an `nnx.List` the
# student's targets are 2.5, 6.5 and 10.5. With attributes layer_0 to layer_11 the captured layers are in the order of
# the alphabet, 1, 2, 11, 12, 3, ..., and the targets 6.5, 4.5 and 8.5: the first layer learns what the last ones do. Up
# to ten layers all is well, and nothing is said beyond.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    flax==0.12.8 optax==0.2.8 jax==0.10.2 jaxlib==0.10.2 absl-py==2.5.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    google-tunix==0.1.7
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import os
import sys
import types

import jax.numpy as jnp

from flax import nnx

# The package's own __init__ wants a TPU's tools; its modules of distillation don't.
root = os.path.dirname(importlib.util.find_spec("tunix").origin)
for name in ("tunix", "tunix.distillation"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [os.path.join(root, *name.split(".")[1:])]
from tunix.distillation.feature_extraction import pooling  # noqa: E402
from tunix.distillation.strategies import feature_pooling  # noqa: E402


class Layer(nnx.Module):
    def __call__(self, states):
        return states + 1.0


class Encoder(nnx.Module):
    def __init__(self, layers, listed):
        self.depth, self.listed = layers, listed
        if listed:
            self.layers = nnx.List([Layer() for _ in range(layers)])
        else:
            for number in range(layers):
                setattr(self, f"layer_{number}", Layer())

    def __call__(self, states):
        for number in range(self.depth):
            states = (self.layers[number] if self.listed else getattr(self, f"layer_{number}"))(states)
        return states


words = []
for listed in (True, False):
    run = lambda model, states: model(states)  # noqa: E731
    strategy = feature_pooling.FeaturePoolingStrategy(run, run, lambda states: states, Layer)
    student, teacher = strategy.pre_process_models(Encoder(3, listed), Encoder(12, listed))
    inputs = {"states": jnp.zeros((1, 1))}
    found = strategy.get_teacher_outputs(teacher, inputs)
    shape = strategy.get_student_outputs(student, inputs)["features"].shape
    targets = pooling.avg_pool_array_to_target_shape(found, shape)
    order = " ".join(f"{value:g}" for value in jnp.ravel(found))
    taught = " ".join(f"{value:g}" for value in jnp.ravel(targets))
    words.append(f"{'list' if listed else 'names'}: {order}, taught {taught}")
print(f"tunix {importlib.metadata.version('google-tunix')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tunix 0.1.7: list: 1 2 3 4 5 6 7 8 9 10 11 12, taught 2.5 6.5 10.5; names: 1 2 11 12 3 4 5 6 7 8 9\
 10, taught 6.5 4.5 8.5"
