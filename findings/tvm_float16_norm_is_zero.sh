#!/usr/bin/env bash
# A float16 BERT in TVM is all zeros after a LayerNorm whose units vary by 10 or more: squares are added in float16.
#
# Guess before the run: a LayerNorm as it is exported to ONNX before opset 17 (the mean of the squared differences) has
# the same outputs in float16 in TVM, tract and onnxruntime within their rounding; the squares themselves are far below
# 65,504.
# Seen: apache-tvm 0.27.0.post1 and tract 0.23.9 with onnxruntime 1.30.0. With a deviation of 5 they agree to .02. With
# 12, whose squares are 144 on average, TVM's outputs are all zero: the sum of 768 of them overflows in float16, though
# their mean is no problem, and what is divided by infinity is 0. There is neither a NaN nor a word. The mean of 512
# tokens of about 150, a pooled text, is infinite in TVM and in tract. onnxruntime adds in float32.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    onnx==1.23.2 numpy==2.4.6 onnxruntime==1.30.0 tract==0.23.9 apache-tvm==0.27.0.post1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import numpy as np
import onnx
import onnxruntime
import tract
import tvm

from onnx import TensorProto, helper, numpy_helper
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

random = np.random.default_rng(0)
path = f"{sys.argv[1]}/model.onnx"
norm = [
    helper.make_node("ReduceMean", ["X"], ["mean"], axes=[-1]),
    helper.make_node("Sub", ["X", "mean"], ["difference"]),
    helper.make_node("Mul", ["difference", "difference"], ["square"]),
    helper.make_node("ReduceMean", ["square"], ["variance"], axes=[-1]),
    helper.make_node("Add", ["variance", "epsilon"], ["more"]),
    helper.make_node("Sqrt", ["more"], ["deviation"]),
    helper.make_node("Div", ["difference", "deviation"], ["Y"]),
]
pool = [helper.make_node("ReduceMean", ["X"], ["Y"], axes=[1], keepdims=0)]


def outputs(nodes, values, shape):
    graph = helper.make_graph(
        nodes,
        "part",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT16, values.shape)],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT16, shape)],
        [numpy_helper.from_array(np.array(1e-5, "float16"), "epsilon")] if len(nodes) > 1 else [],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, path)
    machine = relax.VirtualMachine(tvm.compile(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
    yield "onnxruntime", onnxruntime.InferenceSession(path).run(None, {"X": values})[0]
    yield "tvm", machine["main"](tvm.runtime.tensor(values)).numpy()
    yield "tract", tract.Onnx().load(path).into_model().into_runnable().run([values])[0].to_numpy()


words = []
for name, nodes, values, shape in (
    ("norm of deviation 5", norm, 5 * random.normal(size=(1, 8, 768)), (1, 8, 768)),
    ("norm of deviation 12", norm, 12 * random.normal(size=(1, 8, 768)), (1, 8, 768)),
    ("mean of 150", pool, 150 + random.normal(size=(1, 512, 8)), (1, 8)),
):
    found = outputs(nodes, values.astype("float16"), shape)
    words.append(f"{name}: " + " ".join(f"{runtime} {np.abs(part).max():.1f}" for runtime, part in found))
print(f"tvm {importlib.metadata.version('apache-tvm')}, tract {tract.version()}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tvm 0.27.0.post1, tract 0.23.9: norm of deviation 5: onnxruntime 3.9 tvm 3.9 tract 3.9; norm of\
 deviation 12: onnxruntime 3.9 tvm 0.0 tract 3.9; mean of 150: onnxruntime 150.0 tvm inf tract inf"
