#!/usr/bin/env bash
# MNN computes BERT's exact GELU by the tanh that stands for it elsewhere, unless the factors come in another order.
#
# Guess before the run: of an ONNX model MNN gives the GELU by erf where the graph has it, as its Erf is exact to 1e-7,
# and the one by tanh where the graph has `approximate="tanh"`.
# Seen: MNN 3.6.1. The operation Gelu with `approximate="none"` and its parts x · (1 + erf(x / √2)) · ½ are fused to the
# one by tanh, 5e-4 off. ½x · (1 + erf(x / √2)), the same in another order, stays exact.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mnn==3.6.1 onnx==1.23.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import math
import sys

import _tools
import MNN
import MNN.expr
import MNN.nn
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

x = np.linspace(-4, 4, 801, dtype=np.float32)[None]
wide = x.astype(np.float64)
exact = wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2))) / 2
by_tanh = wide * (1 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3))) / 2
node = helper.make_node
erf = [node("Div", ["x", "root"], ["a"]), node("Erf", ["a"], ["b"]), node("Add", ["b", "one"], ["c"])]
graphs = {
    "Gelu": [node("Gelu", ["x"], ["y"], approximate="none")],
    "x(1+erf)/2": [*erf, node("Mul", ["x", "c"], ["d"]), node("Mul", ["d", "half"], ["y"])],
    "x/2(1+erf)": [*erf, node("Mul", ["x", "half"], ["d"]), node("Mul", ["d", "c"], ["y"])],
}
constants = {"root": math.sqrt(2), "one": 1, "half": 0.5}
results = []
for name, nodes in graphs.items():
    shape = [1, x.size]
    graph = helper.make_graph(
        nodes,
        "gelu",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.float32(value), key) for key, value in constants.items() if name != "Gelu"],
    )
    path = f"{sys.argv[1]}/model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=8), path)
    # What the command mnnconvert calls.
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", path, "--MNNModel", path + ".mnn", "--bizCode", "x"])
    net = MNN.nn.load_module_from_file(path + ".mnn", ["x"], ["y"])
    y = np.array(net.onForward([MNN.expr.const(x.copy(), shape, MNN.expr.NCHW)])[0].read()).reshape(x.shape)
    off, off_tanh = np.abs(y - exact), np.abs(y - by_tanh)
    results.append(f"{name} {'erf' if off.mean() < off_tanh.mean() else 'tanh'}, {off.max():.4f} off")
print(f"MNN {MNN.version()}: {'; '.join(results)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "MNN 3.6.1: Gelu tanh, 0.0005 off; x(1+erf)/2 tanh, 0.0005 off; x/2(1+erf) erf, 0.0000 off"
