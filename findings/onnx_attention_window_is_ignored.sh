#!/usr/bin/env bash
# OpenVINO and tract read ONNX's Attention with a window as if it had none: ModernBERT's local layers see all words.
#
# Guess before the run: `left_window_size` and `right_window_size`, attributes of Attention since opset 25, limit the
# keys of a query, as ModernBERT's local attention needs it; a runtime that doesn't know them refuses the model, as it
# does with other attributes it can't read.
# Seen: onnx 1.23.2, OpenVINO 2026.4.1, tract 0.23.9. In a text of 16 tokens with two neighbours on each side both
# runtimes give exactly what they give without a window, up to 1.6 away from what is right by onnx's own evaluator, and
# neither says anything. In short texts all looks well. onnxruntime 1.30.0 refuses the model.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    onnx==1.23.2 numpy==2.4.6 openvino==2026.4.1 tract==0.23.9
cat > "$folder/program.py" <<'PYTHON'
import sys

import numpy as np
import onnx
import openvino
import tract

from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

random = np.random.default_rng(0)
path = f"{sys.argv[1]}/attention.onnx"
heads = {name: random.normal(size=(1, 2, 16, 8)).astype("float32") for name in "QKV"}


def seen(**attributes):
    node = helper.make_node("Attention", ["Q", "K", "V"], ["Y"], **attributes)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 2, 16, 8)) for name in "QKVY"]
    graph = helper.make_graph([node], "attention", values[:3], values[3:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=11)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    compiled = openvino.Core().compile_model(path, "CPU")
    loaded = tract.Onnx().load(path).into_model().into_runnable()
    return (
        ReferenceEvaluator(model).run(None, heads)[0],
        compiled(list(heads.values()))[compiled.outputs[0]].copy(),
        loaded.run(list(heads.values()))[0].to_numpy(),
    )


right, *others = seen(left_window_size=2, right_window_size=2)
whole = seen()[0]
words = []
for module, found in zip((openvino, tract), others):
    version = openvino.__version__.split("-")[0] if module is openvino else tract.version()
    off, alike = (np.abs(found - values).max() for values in (right, whole))
    words.append(f"{module.__name__} {version} is {off:.1f} off, {alike:.1f} from attention without a window")
print(f"onnx {onnx.__version__}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "onnx 1.23.2: openvino 2026.4.1 is 1.6 off, 0.0 from attention without a window; tract 0.23.9 is 1.6\
 off, 0.0 from attention without a window"
