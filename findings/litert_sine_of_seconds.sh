#!/usr/bin/env bash
# The sine of a time in seconds since 1970 is -99 in LiteRT, where TensorFlow has -.84: it is no sine from 1.7e9 on.
#
# Guess before the run: sine and cosine of large numbers are a little off in LiteRT, and lie between -1 and 1.
# Seen: ai-edge-litert 2.3.0 on a CPU, models converted by tensorflow 2.20.0. To 1e8 both agree, at 1e9 to two digits.
# At 1.7e9 (November 2023) the sine is -394.79 and the cosine -405.49, at 1.76e9 they are -99.40 and -87.03. Time2Vec
# and other encodings of times, beside a text in a classifier, have numbers like that in an app, and good ones in
# training. Subtract the first time of the data before.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 ai-edge-litert==2.3.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter


def in_litert(function, x):
    traced = tf.function(function, input_signature=[tf.TensorSpec(x.shape, x.dtype)]).get_concrete_function()
    interpreter = Interpreter(model_content=tf.lite.TFLiteConverter.from_concrete_functions([traced]).convert())
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


version = importlib.metadata.version("ai-edge-litert")
seconds = np.array([1e6, 1e7, 1e8, 1e9, 1.7e9, 1.76e9], "float32")
for name, function in {"sin": tf.sin, "cos": tf.cos}.items():
    here, there = function(seconds).numpy(), in_litert(function, seconds)
    shown = [" ".join(f"{value:.2f}" for value in values) for values in (here, there)]
    print(f"ai-edge-litert {version} {name}: {' | '.join(shown)}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null)
echo "$seen"
test "$seen" = "ai-edge-litert 2.3.0 sin: -0.35 0.42 0.93 0.55 1.00 -0.84 | -0.35 0.42 0.93 0.55 -394.79 -99.40
ai-edge-litert 2.3.0 cos: 0.94 -0.91 -0.36 0.84 -0.04 0.55 | 0.94 -0.91 -0.36 0.84 -405.49 -87.03"
