#!/usr/bin/env bash
# In OpenCV's networks tanh(45) is 1 among few numbers and NaN among many, so that a BERT's answers are NaN.
#
# Guess before the run: `cv2.dnn.readNetFromONNX` computes a BERT that is exported to ONNX as onnxruntime
# does, or refuses an operator that it does not know.
# Seen: opencv-python-headless 5.0.0.93, x86-64. It reads the model; after four layers, which are right, the
# masked-LM head is NaN. Tanh of 44.3 and above is NaN where numbers are computed by vectors, and 1
# in the rest of a row that fills no vector: of 1,000 times 45 all are NaN but for the last ones; of -45 none
# is. BERT's GELU cubes its input before the tanh, and gets there at 10.
# onnxruntime 1.32.0, OpenVINO 2026.4.1 and the reference of onnx 1.23.2 agree on the same file.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    opencv-python-headless==5.0.0.93 onnx==1.23.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import sys

import cv2
import numpy as np
from onnx import TensorProto, helper, save


def tanh(count: int, value: float) -> np.ndarray:
    """Returns what OpenCV computes for a row of `count` equal numbers."""
    shape = [1, count]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Tanh", ["x"], ["y"])], "tanh", values[:1], values[1:])
    path = f"{sys.argv[1]}/tanh.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    net = cv2.dnn.readNetFromONNX(path)
    net.setInput(np.full(shape, value, np.float32))
    return net.forward()


few, many, below = tanh(3, 45.0), tanh(1000, 45.0), tanh(1000, -45.0)
print(
    f"opencv {cv2.__version__}: of 3 times tanh(45) NaN {np.isnan(few).sum()};"
    f" of 1000 more than 900: {np.isnan(many).sum() > 900}; of 1000 times tanh(-45) {np.isnan(below).sum()}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "opencv 5.0.0: of 3 times tanh(45) NaN 0; of 1000 more than 900: True; of 1000 times tanh(-45) 0"
