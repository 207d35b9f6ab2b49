#!/usr/bin/env bash
# tf2onnx keeps the last of the values that `tf.scatter_nd` adds on one place: a word that repeats counts once in ONNX.
#
# Guess before the run: `tf.scatter_nd` adds values of equal indices, as its page says; since opset 16 ONNX's
# ScatterND has reduction=add, and the converter uses it.
# Seen: tf2onnx 1.17.0, opset 18. `scatter_nd` becomes a ScatterND without a reduction, which keeps one of the values:
# the weights .5, .125 and .125 of a word that stands at three places are .125 instead of .75. So the copy
# distribution of a pointer network, or weights of words for sparse retrieval, don't add up to 1 any more.
# `tensor_scatter_nd_add` to zeros is the same in TensorFlow and right in ONNX.
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


ids = np.array([[2], [3], [2], [2]])
weights = np.array([0.5, 0.25, 0.125, 0.125], np.float32)


def scatter(ids, weights):
    return tf.scatter_nd(ids, weights, [5])


def add(ids, weights):
    return tf.tensor_scatter_nd_add(tf.zeros([5]), ids, weights)


print(
    f"tf2onnx {tf2onnx.__version__}: scatter_nd: {both(scatter, ids, weights)};",
    f"tensor_scatter_nd_add: {both(add, ids, weights)}",
)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf2onnx 1.17.0: scatter_nd: TensorFlow [0.0, 0.0, 0.75, 0.25, 0.0], ONNX [0.0, 0.0, 0.125, 0.25,\
 0.0]; tensor_scatter_nd_add: TensorFlow [0.0, 0.0, 0.75, 0.25, 0.0], ONNX [0.0, 0.0, 0.75, 0.25, 0.0]"
