#!/usr/bin/env bash
# LogSoftmax of ONNX's reference evaluator is minus infinity below -104: unlikely words are impossible, losses infinite.
#
# Guess before the run: LogSoftmax of the reference evaluator is `x - max - log(sum(exp(x - max)))`, as onnxruntime
# computes it, and exact for unlikely words: for logits 0 and 120 it is -120.
# Seen: onnx 1.23.2. It is the logarithm of Softmax, whose smallest float32 is 1e-45: below -104 all is minus
# infinity, and SoftmaxCrossEntropyLoss of a wrong and sure BERT is infinite. onnxruntime has -120 and 120. A
# perplexity or a sum of log probabilities that is checked with the reference is infinite there and finite in the
# runtime.
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


def model(node, *inputs):
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "graph", list(inputs), [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def both(model, feeds):
    here = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)[0]
    there = ReferenceEvaluator(model).run(None, feeds)[0]
    return f"onnxruntime {np.round(here, 2).tolist()}, reference {np.round(there, 2).tolist()}"


scores = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, None])
labels = helper.make_tensor_value_info("labels", TensorProto.INT64, [None])
softmax = model(helper.make_node("LogSoftmax", ["x"], ["y"]), scores)
loss = model(helper.make_node("SoftmaxCrossEntropyLoss", ["x", "labels"], ["y"]), scores, labels)
x = np.array([[0.0, 30.0, 120.0]], np.float32)
words = [f"LogSoftmax {both(softmax, {'x': x})}"]
words.append(f"SoftmaxCrossEntropyLoss {both(loss, {'x': x, 'labels': np.array([0])})}")
print(f"onnx {onnx.__version__}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "onnx 1.23.2: LogSoftmax onnxruntime [[-120.0, -90.0, 0.0]], reference [[-inf, -90.0, 0.0]];\
 SoftmaxCrossEntropyLoss onnxruntime 120.0, reference inf"
