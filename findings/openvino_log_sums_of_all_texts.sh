#!/usr/bin/env bash
# Log-sums of a CRF are one number for all texts and tags in OpenVINO, if the ONNX file is of an opset such as 13 or 17.
#
# Guess before the run: a step of a CRF's forward algorithm over a BERT's tags, ReduceLogSumExp over the tag before and
# the scores of the next word, has the same sums in OpenVINO as in onnxruntime, whichever opset the file is of.
# Seen: openvino 2026.3.0 with onnxruntime 1.30.0 and onnx 1.23.2. They agree at opset 12 and 18. At 13 and 17, where
# `axes` is still an attribute of the node, OpenVINO ignores it for ReduceLogSumExp, ReduceLogSum and ReduceL1, and sums
# over everything; the other sums, means and maxima read it. What is added afterwards broadcasts, so that the shape is
# right: text 1 has sums of text 2 in it, and tags of a CRF depend on the batch.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    onnx==1.23.2 numpy==2.4.6 onnxruntime==1.30.0 openvino==2026.3.0
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
import onnx
import onnxruntime
import openvino

from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(0)
inputs = {"paths": random.normal(size=(2, 3, 3)).astype("float32"), "next": np.zeros((2, 3), "float32")}


def step(operation, opset):
    """What the two runtimes say of the three tags of the first of two texts."""
    axes = np.array([1])
    node = (
        helper.make_node(operation, ["paths", "axes"], ["sums"], keepdims=0)
        if opset >= 18
        else helper.make_node(operation, ["paths"], ["sums"], keepdims=0, axes=axes.tolist())
    )
    graph = helper.make_graph(
        [node, helper.make_node("Add", ["sums", "next"], ["alphas"])],
        "step",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in inputs.items()],
        [helper.make_tensor_value_info("alphas", TensorProto.FLOAT, (2, 3))],
        [numpy_helper.from_array(axes, "axes")] if opset >= 18 else [],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    data = model.SerializeToString()
    right = onnxruntime.InferenceSession(data).run(None, inputs)[0]
    core = openvino.Core()
    found = core.compile_model(core.read_model(data), "CPU")(inputs)[0]
    return " ".join(f"{value:.1f}" for value in found[0]) + " for " + " ".join(f"{value:.1f}" for value in right[0])


words = [f"ReduceLogSumExp {opset}: {step('ReduceLogSumExp', opset)}" for opset in (12, 13, 17, 18)]
words.append(f"ReduceL1 17: {step('ReduceL1', 17)}")
print(f"openvino {openvino.__version__.split('-')[0]}, {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "openvino 2026.3.0, ReduceLogSumExp 12: 1.8 1.4 1.3 for 1.8 1.4 1.3; ReduceLogSumExp 13: 2.9 2.9 2.9 for\
 1.8 1.4 1.3; ReduceLogSumExp 17: 2.9 2.9 2.9 for 1.8 1.4 1.3; ReduceLogSumExp 18: 1.8 1.4 1.3 for 1.8 1.4 1.3;\
 ReduceL1 17: 12.2 12.2 12.2 for 1.5 1.6 1.7"
