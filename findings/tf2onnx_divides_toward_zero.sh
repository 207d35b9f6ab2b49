#!/usr/bin/env bash
# tf2onnx rounds `//` and `%` of negative integers toward zero: relative positions and hashed words are others in ONNX.
#
# Guess before the run: Integer division and its remainder mean floors in TensorFlow, as in Python: the converter
# corrects ONNX's Div, or uses Mod, which has the sign of the divisor.
# Seen: tf2onnx 1.17.0, opset 18. Both become Div, which rounds toward zero for integers, and its remainder: of a
# distance -1, `// 2` is 0 instead of -1, so that the places left and right of a word share a bucket, and -7 % 5 is -2
# instead of 3. As an index of an embedding -2 is the second row from the end in ONNX: a hashed word has another
# vector, without an error. Floats are rounded down.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tf2onnx==1.17.0 onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
import onnxruntime
import tensorflow as tf
import tf2onnx


def both(function, *arrays):
    """What TensorFlow and onnxruntime return, as lists."""
    signature = [tf.TensorSpec(array.shape, array.dtype) for array in arrays]
    model, _ = tf2onnx.convert.from_function(tf.function(function), input_signature=signature, opset=18)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    feeds = dict(zip([feed.name for feed in session.get_inputs()], arrays))
    here = function(*map(tf.constant, arrays)).numpy().tolist()
    return f"TensorFlow {here}, ONNX {session.run(None, feeds)[0].tolist()}"


distances = np.arange(-3, 4)
hashes = np.array([-7, 7, -1])
print(
    f"tf2onnx {tf2onnx.__version__}: // 2: {both(lambda x: x // 2, distances)};",
    f"% 5: {both(lambda x: x % 5, hashes)};",
    f"// 2 of floats: {both(lambda x: x // 2, np.float32([-3, -1]))}",
)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf2onnx 1.17.0: // 2: TensorFlow [-2, -1, -1, 0, 0, 1, 1], ONNX [-1, -1, 0, 0, 0, 1, 1]; % 5:\
 TensorFlow [3, 2, 4], ONNX [-2, 2, -1]; // 2 of floats: TensorFlow [-2.0, -1.0], ONNX [-2.0, -1.0]"
