#!/usr/bin/env bash
# onnxruntime's Bernoulli is turned round: of words that are masked with a probability of .15 it masks .85.
#
# Guess before the run: Bernoulli of ONNX "draws binary random numbers" that are 1 with the probability that is its
# input, as `torch.bernoulli`, which is exported to it: of .15 a share of .15 is 1.
# Seen: onnx 1.23.2 and onnxruntime 1.32.0. The runtime has no Bernoulli of its own and computes the function that
# ONNX gives for it, "random greater than probability", which is 1 where it should be 0. So .15 becomes .85, 1 becomes
# 0 and 0 becomes 1, in opset 15 as in opset 21. ONNX's reference evaluator draws right. A model whose graph masks
# words or drops units at random does the opposite.
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
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator


def model(opset):
    node = helper.make_node("Bernoulli", ["x"], ["y"], seed=1.0)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None]) for name in "xy"]
    graph = helper.make_graph([node], "graph", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


words = []
for probability in (0.0, 0.15, 0.9, 1.0):
    feeds = {"x": np.full(100_000, probability, np.float32)}
    shares = [ReferenceEvaluator(model(21)).run(None, feeds)[0].mean()]
    for opset in (15, 21):
        session = onnxruntime.InferenceSession(model(opset).SerializeToString())
        shares.append(session.run(None, feeds)[0].mean())
    words.append(f"{probability} " + " ".join(f"{share:.2f}" for share in shares))
print(f"onnxruntime {onnxruntime.__version__}: reference, opset 15, opset 21: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "onnxruntime 1.32.0: reference, opset 15, opset 21: 0.0 0.00 1.00 1.00, 0.15 0.15 0.85 0.85, 0.9 0.90\
 0.10 0.10, 1.0 1.00 0.00 0.00"
