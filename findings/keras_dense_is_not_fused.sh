#!/usr/bin/env bash
# Keras' Dense with GELU is seven operations of TensorFlow on [batch, length, units], and one between two reshapes.
#
# Guess before the run: TensorFlow fuses product, bias and GELU of a Dense layer on CPUs, as it does on rows
# [batch, units], also on sequences [batch, length, units]: the numbers are the same.
# Seen: Keras 3.15.1, TensorFlow 2.20.0 with oneDNN, x86-64, in a function of unknown batch and length, as in
# `predict` and SavedModels. Rows: one _MklNativeFusedMatMul. Sequences: a product without bias, BiasAdd
# and five passes for GELU; Keras restores the shape right after the product, and what lies between hides
# the pattern from the optimizer. The same layer called on reshaped rows is one operation again. The share of
# these passes in `predict` of a BERT of 4 layers of 256 units is 15 % of the processor time.
# The dense layers of this project reshape last (modeling/layers.py).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import pathlib
import sys
from collections.abc import Callable

import keras
import tensorflow as tf
from tensorflow.tsl.profiler.protobuf import xplane_pb2

PARTS = ("_MklNativeFusedMatMul", "_MklMatMul", "MatMul", "BiasAdd", "Mul", "Neg", "Erf", "Erfc", "AddV2", "Tanh")
dense = keras.layers.Dense(64, activation="gelu")
dense.build((None, 32))


def operations(name: str, call: Callable, x: tf.Tensor) -> list[str]:
    """Returns the operations of a call, as TensorFlow ran them after its optimizations."""
    unknown = tf.TensorSpec([*[None] * (x.shape.rank - 1), 32])
    function = tf.function(lambda x: tf.identity(call(x)), input_signature=[unknown])
    function(x)
    folder = pathlib.Path(sys.argv[1], name)
    tf.profiler.experimental.start(str(folder))
    function(x)
    tf.profiler.experimental.stop()
    space = xplane_pb2.XSpace.FromString(next(folder.rglob("*.xplane.pb")).read_bytes())
    events = [
        plane.event_metadata[event.metadata_id].name.rpartition(":")[2]
        for plane in space.planes
        for line in plane.lines
        for event in line.events
    ]
    return [event for event in events if event in PARTS]


def on_rows(x: tf.Tensor) -> tf.Tensor:
    return tf.reshape(dense(tf.reshape(x, [-1, 32])), [*tf.unstack(tf.shape(x)[:2]), 64])


print(
    f"keras {keras.__version__}, tensorflow {tf.__version__}:",
    "rows", len(operations("rows", dense, tf.ones([28, 32]))),
    "sequences", len(operations("sequences", dense, tf.ones([4, 7, 32]))),
    "reshaped", len(operations("reshaped", on_rows, tf.ones([4, 7, 32]))),
)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1, tensorflow 2.20.0: rows 1 sequences 7 reshaped 1"
