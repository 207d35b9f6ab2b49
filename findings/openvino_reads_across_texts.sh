#!/usr/bin/env bash
# OpenVINO reads an LSTM with `layout=1`, batch first, across the texts: first words of all texts are its first text.
#
# Guess before the run: `layout=1` of ONNX's LSTM, GRU and RNN, inputs of [batch, length, units] as a BERT's states are,
# is read or refused: the last state of each text is that of ONNX's own evaluator.
# Seen: OpenVINO 2026.4.1 with onnx 1.23.2. Of four texts of four words the states are up to 1.8 off, and exactly those
# of the texts crosswise: the attribute is not read, and each place in the four texts is taken for a text. The file is
# valid, and nothing is said; where batch and length differ a shape is wrong later. onnxruntime 1.30.0 refuses the
# model, and tract 0.23.9 is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    onnx==1.23.2 numpy==2.4.6 openvino==2026.4.1
cat > "$folder/program.py" <<'PYTHON'
import sys

import numpy as np
import onnx
import openvino

from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

random = np.random.default_rng(0)
path = f"{sys.argv[1]}/tagger.onnx"
texts = random.normal(size=(4, 4, 3)).astype("float32")
words = []
for kind, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
    weights = {"W": random.normal(size=(1, 5 * gates, 3)), "R": random.normal(size=(1, 5 * gates, 5))}
    nodes = [
        helper.make_node(kind, ["X", "W", "R"], ["", "last"], hidden_size=5, layout=1),
        helper.make_node("Reshape", ["last", "shape"], ["states"]),
    ]
    constants = {name: value.astype("float32") for name, value in weights.items()}
    constants["shape"] = np.array([4, 5])
    graph = helper.make_graph(
        nodes,
        "encoder",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, texts.shape)],
        [helper.make_tensor_value_info("states", TensorProto.FLOAT, (4, 5))],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    compiled = openvino.Core().compile_model(path, "CPU")
    found = compiled([texts])[compiled.outputs[0]]
    right, across = (ReferenceEvaluator(model).run(None, {"X": x})[0] for x in (texts, texts.swapaxes(0, 1)))
    off, crosswise = (np.abs(found - states).max() for states in (right, across))
    words.append(f"{kind} {off:.1f} off, {crosswise:.1f} from the texts crosswise")
print(f"openvino {openvino.__version__.split('-')[0]}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "openvino 2026.4.1: LSTM 0.6 off, 0.0 from the texts crosswise; GRU 1.2 off, 0.0 from the texts\
 crosswise; RNN 1.8 off, 0.0 from the texts crosswise"
