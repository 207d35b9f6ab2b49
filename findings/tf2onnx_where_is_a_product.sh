#!/usr/bin/env bash
# tf2onnx makes products of `tf.where`: a mean of no words, which is set to 0, and a log-sum of nothing are NaN in ONNX.
#
# Guess before the run: `tf.where(counts > 0, sums / counts, 0.0)` becomes the Where that ONNX has since opset 9,
# which takes values of one side only, as TensorFlow's does.
# Seen: tf2onnx 1.17.0, opset 18. It becomes `condition * x + (not condition) * y`, unless a constant that is infinite
# or NaN, or a test for NaN, is seen in the graph. 0 times NaN or infinity is NaN: so a mean of 0 words, that
# `tf.where` sets to 0, is NaN in ONNX, and `tf.reduce_logsumexp` of minus infinities, which asks `is_finite` inside,
# too. With a constant minus infinity, as for masked scores, Where is used and all is right. A pooled vector that is
# NaN for an empty text makes all that is computed of it NaN.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tf2onnx==1.17.0 onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import collections

import numpy as np
import onnxruntime
import tensorflow as tf
import tf2onnx


def convert(function, *arrays):
    signature = [tf.TensorSpec(array.shape, array.dtype) for array in arrays]
    model, _ = tf2onnx.convert.from_function(tf.function(function), input_signature=signature, opset=18)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    feeds = dict(zip([feed.name for feed in session.get_inputs()], arrays))
    operations = collections.Counter(node.op_type for node in model.graph.node)
    return session.run(None, feeds)[0], function(*arrays).numpy(), operations["Where"]


def attention(scores, mask):
    return tf.nn.softmax(tf.where(mask, scores, -np.inf))


def mean(sums, counts):
    return tf.where(counts > 0, sums / counts, 0.0)


def log_sum(scores):
    return tf.reduce_logsumexp(scores, -1)


def lists(array):
    return " ".join(f"{value:.2f}" for value in array.ravel())


scores = np.array([[1.0, 2.0, 3.0]], np.float32)
mask = np.array([[True, True, False]])
none = np.full((1, 3), -np.inf, np.float32)
words = []
for name, function, arrays in (
    ("attention", attention, (scores, mask)),
    ("mean of 0 words", mean, (np.array([4.0, 0.0], np.float32), np.array([2.0, 0.0], np.float32))),
    ("log-sum of nothing", log_sum, (none,)),
):
    there, here, wheres = convert(function, *arrays)
    words.append(f"{name}: TensorFlow {lists(here)}, ONNX {lists(there)}, Where in it {wheres}")
print(f"tf2onnx {tf2onnx.__version__}: {'; '.join(words)}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf2onnx 1.17.0: attention: TensorFlow 0.27 0.73 0.00, ONNX 0.27 0.73 0.00, Where in it 1; mean of 0\
 words: TensorFlow 2.00 0.00, ONNX 2.00 nan, Where in it 0; log-sum of nothing: TensorFlow -inf, ONNX nan, Where in\
 it 0"
