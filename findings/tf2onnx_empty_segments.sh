#!/usr/bin/env bash
# tf2onnx gives a word without pieces a mean of NaN and a maximum of minus infinity, where TensorFlow's are 0.
#
# Guess before the run: Vectors of pieces are pooled to words by `tf.math.segment_mean` and `segment_max`: a word that
# has no piece is 0, as their pages say, also after conversion.
# Seen: tf2onnx 1.17.0, opset 18. The mean of the word without pieces is NaN and its maximum minus infinity: both
# pages say 0. Its sum is 0. In a layer after it one such word makes all words of the text NaN.
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


pieces = np.array([1.0, 3.0, -5.0, -2.0], np.float32)
words = np.array([0, 0, 2, 2])
print(
    f"tf2onnx {tf2onnx.__version__}: mean: {both(tf.math.segment_mean, pieces, words)};",
    f"max: {both(tf.math.segment_max, pieces, words)};",
    f"sum: {both(tf.math.segment_sum, pieces, words)}",
)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf2onnx 1.17.0: mean: TensorFlow [2.0, 0.0, -3.5], ONNX [2.0, nan, -3.5]; max: TensorFlow [3.0, 0.0,\
 -2.0], ONNX [3.0, -inf, -2.0]; sum: TensorFlow [4.0, 0.0, -7.0], ONNX [4.0, 0.0, -7.0]"
