#!/usr/bin/env bash
# Probabilities of all answers of a question, a Softmax of opset 11 over start and end, add up to 8 in three runtimes.
#
# Guess before the run: before opset 13 a Softmax of scores [texts, starts, ends] with its default axis 1 is, as ONNX
# says of these versions, one over all that follows the first axis, in each runtime: the pairs of a text add up to 1.
# Seen: openvino 2026.3.0, tinygrad 0.14.0, MNN 3.6.1, tract 0.23.9 and onnxruntime 1.30.0 with onnx 1.23.2. OpenVINO
# and tinygrad take axis 1 alone and MNN the last: the starts of each of eight ends, or the ends of each start, add up
# to 1 and all pairs to 8. Of 20 texts only 7 and 11 have the answer with the highest score as the likeliest one, for a
# pair wins that is sure among those with its end. tract is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    onnx==1.23.2 numpy==2.4.6 onnxruntime==1.30.0 openvino==2026.3.0 tract==0.23.9 tinygrad==0.14.0 MNN==3.6.1
cat > "$folder/program.py" <<'PYTHON'
import sys

import _tools
import MNN.expr
import MNN.nn
import numpy as np
import onnx
import onnxruntime
import openvino
import tract

from onnx import TensorProto, helper
from tinygrad.nn.onnx import OnnxRunner

scores = np.random.default_rng(0).normal(scale=2, size=(20, 8, 8)).astype("float32")
path = f"{sys.argv[1]}/model.onnx"


def outputs():
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, scores.shape) for name in ("scores", "answers")]
    graph = helper.make_graph([helper.make_node("Softmax", ["scores"], ["answers"])], "answers", info[:1], info[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    inputs = {"scores": scores}
    core = openvino.Core()
    # What the command mnnconvert calls.
    files = ["--modelFile", path, "--MNNModel", path + ".mnn"]
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", *files, "--bizCode", "x"])
    net = MNN.nn.load_module_from_file(path + ".mnn", ["scores"], ["answers"])
    values = MNN.expr.const(scores.copy(), list(scores.shape), MNN.expr.NCHW)
    yield "onnxruntime", onnxruntime.InferenceSession(path).run(None, inputs)[0]
    yield "tract", tract.Onnx().load(path).into_model().into_runnable().run([scores])[0].to_numpy()
    yield "openvino", core.compile_model(core.read_model(path), "CPU")(inputs)[0]
    yield "tinygrad", OnnxRunner(path)(inputs)["answers"].numpy()
    yield "mnn", np.array(net.onForward([values])[0].read())


words = []
for name, values in outputs():
    values = values.reshape(20, 64)
    right = values.argmax(1) == scores.reshape(20, 64).argmax(1)
    words.append(f"{name} {values[0].sum():.2f} {right.sum()}")
print(f"sum of a text's answers, and how many of 20 texts have the best one as the likeliest: {', '.join(words)}")
PYTHON
seen=$(DEV=PYTHON "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "sum of a text's answers, and how many of 20 texts have the best one as the likeliest: onnxruntime 1.00\
 20, tract 1.00 20, openvino 8.00 7, tinygrad 8.00 7, mnn 8.00 11"
