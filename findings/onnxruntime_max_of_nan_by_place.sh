#!/usr/bin/env bash
# Whether onnxruntime's maximum of a text's words is NaN depends on the place of the NaN: it is seen at the first alone.
#
# Guess before the run: ReduceMax and ArgMax of numbers with a NaN are NaN and its place, as in NumPy, PyTorch and
# ONNX's reference evaluator, so that a pooled vector shows that a word's was NaN.
# Seen: onnxruntime 1.32.0, onnx 1.23.2. ReduceMax and ReduceMin are NaN if the first number is, and leave a NaN out
# that comes later. ArgMax names the first number if that is NaN and else the largest one, and GlobalMaxPool sees no
# NaN at all. ONNX's reference evaluator has NaN each time. A sum sees it. So a check of a model that looks at a
# pooled maximum finds a NaN or not by the place of the word.
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
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator


def both(operator, x, **attributes):
    node = helper.make_node(operator, ["x"], ["y"], **attributes)
    kind = TensorProto.INT64 if operator.startswith("Arg") else TensorProto.FLOAT
    feed = helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)
    graph = helper.make_graph([node], "graph", [feed], [helper.make_tensor_value_info("y", kind, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=10)
    here = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    return here.ravel().tolist(), ReferenceEvaluator(model).run(None, {"x": x})[0].ravel().tolist()


nan = np.nan
words = np.array([[nan, 1, 2], [1, nan, 2], [1, 2, nan]], np.float32)
parts = []
for operator, x, attributes in (
    ("ReduceMax", words, {"axes": [1]}),
    ("ReduceMin", words, {"axes": [1]}),
    ("ArgMax", words, {"axis": 1}),
    ("GlobalMaxPool", words[:, None], {}),
    ("ReduceSum", words, {}),
):
    here, there = both(operator, x, **attributes)
    parts.append(f"{operator} {here} {there}")
print(f"onnxruntime {onnxruntime.__version__} and reference, NaN first, second, last: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "onnxruntime 1.32.0 and reference, NaN first, second, last: ReduceMax [nan, 2.0, 2.0] [nan, nan, nan];\
 ReduceMin [nan, 1.0, 1.0] [nan, nan, nan]; ArgMax [0, 2, 1] [0, 1, 2]; GlobalMaxPool [2.0, 2.0, 2.0] [nan, nan,\
 nan]; ReduceSum [nan] [nan]"
