#!/usr/bin/env bash
# ONNX's reference evaluator takes a vector's sum for its L1 norm: what should have size 1 has 5, or the opposite sign.
#
# Guess before the run: LpNormalization with p=1 divides by the sum of the absolute values, as onnxruntime and
# PyTorch's `normalize` do: sizes add up to 1, signs stay.
# Seen: onnx 1.23.2. The reference evaluator takes the sum of the numbers as they are: 3, -2, 0 stay as they are, the
# vector 1, -3, 0 and a negative one come out with the opposite sign. p=2 is right. Vectors of mixed signs, as
# embeddings are, have other neighbours than in the runtime.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

vectors = np.array([[3.0, -2.0, 0.0], [1.0, -3.0, 0.0], [-1.0, -1.0, -2.0]], np.float32)
words = []


def rounded(array):
    return "; ".join(" ".join(f"{value:.2f}" for value in row) for row in array)


for p in (1, 2):
    node = helper.make_node("LpNormalization", ["x"], ["y"], p=p, axis=-1)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, None]) for name in "xy"]
    graph = helper.make_graph([node], "graph", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    here = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": vectors})[0]
    there = ReferenceEvaluator(model).run(None, {"x": vectors})[0]
    words.append(f"p={p}: onnxruntime {rounded(here)}, reference {rounded(there)}")
print(f"onnx {onnx.__version__}: {' | '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "onnx 1.23.2: p=1: onnxruntime 0.60 -0.40 0.00; 0.25 -0.75 0.00; -0.25 -0.25 -0.50, reference 3.00\
 -2.00 0.00; -0.50 1.50 -0.00; 0.25 0.25 0.50 | p=2: onnxruntime 0.83 -0.55 0.00; 0.32 -0.95 0.00; -0.41 -0.41 -0.82,\
 reference 0.83 -0.55 0.00; 0.32 -0.95 0.00; -0.41 -0.41 -0.82"
