#!/usr/bin/env bash
# In tract and tinygrad a causal Attention of ONNX with a cache sees the first word only, as if it stood there itself.
#
# Guess before the run: a query that comes after six cached keys sees all six and its own, with `is_causal=1`; ONNX
# counts its place from the end of the cache, as onnxruntime does.
# Seen: tract 0.23.9 and tinygrad 0.14.0 with onnx 1.23.2 and onnxruntime 1.30.0. Both give exactly the value of the
# first word of the text, 1 and more off: the mask is that of a text without a cache, whose first word sees itself. With
# all words in one call both are right, so that only the words after the first call are wrong.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tinygrad==0.14.0 tract==0.23.9 onnx==1.23.2 onnxruntime==1.30.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import numpy as np
import onnx
import onnxruntime
import tract

from onnx import TensorProto, helper
from tinygrad.nn.onnx import OnnxRunner

random = np.random.default_rng(0)
path = f"{sys.argv[1]}/decoder.onnx"
shapes = {"Q": (1, 2, 1, 8), "K": (1, 2, 1, 8), "V": (1, 2, 1, 8), "past_K": (1, 2, 6, 8), "past_V": (1, 2, 6, 8)}
values = {name: random.normal(size=shape).astype("float32") for name, shape in shapes.items()}
node = helper.make_node("Attention", ["Q", "K", "V", "", "past_K", "past_V"], ["Y", "keys", "values"], is_causal=1)
inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
output_shapes = {"Y": (1, 2, 1, 8), "keys": (1, 2, 7, 8), "values": (1, 2, 7, 8)}
outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in output_shapes.items()]
model = helper.make_model(
    helper.make_graph([node], "decoder", inputs, outputs), opset_imports=[helper.make_opsetid("", 24)], ir_version=11
)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, path)
right = onnxruntime.InferenceSession(path).run(None, values)[0]
loaded = tract.Onnx().load(path).into_model().into_runnable()
found = {
    f"tract {tract.version()}": loaded.run(list(values.values()))[0].to_numpy(),
    f"tinygrad {importlib.metadata.version('tinygrad')}": OnnxRunner(path)(values)["Y"].numpy(),
}
first = values["past_V"][:, :, :1]
words = []
for name, states in found.items():
    off, alike = (np.abs(states - others).max() for others in (right, first))
    words.append(f"{name} {off:.1f} off, {alike:.1f} from the value of the first word")
print(f"onnx {onnx.__version__}: {'; '.join(words)}")
PYTHON
seen=$(DEV=PYTHON "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "onnx 1.23.2: tract 0.23.9 1.7 off, 0.0 from the value of the first word; tinygrad 0.14.0 1.7 off, 0.0\
 from the value of the first word"
