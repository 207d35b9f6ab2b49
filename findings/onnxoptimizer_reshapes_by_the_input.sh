#!/usr/bin/env bash
# onnxoptimizer drops the first of two Reshapes, also if the second copies a size of its result: heads are mixed.
#
# Guess before the run: of two Reshapes the first is dropped only if the second names all sizes, or the sizes that it
# copies with 0 are those of the input, too. A part of a Shape stays that part.
# Seen: onnxoptimizer 0.4.2 with its default passes. States [2, 3, 4] become rows [6, 4] and then heads by [0, -1, 2],
# which is [6, 2, 2]. Optimized it is [2, 6, 2]: 0 copies the size of the input, and the numbers of several words stand
# in one row. The width that `Shape(start=1)` and a Slice read is 4, and 3 after optimizing: the start of Shape is
# forgotten. No error is raised where the numbers of elements fit. Compare outputs and their shapes before and after.
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


def make(nodes, values, output_type):
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4])],
        [helper.make_tensor_value_info("y", output_type, None)],
        [numpy_helper.from_array(np.array(value), name) for name, value in values.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def run(model):
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(None, {"x": np.arange(24, dtype="float32").reshape(2, 3, 4)})[0]


heads = make(
    [
        helper.make_node("Reshape", ["x", "rows"], ["flat"]),
        helper.make_node("Reshape", ["flat", "heads"], ["y"]),
    ],
    {"rows": [6, 4], "heads": [0, -1, 2]},
    TensorProto.FLOAT,
)
width = make(
    [
        helper.make_node("Shape", ["x"], ["shape"], start=1),
        helper.make_node("Slice", ["shape", "begin", "end"], ["y"]),
    ],
    {"begin": [1], "end": [2]},
    TensorProto.INT64,
)
for name, model in {"heads": heads, "width": width}.items():
    before, after = run(model), run(onnxoptimizer.optimize(model))
    shown = [one.shape if name == "heads" else one.tolist() for one in (before, after)]
    print(f"onnxoptimizer {version('onnxoptimizer')} {name}: {shown[0]} becomes {shown[1]}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null)
echo "$seen"
test "$seen" = "onnxoptimizer 0.4.2 heads: (6, 2, 2) becomes (2, 6, 2)
onnxoptimizer 0.4.2 width: [4] becomes [3]"
