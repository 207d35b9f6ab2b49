#!/usr/bin/env bash
# Zeros that pad a text before a MaxPool are minus infinity after onnxoptimizer: windows at its ends have other values.
#
# Guess before the run: a Pad with zeros stays in front of a MaxPool, as the pooling's own padding does not count as
# zero.
# Seen: onnxoptimizer 0.4.2 with its default passes. States -3, -1, -2, -4 between two zeros, in windows of two, are 0,
# -1, -1, -2, 0. Optimized, the Pad is in the MaxPool, whose padding is never the largest: -3, -1, -1, -2, -4. A
# convolution over a BERT's states with values below zero before the pooling predicts other classes at both ends of
# texts. `optimize` has a list of passes; without "fuse_pad_into_pool" it is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    onnxoptimizer==0.4.2 onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
from importlib.metadata import version

import numpy as np
import onnxoptimizer
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

# One channel of four words; a filter of two words, padded at both ends, then the largest value.
graph = helper.make_graph(
    [
        helper.make_node("Pad", ["x", "pads"], ["padded"]),
        helper.make_node("MaxPool", ["padded"], ["y"], kernel_shape=[2]),
    ],
    "graph",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    [numpy_helper.from_array(np.array([0, 0, 1, 0, 0, 1]), "pads")],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
states = np.array([[[-3, -1, -2, -4]]], "float32")
for name, one in {"as written": model, "optimized": onnxoptimizer.optimize(model)}.items():
    session = onnxruntime.InferenceSession(one.SerializeToString())
    found = session.run(None, {"x": states})[0].ravel().tolist()
    print(f"onnxoptimizer {version('onnxoptimizer')} {name}: {[node.op_type for node in one.graph.node]} {found}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null)
echo "$seen"
test "$seen" = "onnxoptimizer 0.4.2 as written: ['Pad', 'MaxPool'] [0.0, -1.0, -1.0, -2.0, 0.0]
onnxoptimizer 0.4.2 optimized: ['MaxPool'] [-3.0, -1.0, -1.0, -2.0, -4.0]"
