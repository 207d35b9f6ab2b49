#!/usr/bin/env bash
# onnx2torch transposes the places that NonZero finds: of two texts with one [MASK] each other words are predicted.
#
# Guess before the run: the logits of the masked words of a batch, as `logits[ids == mask]` is in ONNX (NonZero,
# Transpose and GatherND), are those of onnxruntime, or there is an error.
# Seen: onnx2torch 1.5.15 with torch 2.13.0 and onnxruntime 1.30.0. ONNX's NonZero has a row for each axis; onnx2torch
# has a column for each. With two [MASK]s in the batch both are 2 x 2, and the logits are those of other words: the
# places (0, 4) and (1, 2), text and word, are read as word 1 of text 0 and word 2 of text 4.
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

MASK = 103
ids = np.full((5, 6), 2000)
logits = np.arange(30, dtype="float32").reshape(5, 6)  # a number for each word, in place of its logits
nodes = [
    helper.make_node("Equal", ["ids", "mask"], ["masked"]),
    helper.make_node("NonZero", ["masked"], ["places"]),
    helper.make_node("Transpose", ["places"], ["rows"], perm=[1, 0]),
    helper.make_node("GatherND", ["logits", "rows"], ["chosen"]),
]
graph = helper.make_graph(
    nodes,
    "masked",
    [
        helper.make_tensor_value_info("ids", TensorProto.INT64, ids.shape),
        helper.make_tensor_value_info("logits", TensorProto.FLOAT, logits.shape),
    ],
    [helper.make_tensor_value_info("chosen", TensorProto.FLOAT, ("n",))],
    [numpy_helper.from_array(np.array(MASK), "mask")],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
words = []
for places in ([(0, 4), (1, 2)], [(0, 1), (3, 5)], [(2, 3), (4, 4)]):
    texts = ids.copy()
    texts[tuple(zip(*places))] = MASK
    right = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"ids": texts, "logits": logits})[0]
    found = onnx2torch.convert(model)(torch.from_numpy(texts), torch.from_numpy(logits)).numpy()
    words.append(f"{places}: {found.astype(int).tolist()} for {right.astype(int).tolist()}")
print(f"onnx2torch {importlib.metadata.version('onnx2torch')}, {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "onnx2torch 1.5.15, [(0, 4), (1, 2)]: [1, 26] for [4, 8]; [(0, 1), (3, 5)]: [3, 11] for [1, 23];\
 [(2, 3), (4, 4)]: [16, 22] for [15, 28]"
