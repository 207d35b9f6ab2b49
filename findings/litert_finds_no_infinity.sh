#!/usr/bin/env bash
# `tf.math.is_inf` finds no infinity in LiteRT: what a model sets to 0 where a score is infinite stays infinite.
#
# Guess before the run: `tf.math.is_inf` is true for infinity in the LiteRT model, as `is_nan` is for NaN and
# `is_finite` for neither.
# Seen: TensorFlow 2.20.0, ai-edge-litert 2.3.0. It is false for all numbers, so that a model which replaces
# infinities, before a softmax or a mean, goes on with them. `is_finite` and `is_nan` are right.
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


def both(function, x):
    """What TensorFlow and LiteRT return."""
    traced = tf.function(function, input_signature=[tf.TensorSpec(x.shape, x.dtype)]).get_concrete_function()
    model = tf.lite.TFLiteConverter.from_concrete_functions([traced]).convert()
    interpreter = Interpreter(model_content=model)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    there = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    return f"{text(function(tf.constant(x)).numpy())} and {text(there)}"


def text(array):
    return " ".join(f"{value:.3g}" if array.dtype.kind == "f" else str(value) for value in array.ravel())


values = np.array([np.inf, -np.inf, 1.0, np.nan], np.float32)


def replaced(x):
    return tf.where(tf.math.is_inf(x), 0.0, x)


version = importlib.metadata.version("ai-edge-litert")
print(
    f"ai-edge-litert {version}: {text(values)}: is_inf {both(tf.math.is_inf, values)};",
    f"is_finite {both(tf.math.is_finite, values)}; is_nan {both(tf.math.is_nan, values)};",
    f"infinities replaced {both(replaced, values)}",
)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ai-edge-litert 2.3.0: inf -inf 1 nan: is_inf True True False False and False False False False;\
 is_finite False False True False and False False True False; is_nan False False False True and False False False\
 True; infinities replaced 0 0 1 nan and inf -inf 1 nan"
