#!/usr/bin/env bash
# tract runs an LSTM, GRU or RNN of direction "reverse" forward: only as half of "bidirectional" it reads from the end.
#
# Guess before the run: the backward layer of a tagger over a BERT, an LSTM with `direction="reverse"`, has the same
# outputs in tract as in onnxruntime.
# Seen: tract 0.23.9 with onnxruntime 1.30.0. Forward and bidirectional agree in both. With "reverse" tract's outputs
# are exactly those of "forward", 0.6 to 1.6 away, for all three kinds of cells, and nothing is said. A tagger whose two
# directions are two nodes sees the words before twice and the words after never.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    onnx==1.23.2 numpy==2.4.6 onnxruntime==1.30.0 tract==0.23.9
cat > "$folder/program.py" <<'PYTHON'
import sys

import numpy as np
import onnx
import onnxruntime
import tract

from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(0)
path = f"{sys.argv[1]}/tagger.onnx"
tokens = random.normal(size=(6, 2, 3)).astype("float32")
words = []
for kind, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
    found = {}
    weights = {"W": random.normal(size=(2, 4 * gates, 3)), "R": random.normal(size=(2, 4 * gates, 4))}
    for direction in ("forward", "reverse", "bidirectional"):
        count = 2 if direction == "bidirectional" else 1
        graph = helper.make_graph(
            [helper.make_node(kind, ["X", "W", "R"], ["Y"], hidden_size=4, direction=direction)],
            "tagger",
            [helper.make_tensor_value_info("X", TensorProto.FLOAT, tokens.shape)],
            [helper.make_tensor_value_info("Y", TensorProto.FLOAT, (6, count, 2, 4))],
            [numpy_helper.from_array(value[:count].astype("float32"), name) for name, value in weights.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, path)
        found[direction] = tract.Onnx().load(path).into_model().into_runnable().run([tokens])[0].to_numpy()
        right = onnxruntime.InferenceSession(path).run(None, {"X": tokens})[0]
        words.append(f"{direction} {np.abs(found[direction] - right).max():.1f}")
    words[-1] += f", reverse and forward {'equal' if np.array_equal(found['reverse'], found['forward']) else 'differ'};"
    words[-3] = f"{kind} {words[-3]}"
print(f"tract {tract.version()}:", ", ".join(words).replace(";,", ";").rstrip(";"))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tract 0.23.9: LSTM forward 0.0, reverse 0.6, bidirectional 0.0, reverse and forward equal; GRU\
 forward 0.0, reverse 0.8, bidirectional 0.0, reverse and forward equal; RNN forward 0.0, reverse 1.6, bidirectional\
 0.0, reverse and forward equal"
