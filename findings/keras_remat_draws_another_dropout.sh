#!/usr/bin/env bash
# With `keras.remat` on TensorFlow the gradients belong to another dropout mask than the outputs, without a word.
#
# Guess before the run: a layer that is computed again for its gradients drops the same units in both computations,
# as with jax.checkpoint and torch.utils.checkpoint, so that remat changes memory and time alone.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0. A vector of 1,000 units times a weight each, then Dropout(0.5), one step of
# `fit`. Without remat a unit's weight gets a gradient where its output is kept; with it 493 of the 1,000 get one
# where it is dropped, or none where it is kept. Keras reads the seed from a variable and counts it up whenever the
# layer is called, and remat calls it twice. On torch 2.13.0 it is the same, since Keras does not draw from the
# generator that torch's checkpoint restores; on JAX 0.10.2 the compiled step ends with a leaked tracer. In a BERT
# with remat all dropout would train like this.
# The encoder of this project gives both computations the same key (modeling/recompute.py).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np


class Dropped(keras.layers.Layer):
    def __init__(self, remat):
        super().__init__()
        self.remat = remat
        self.dropout = keras.layers.Dropout(0.5, seed=3)

    def build(self, shape):
        self.scale = self.add_weight(shape=(1000,), initializer="ones", name="scale")

    def call(self, x):
        def run(values):
            return self.dropout(values * self.scale, training=True)

        return (keras.remat(run) if self.remat else run)(x)


class Outputs(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="outputs")
        self.seen = self.add_variable((1000,), "zeros", name="seen")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.seen.assign(y_pred[0])

    def result(self):
        return keras.ops.sum(self.seen)


def contradictions(remat):
    outputs = Outputs()
    model = keras.Sequential([keras.Input((1000,)), Dropped(remat)])
    loss = lambda y_true, y_pred: keras.ops.sum(y_pred, axis=-1)  # noqa: E731
    model.compile(keras.optimizers.SGD(1.0), loss, metrics=[outputs])
    ones = np.ones((1, 1000), "float32")
    model.fit(ones, ones, verbose=0)
    gradients = 1.0 - keras.ops.convert_to_numpy(model.trainable_variables[0])
    kept = keras.ops.convert_to_numpy(outputs.seen) != 0.0
    return int(np.sum(kept != (gradients != 0.0)))


print(f"keras {keras.__version__}: {contradictions(False)} {contradictions(True)}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: 0 493"
