#!/usr/bin/env bash
# Grouped-query attention of ONNX has other groups in tinygrad: of two heads of keys the second query reads the second.
#
# Guess before the run: Attention with 4 heads of queries and 2 of keys gives the first two queries the first key, as
# ONNX says and onnxruntime computes it.
# Seen: tinygrad 0.14.0 with onnx 1.23.2 and onnxruntime 1.30.0. With as many keys as queries, and with one key, the two
# agree. With 2 for 4 or 3 for 6 tinygrad's outputs are 1.6 to 1.9 off, and exactly those of queries that are dealt to
# the keys in turn: the heads of keys are laid in a row once more instead of each being repeated. The cases of onnx's
# own test suite show it.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tinygrad==0.14.0 onnx==1.23.2 onnxruntime==1.30.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import numpy as np
import onnx
import onnxruntime

from onnx import TensorProto, helper
from tinygrad.nn.onnx import OnnxRunner

random = np.random.default_rng(0)
path = f"{sys.argv[1]}/attention.onnx"


def outputs(heads, groups):
    shapes = {"Q": (1, heads, 5, 4), "K": (1, groups, 5, 4), "V": (1, groups, 5, 4)}
    values = {name: random.normal(size=shape).astype("float32") for name, shape in shapes.items()}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    output = helper.make_tensor_value_info("Y", TensorProto.FLOAT, shapes["Q"])
    node = helper.make_node("Attention", list("QKV"), ["Y"])
    model = helper.make_model(
        helper.make_graph([node], "attention", inputs, [output]),
        opset_imports=[helper.make_opsetid("", 23)],
        ir_version=10,
    )
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    session = onnxruntime.InferenceSession(path)
    found = OnnxRunner(path)(dict(values))["Y"].numpy()
    right = session.run(None, values)[0]
    crosswise = np.arange(heads).reshape(heads // groups, groups).T.ravel()
    other = session.run(None, {**values, "Q": values["Q"][:, crosswise]})[0][:, np.argsort(crosswise)]
    return f"{np.abs(found - right).max():.1f} off, {np.abs(found - other).max():.1f} from heads dealt in turn"


words = []
for heads, groups in ((4, 4), (4, 1), (4, 2), (6, 3)):
    words.append(f"{heads} heads, {groups} of keys {outputs(heads, groups)}")
print(f"tinygrad {importlib.metadata.version('tinygrad')}: {'; '.join(words)}")
PYTHON
seen=$(DEV=PYTHON "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tinygrad 0.14.0: 4 heads, 4 of keys 0.0 off, 0.0 from heads dealt in turn; 4 heads, 1 of keys 0.0\
 off, 0.0 from heads dealt in turn; 4 heads, 2 of keys 1.6 off, 0.0 from heads dealt in turn; 6 heads, 3 of keys 1.9\
 off, 0.0 from heads dealt in turn"
