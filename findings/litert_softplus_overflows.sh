#!/usr/bin/env bash
# The log probability of a yes or no, `log_sigmoid`, is minus infinity below -89 in LiteRT, and `softplus` infinite.
#
# Guess before the run: TensorFlow's `softplus` and `log_sigmoid` are exact for all logits, and so they are in the
# LiteRT model.
# Seen: TensorFlow 2.20.0, ai-edge-litert 2.3.0. The converter makes Exp, Add and Log of both, so log(1 + exp(x)):
# infinite above 88, and 0 below -17, where it is 2e-9 in TensorFlow at -20. `log_sigmoid` of a logit of -100 is minus
# infinity for -100. A re-ranker or a loss that adds log probabilities has an infinite sum. The sigmoid itself is
# right.
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


logits = np.array([-100.0, -20.0, 0.0, 80.0, 90.0], np.float32)
version = importlib.metadata.version("ai-edge-litert")
print(
    f"ai-edge-litert {version}: logits {text(logits)}: softplus {both(tf.math.softplus, logits)};",
    f"log_sigmoid {both(tf.math.log_sigmoid, logits)}; sigmoid {both(tf.math.sigmoid, logits)}",
)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ai-edge-litert 2.3.0: logits -100 -20 0 80 90: softplus 0 2.06e-09 0.693 80 90 and 0 0 0.693 80 inf;\
 log_sigmoid -100 -20 -0.693 -1.8e-35 -0 and -inf -20 -0.693 0 0; sigmoid 0 2.06e-09 0.5 1 1 and 0 2.06e-09 0.5 1 1"
