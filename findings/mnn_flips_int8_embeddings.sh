#!/usr/bin/env bash
# The word embeddings of a BERT that onnxruntime has quantized are noise in MNN: the first bit of each int8 is flipped.
#
# Guess before the run: MNN gives the numbers of onnxruntime for a model that `quantize_dynamic` has made, or refuses
# operations that it does not know.
# Seen: MNN 3.6.1. It converts the model ("Converted Success!"), and the matrices are right. A table that is gathered
# from and dequantized afterwards, which is what onnxruntime makes of `Gather`, has other numbers: -1 is 127 and 0 is
# -128, so that words are unrelated to themselves. Dequantized before it is gathered from, the same table is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mnn==3.6.1 onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import sys

import _tools
import MNN
import MNN.expr
import MNN.nn
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

folder = sys.argv[1]
chance = np.random.default_rng(0)
table = chance.normal(size=(100, 32)).astype(np.float32)
kernel = chance.normal(size=(32, 32)).astype(np.float32)
ids = np.array([[2, 17, 54, 3], [2, 99, 8, 3]])


def save(path, nodes, arrays):
    graph = helper.make_graph(
        nodes,
        "embeddings",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["rows", "length"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", "length", 32])],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def outputs(name):
    """Returns a model's outputs by onnxruntime, and by MNN after conversion."""
    path = f"{folder}/{name}.onnx"
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (right,) = session.run(None, {"ids": ids})
    # What the command mnnconvert calls.
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", path, "--MNNModel", path + ".mnn", "--bizCode", "x"])
    net = MNN.nn.load_module_from_file(path + ".mnn", ["ids"], ["y"])
    rows = MNN.expr.const(ids.astype(np.int32), list(ids.shape), MNN.expr.NCHW, MNN.expr.int)
    return right, np.array(net.onForward([rows])[0].read()).reshape(right.shape)


def cosine(name):
    right, seen = outputs(name)
    return ((right * seen).sum(-1) / np.linalg.norm(right, axis=-1) / np.linalg.norm(seen, axis=-1)).mean()


gather = helper.make_node("Gather", ["table", "ids"], ["y"], axis=0)
save(f"{folder}/float.onnx", [gather], {"table": table})
quantize_dynamic(f"{folder}/float.onnx", f"{folder}/int8.onnx", weight_type=QuantType.QInt8)
dense = [helper.make_node("Gather", ["table", "ids"], ["x"], axis=0), helper.make_node("MatMul", ["x", "kernel"], ["y"])]
save(f"{folder}/dense.onnx", dense, {"table": table, "kernel": kernel})
only = {"op_types_to_quantize": ["MatMul"], "weight_type": QuantType.QInt8}
quantize_dynamic(f"{folder}/dense.onnx", f"{folder}/int8_dense.onnx", **only)
# Word i is all i - 2.
small = np.arange(-2, 98, dtype=np.int8)[:, None].repeat(32, 1)
arrays = {"table": small, "scale": np.float32(1), "zero": np.int8(0)}
dequantize = ["DequantizeLinear", ["table", "scale", "zero"], ["words"]]
last = [helper.make_node("Gather", ["words", "ids"], ["y"], axis=0)]
save(f"{folder}/before.onnx", [helper.make_node(*dequantize), *last], arrays)
last = [helper.make_node("DequantizeLinear", ["words", "scale", "zero"], ["y"])]
save(f"{folder}/after.onnx", [helper.make_node("Gather", ["table", "ids"], ["words"], axis=0), *last], arrays)
ids = np.array([[0, 1, 2, 3]])
numbers = {name: [int(value) for value in outputs(name)[1][0, :, 0]] for name in ("before", "after")}
ids = np.array([[2, 17, 54, 3], [2, 99, 8, 3]])
print(
    f"MNN {MNN.version()}, cosine with onnxruntime of float tables {cosine('float'):.2f},",
    f"int8 matrices {cosine('int8_dense'):.2f}, int8 tables {'below 0.1' if cosine('int8') < 0.1 else 'above'}; -2 to 1 dequantized",
    f"before Gather {numbers['before']}, after it {numbers['after']}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "MNN 3.6.1, cosine with onnxruntime of float tables 1.00, int8 matrices 1.00, int8 tables below 0.1;\
 -2 to 1 dequantized before Gather [-2, -1, 0, 1], after it [126, 127, -128, -127]"
