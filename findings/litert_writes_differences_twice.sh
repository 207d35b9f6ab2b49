#!/usr/bin/env bash
# A place that `tf.tensor_scatter_nd_update` writes twice, with 1 and 2, holds -7 in LiteRT, if it held 10 before.
#
# Guess before the run: one of the two values stays, as TensorFlow's documentation leaves the order open.
# Seen: ai-edge-litert 2.3.0, a model converted by tensorflow 2.20.0. TensorFlow has 2, the last. In LiteRT it is -7:
# the converter makes a sum of it, what was there, plus the difference of each new value to it, so 10 - 9 - 8. Places
# that are written once are right. Scores of pieces that are written to the places of their words, as one does to keep
# a piece of each word, become numbers that none of the pieces has.
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

words = np.array([[0], [0], [2]], "int32")  # the place of each piece of a text: 0 has two
scores = np.array([1, 2, 5], "float32")


def write(words, scores):
    return tf.tensor_scatter_nd_update(tf.fill([4], 10.0), words, scores)


signature = [tf.TensorSpec(one.shape, one.dtype) for one in (words, scores)]
traced = tf.function(write, input_signature=signature).get_concrete_function()
interpreter = Interpreter(model_content=tf.lite.TFLiteConverter.from_concrete_functions([traced]).convert())
interpreter.allocate_tensors()
for details in interpreter.get_input_details():
    value = words if details["dtype"] == np.int32 else scores
    interpreter.set_tensor(details["index"], value)
interpreter.invoke()
there = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
version = importlib.metadata.version("ai-edge-litert")
print(f"ai-edge-litert {version}: {write(words, scores).numpy().tolist()} | {there.tolist()}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null)
echo "$seen"
test "$seen" = "ai-edge-litert 2.3.0: [2.0, 10.0, 5.0, 10.0] | [-7.0, 10.0, 5.0, 10.0]"
