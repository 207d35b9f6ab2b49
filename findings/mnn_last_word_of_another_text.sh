#!/usr/bin/env bash
# The last word of a text, index -1, is that of the text before it in MNN's GatherND and GatherElements, or zero.
#
# Guess before the run: an index of -1 is the last word of each text, as ONNX says (indices from -s to s - 1), in all
# three operations that gather words, as a model does that pools its last token.
# Seen: MNN 3.6.1 with onnx 1.23.2 and onnxruntime 1.30.0. Gather is right. In GatherND with `batch_dims=1` and in
# GatherElements the first text of a batch has zeros, and the second the last word of the first: -1 is added to the
# place where the text begins. With the index 4 of five words all are right. Neither the converter nor the runtime says
# a word.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mnn==3.6.1 onnx==1.23.2 onnxruntime==1.30.0 numpy==2.4.6
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

path = f"{sys.argv[1]}/model.onnx"
states = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")
words = []
for name, index, attributes, shape in (
    ("Gather", (1,), {"axis": 1}, (2, 1, 3)),
    ("GatherND", (2, 1), {"batch_dims": 1}, (2, 3)),
    ("GatherElements", (2, 1, 3), {"axis": 1}, (2, 1, 3)),
):
    for place in (4, -1):
        graph = helper.make_graph(
            [helper.make_node(name, ["x", "place"], ["y"], **attributes)],
            "pooling",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, states.shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
            [numpy_helper.from_array(np.full(index, place), "place")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, path)
        # What the command mnnconvert calls.
        files = ["--modelFile", path, "--MNNModel", path + ".mnn"]
        _tools.mnnconvert(["mnnconvert", "-f", "ONNX", *files, "--bizCode", "x"])
        net = MNN.nn.load_module_from_file(path + ".mnn", ["x"], ["y"])
        values = MNN.expr.const(states.copy(), list(states.shape), MNN.expr.NCHW)
        found = np.array(net.onForward([values])[0].read()).reshape(shape)
        right = onnxruntime.InferenceSession(path).run(None, {"x": states})[0]
        found = found.reshape(2, 3)
        off = np.abs(found - right.reshape(2, 3)).max()
        words.append(f"{name} of {place} {off:.1f} off")
        if off:
            before = np.abs(found[1] - states[0, -1]).max()
            words[-1] += f" (first {np.abs(found[0]).max():.1f}, second {before:.1f} from the last word of the first)"
print(f"MNN {MNN.version()}: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "MNN 3.6.1: Gather of 4 0.0 off, Gather of -1 0.0 off, GatherND of 4 0.0 off, GatherND of -1 2.3 off\
 (first 0.0, second 0.0 from the last word of the first), GatherElements of 4 0.0 off, GatherElements of -1 2.3 off\
 (first 0.0, second 0.0 from the last word of the first)"
