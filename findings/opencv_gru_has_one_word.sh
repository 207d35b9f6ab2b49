#!/usr/bin/env bash
# A GRU in OpenCV gives all words of a text the state of the last one, and with "reverse" it reads forward all the same.
#
# Guess before the run: a GRU over the states of a BERT, added to them as a residual, has the outputs in OpenCV's
# networks that it has in onnxruntime, with `direction="reverse"` too; an LSTM in its place has them.
# Seen: opencv-python-headless 5.0.0.93 with onnxruntime 1.30.0. The LSTM is right in both directions. The GRU's output
# of all steps is its state after the last step, one vector for a text, which the addition spreads over all words, so
# that a tagger tells them apart no more. With "reverse" it is the same vector as forward. The model is read without a
# word; its output has the right shape.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    opencv-python-headless==5.0.0.93 onnx==1.23.2 onnxruntime==1.30.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import sys

import cv2
import numpy as np
import onnx
import onnxruntime

from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(0)
path = f"{sys.argv[1]}/tagger.onnx"
tokens = random.normal(size=(6, 2, 4)).astype("float32")
words = []
for kind, gates in (("LSTM", 4), ("GRU", 3)):
    weights = {"W": random.normal(size=(1, 4 * gates, 4)), "R": random.normal(size=(1, 4 * gates, 4))}
    for direction in ("forward", "reverse"):
        nodes = [
            helper.make_node(kind, ["X", "W", "R"], ["states"], hidden_size=4, direction=direction),
            helper.make_node("Reshape", ["states", "shape"], ["squeezed"]),
            helper.make_node("Add", ["squeezed", "X"], ["Y"]),
        ]
        constants = {name: value.astype("float32") for name, value in weights.items()}
        constants["shape"] = np.array([-1, 2, 4])
        graph = helper.make_graph(
            nodes,
            "tagger",
            [helper.make_tensor_value_info("X", TensorProto.FLOAT, tokens.shape)],
            [helper.make_tensor_value_info("Y", TensorProto.FLOAT, tokens.shape)],
            [numpy_helper.from_array(value, name) for name, value in constants.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, path)
        network = cv2.dnn.readNetFromONNX(path)
        network.setInput(tokens, "X")
        found = network.forward() - tokens
        right = onnxruntime.InferenceSession(path).run(None, {"X": tokens})[0] - tokens
        if direction == "forward":
            forward = found
            name = f"{kind} {np.abs(found - right).max():.1f} off, {np.abs(found[:1] - found).max():.1f} between words,"
            words.append(f"{name} {np.abs(found[0] - right[-1]).max():.1f} from the last state")
        else:
            off, alike = (np.abs(found - states).max() for states in (right, forward))
            words.append(f"reverse {off:.1f} off, {alike:.1f} from forward")
print(f"opencv {cv2.__version__}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "opencv 5.0.0: LSTM 0.0 off, 0.8 between words, 0.8 from the last state; reverse 0.0 off, 0.8 from\
 forward; GRU 1.9 off, 0.0 between words, 0.0 from the last state; reverse 1.4 off, 0.0 from forward"
