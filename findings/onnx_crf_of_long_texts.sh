#!/usr/bin/env bash
# The partition of a CRF over a BERT's tags is infinite in tract and tinygrad from some 30 words on: log-sums overflow.
#
# Guess before the run: the forward algorithm of a CRF, an ONNX graph of one ReduceLogSumExp per word, has the same
# result in tract, tinygrad, TVM and OpenVINO as in onnxruntime; a log-sum is there because its exponentials don't fit.
# Seen: tract 0.23.9, tinygrad 0.14.0, apache-tvm 0.27.0.post1, openvino 2026.3.0 and onnxruntime 1.30.0. Of 20 words of
# a text all say 65.9. Of 60 words tract and tinygrad say inf, the others 197.9: both take the exponentials as they
# stand, which overflow in float32 from 88.7 on. A probability of tags, a difference of this and the score of a path, is
# 0 or NaN. A short text shows nothing of it.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    onnx==1.23.2 numpy==2.4.6 onnxruntime==1.30.0 openvino==2026.3.0 tract==0.23.9 tinygrad==0.14.0 \
    apache-tvm==0.27.0.post1
cat > "$folder/program.py" <<'PYTHON'
import sys

import numpy as np
import onnx
import onnxruntime
import openvino
import tract
import tvm

from onnx import TensorProto, helper, numpy_helper
from tinygrad.nn.onnx import OnnxRunner
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

random = np.random.default_rng(0)
scores = random.normal(1, 1, size=(60, 5)).astype("float32")  # of the words of a text, for five tags
transitions = random.normal(size=(5, 5)).astype("float32")  # from a tag in a row to one in a column
path = f"{sys.argv[1]}/model.onnx"


def partitions(words):
    """The logarithm of the sum over all sequences of tags of the first words, by each runtime."""
    nodes = [helper.make_node("Transpose", ["start"], ["alpha0"], perm=[1, 0])]
    for word in range(1, words):
        nodes += [
            helper.make_node("Add", [f"alpha{word - 1}", "transitions"], [f"paths{word}"]),
            helper.make_node("ReduceLogSumExp", [f"paths{word}", "first"], [f"sums{word}"]),
            helper.make_node("Gather", ["scores", f"word{word}"], [f"score{word}"]),
            helper.make_node("Add", [f"sums{word}", f"score{word}"], [f"row{word}"]),
            helper.make_node("Transpose", [f"row{word}"], [f"alpha{word}"], perm=[1, 0]),
        ]
    nodes.append(helper.make_node("ReduceLogSumExp", [f"alpha{words - 1}", "first"], ["partition"]))
    graph = helper.make_graph(
        [helper.make_node("Gather", ["scores", "word0"], ["start"]), *nodes],
        "forward",
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, (words, 5))],
        [helper.make_tensor_value_info("partition", TensorProto.FLOAT, (1, 1))],
        [
            numpy_helper.from_array(transitions, "transitions"),
            numpy_helper.from_array(np.array([0]), "first"),
            *(numpy_helper.from_array(np.array([word]), f"word{word}") for word in range(words)),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    text = scores[:words]
    core = openvino.Core()
    machine = relax.VirtualMachine(tvm.compile(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
    yield "onnxruntime", onnxruntime.InferenceSession(path).run(None, {"scores": text})[0]
    yield "openvino", core.compile_model(core.read_model(path), "CPU")({"scores": text})[0]
    yield "tvm", machine["main"](tvm.runtime.tensor(text)).numpy()
    yield "tract", tract.Onnx().load(path).into_model().into_runnable().run([text])[0].to_numpy()
    yield "tinygrad", OnnxRunner(path)({"scores": text})["partition"].numpy()


parts = []
for words in (20, 60):
    found = [f"{name} {value.item():.1f}" for name, value in partitions(words)]
    parts.append(f"{words} words: {', '.join(found)}")
print("; ".join(parts))
PYTHON
seen=$(DEV=PYTHON "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "20 words: onnxruntime 65.9, openvino 65.9, tvm 65.9, tract 65.9, tinygrad 65.9; 60 words: onnxruntime\
 197.9, openvino 197.9, tvm 197.9, tract inf, tinygrad inf"
