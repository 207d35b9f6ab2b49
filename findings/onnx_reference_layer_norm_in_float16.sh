#!/usr/bin/env bash
# A float16 LayerNorm with an outlier of 600, as BERTs have, is zero for all units in ONNX's reference evaluator.
#
# Guess before the run: LayerNormalization and RMSNormalization compute in float32 where `stash_type` is 1, its
# default, which says so: float16 numbers of some hundreds are no problem.
# Seen: onnx 1.23.2, onnxruntime 1.32.0. The reference evaluator accepts no other `stash_type` than 1 and computes in
# float16 all the same: the square of a number above 256 is infinite, and all units are 0. onnxruntime is right. A
# float16 model that is checked with the reference has no words left after the first outlier.
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


def both(operator, opset, x):
    names = ["x", "scale"]
    node = helper.make_node(operator, names, ["y"], axis=-1, stash_type=1)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT16, None) for name in (*names, "y")]
    graph = helper.make_graph([node], "graph", values[:-1], values[-1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    feeds = {"x": x, "scale": np.ones(x.shape[-1], np.float16)}
    there = ReferenceEvaluator(model).run(None, feeds)[0]
    here = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)[0]
    return f"{operator} {' '.join(f'{a:.2f}/{b:.2f}' for a, b in zip(here[0], there[0]))}"


for_one = np.array([[600.0, -1.0, 2.0, -0.5, 1.0, 0.0]], np.float16)
small = for_one / 10
print(
    f"onnx {onnx.__version__}, onnxruntime/reference: {both('LayerNormalization', 17, for_one)};",
    f"{both('RMSNormalization', 23, for_one)}; a tenth of it: {both('LayerNormalization', 17, small)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "onnx 1.23.2, onnxruntime/reference: LayerNormalization 2.24/0.00 -0.45/-0.00 -0.44/-0.00 -0.45/-0.00\
 -0.44/-0.00 -0.45/-0.00; RMSNormalization 2.45/0.00 -0.00/-0.00 0.01/0.00 -0.00/-0.00 0.00/0.00 0.00/0.00; a tenth\
 of it: LayerNormalization 2.24/2.24 -0.45/-0.45 -0.44/-0.44 -0.45/-0.45 -0.44/-0.44 -0.45/-0.45"
