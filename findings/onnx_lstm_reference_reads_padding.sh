#!/usr/bin/env bash
# ONNX's reference evaluator reads padding in an LSTM or GRU: `sequence_lens`, `activations` and `clip` are ignored.
#
# Guess before the run: `onnx.reference.ReferenceEvaluator`, which shows what operators of ONNX are to compute, has the
# outputs that onnxruntime has for a recurrent tagger over a BERT, also with lengths of the sentences.
# Seen: onnx 1.23.2 with onnxruntime 1.30.0. Without options they agree. With `sequence_lens` [5, 2] outputs of LSTM and
# GRU are up to 0.8 apart: the reference goes on over the padding, where onnxruntime has zeros. `clip` and `activations`
# change nothing in it. A runtime that is tested against the reference is found wrong for being right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    onnx==1.23.2 numpy==2.4.6 onnxruntime==1.30.0
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
import onnx
import onnxruntime

from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

random = np.random.default_rng(0)
words = random.normal(size=(5, 2, 3)).astype("float32")


def difference(kind, lengths=None, **attributes):
    gates = {"LSTM": 4, "GRU": 3}[kind]
    weights = {
        "W": random.normal(size=(1, 4 * gates, 3)).astype("float32"),
        "R": random.normal(size=(1, 4 * gates, 4)).astype("float32"),
    }
    if lengths is not None:
        weights["L"] = np.array(lengths, "int32")
    inputs = ["X", "W", "R"] + ([] if lengths is None else ["", "L"])
    node = helper.make_node(kind, inputs, ["Y"], hidden_size=4, **attributes)
    graph = helper.make_graph(
        [node],
        "tagger",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, words.shape)],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, (5, 1, 2, 4))],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found = ReferenceEvaluator(model).run(None, {"X": words})[0]
    return f"{np.abs(found - session.run(None, {'X': words})[0]).max():.1f}"


print(
    f"onnx {onnx.__version__}: LSTM {difference('LSTM')}, with sequence_lens {difference('LSTM', [5, 2])},",
    f"with clip {difference('LSTM', clip=0.5)},",
    f"with activations {difference('LSTM', activations=['Sigmoid', 'Relu', 'Relu'])};",
    f"GRU {difference('GRU')}, with sequence_lens {difference('GRU', [5, 2])},",
    f"with activations {difference('GRU', activations=['Sigmoid', 'Relu'])}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "onnx 1.23.2: LSTM 0.0, with sequence_lens 0.4, with clip 0.6, with activations 1.9; GRU 0.0, with\
 sequence_lens 0.8, with activations 1.4"
