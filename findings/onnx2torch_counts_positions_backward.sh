#!/usr/bin/env bash
# onnx2torch counts the positions of a RoBERTa from the end of the text: it sums backward where ONNX sums forward.
#
# Guess before the run: the position ids that a RoBERTa or XLM-R computes in its ONNX file, a CumSum of the mask plus
# the padding's id, are the same in onnx2torch as in onnxruntime: 2, 3, 4, ...
# Seen: onnx2torch 1.5.15 with torch 2.13.0 and onnxruntime 1.30.0. Six tokens have the positions 7, 6, 5, 4, 3, 2
# instead of 2 to 7, and three tokens before padding 4, 3, 2. `reverse=0`, which is ONNX's default, sums from the end. A
# model that computes with them answers, with its words in reverse order.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    onnx2torch==1.5.15 torch==2.13.0 onnx==1.23.2 numpy==2.4.6 onnxruntime==1.30.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys
import types

import numpy as np
import onnx
import onnxruntime
import torch

from onnx import TensorProto, helper, numpy_helper

# It imports torchvision for boxes of images alone.
for name in ("torchvision", "torchvision.ops"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["torchvision.ops"].roi_align = None
import onnx2torch  # noqa: E402

nodes = [
    helper.make_node("Equal", ["ids", "pad"], ["padding"]),
    helper.make_node("Not", ["padding"], ["token"]),
    helper.make_node("Cast", ["token"], ["mask"], to=TensorProto.INT64),
    helper.make_node("CumSum", ["mask", "axis"], ["count"]),
    helper.make_node("Mul", ["count", "mask"], ["place"]),
    helper.make_node("Add", ["place", "pad"], ["positions"]),
]
graph = helper.make_graph(
    nodes,
    "positions",
    [helper.make_tensor_value_info("ids", TensorProto.INT64, (2, 6))],
    [helper.make_tensor_value_info("positions", TensorProto.INT64, (2, 6))],
    [numpy_helper.from_array(np.array(1), name) for name in ("pad", "axis")],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
ids = np.array([[0, 713, 16, 10, 1296, 2], [0, 13368, 2, 1, 1, 1]])
right = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"ids": ids})[0]
found = onnx2torch.convert(model)(torch.from_numpy(ids)).numpy()
print(f"onnx2torch {importlib.metadata.version('onnx2torch')}: {found.tolist()} instead of {right.tolist()}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "onnx2torch 1.5.15: [[7, 6, 5, 4, 3, 2], [4, 3, 2, 1, 1, 1]] instead of [[2, 3, 4, 5, 6, 7], [2, 3, 4,\
 1, 1, 1]]"
