#!/usr/bin/env bash
# tf2onnx takes the label -1, which TensorFlow's one-hot leaves out, for the last class: padding counts as words of it.
#
# Guess before the run: `tf.one_hot` of a number outside of the classes is a row of zeros, as its page says, and stays
# that in ONNX: so -1 marks positions that do not count.
# Seen: tf2onnx 1.17.0, opset 18. ONNX's OneHot counts -1 from the end, and the converter doesn't care: labels that
# are padded with -1 count for the last class. Of four positions, two of them padding, a model that is always right in
# its words has 3 right ones in ONNX instead of 2. A number above the classes is a row of zeros in both.
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


labels = np.array([0, 1, -1, -1])
logits = np.array([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0], [0.0, 2.0, 0.0]], np.float32)


def counts(labels):
    return tf.reduce_sum(tf.one_hot(labels, 3), 0)


def right(labels, logits):
    return tf.reduce_sum(tf.one_hot(labels, 3) * tf.one_hot(tf.argmax(logits, -1), 3))


print(
    f"tf2onnx {tf2onnx.__version__}: words of each class: {both(counts, labels)};",
    f"right ones: {both(right, labels, logits)};",
    f"class 5 of 3: {both(lambda x: tf.one_hot(x, 3), np.array([5]))}",
)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf2onnx 1.17.0: words of each class: TensorFlow [1.0, 1.0, 0.0], ONNX [1.0, 1.0, 2.0]; right ones:\
 TensorFlow 2.0, ONNX 3.0; class 5 of 3: TensorFlow [[0.0, 0.0, 0.0]], ONNX [[0.0, 0.0, 0.0]]"
