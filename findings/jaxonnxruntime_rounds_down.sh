#!/usr/bin/env bash
# jaxonnxruntime divides integers downward, so that relative positions shift, and makes a class of the label -100.
#
# Guess before the run: Div of integers is that of ONNX, which cuts toward zero, so that relative positions in blocks of
# two are symmetric; OneHot of a label outside the classes, as -100, is all zero.
# Seen: jaxonnxruntime 0.3.0 (with jax 0.10.2) beside onnxruntime 1.30.0. Positions -5 to 5 in blocks of 2 are -3 to 2
# instead of -2 to 2: every odd position before the word is in another block. OneHot of -100 among three classes is the
# last one: numbers are taken modulo the classes. Both are silent, and right for numbers that are in range and not
# negative.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    jaxonnxruntime==0.3.0 onnx==1.23.2 numpy==2.4.6 onnxruntime==1.30.0 jax==0.10.2 jaxlib==0.10.2 \
    absl-py==2.5.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import jaxonnxruntime
import numpy as np
import onnx
import onnxruntime

from jaxonnxruntime import backend
from onnx import TensorProto, helper, numpy_helper

jaxonnxruntime.config.update("jaxort_only_allow_initializers_as_static_args", False)


def outputs(node, values, constants, kind):
    graph = helper.make_graph(
        [node],
        "positions",
        [helper.make_tensor_value_info("X", TensorProto.INT64, values.shape)],
        [helper.make_tensor_value_info("Y", kind, None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    return (
        np.asarray(backend.Backend.prepare(model).run([values])[0]),
        onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"X": values})[0],
    )


positions = np.arange(-5, 6)
found, right = outputs(
    helper.make_node("Div", ["X", "block"], ["Y"]), positions, {"block": np.array(2)}, TensorProto.INT64
)
words = [f"blocks {found.tolist()} instead of {right.tolist()}"]
labels = np.array([0, 2, -100])
found, right = outputs(
    helper.make_node("OneHot", ["X", "depth", "values"], ["Y"]),
    labels,
    {"depth": np.array(3), "values": np.array([0, 1], "float32")},
    TensorProto.FLOAT,
)
words.append(f"label -100 is {found[2].tolist()} instead of {right[2].tolist()}")
print(f"jaxonnxruntime {importlib.metadata.version('jaxonnxruntime')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "jaxonnxruntime 0.3.0: blocks [-3, -2, -2, -1, -1, 0, 0, 1, 1, 2, 2] instead of [-2, -2, -1, -1, 0, 0,\
 0, 1, 1, 2, 2]; label -100 is [0.0, 0.0, 1.0] instead of [0.0, 0.0, 0.0]"
