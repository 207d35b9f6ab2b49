#!/usr/bin/env bash
# LiteRT leaves NaN out of maxima and of the best scores: a pooled text does not show that one of its words is NaN.
#
# Guess before the run: `tf.reduce_max` and `tf.math.top_k` of numbers with a NaN have the NaN in the LiteRT model, as
# in TensorFlow.
# Seen: TensorFlow 2.20.0, ai-edge-litert 2.3.0. In TensorFlow a NaN is the maximum, and the first of the top two. In
# LiteRT the maxima are those of the other numbers, and `top_k` puts NaN last. A sum is NaN in both. So a check of
# pooled vectors or of the best scores on a device finds a diverged model in order.
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


values = np.array([[1.0, np.nan, 3.0], [np.nan, 2.0, 0.0]], np.float32)
version = importlib.metadata.version("ai-edge-litert")
print(
    f"ai-edge-litert {version}, TensorFlow and LiteRT: {text(values)}:",
    f"maxima {both(lambda x: tf.reduce_max(x, -1), values)};",
    f"top two {both(lambda x: tf.math.top_k(x, 2)[0], values)};",
    f"their places {both(lambda x: tf.math.top_k(x, 2)[1], values)};",
    f"sums {both(lambda x: tf.reduce_sum(x, -1), values)}",
)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ai-edge-litert 2.3.0, TensorFlow and LiteRT: 1 nan 3 nan 2 0: maxima nan nan and 3 2; top two nan 3\
 nan 2 and 3 1 2 0; their places 1 2 0 1 and 2 0 1 2; sums nan nan and nan nan"
