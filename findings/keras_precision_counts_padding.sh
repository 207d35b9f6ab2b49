#!/usr/bin/env bash
# Keras' accuracy leaves masked tokens out; its precision, recall, AUC and MeanIoU beside it count them as predictions.
#
# Guess before the run: the mask of `Embedding(mask_zero=True)` is for all metrics of `compile` or for none; in Keras 2
# it is the weight of all of them.
# Seen: Keras 3.15.1 on JAX 0.10.2, and alike on TensorFlow 2.20.0. A tagger that tags the three tokens of three
# sentences right and calls the three paddings positive has accuracy 1, precision 0.4 and AUC 0.25, in `metrics` and in
# `weighted_metrics`; in tf_keras 2.20.1 all are 1. The mask lies on the predictions as an attribute, and only metrics
# that are the mean of a function of each token look for it. The loss leaves the paddings out, so that nothing teaches
# the model to call them negative. A sample weight of 0 for each padding is heeded by all `weighted_metrics`.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 numpy==2.4.6 scipy==1.17.1 jax==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np

# Word 0 is padding, and gets the highest score.
ids = np.array([[1, 0], [2, 0], [1, 0]])
tags = np.array([[1, 0], [0, 0], [1, 0]])[..., None]
inputs = keras.Input((2,), dtype="int32")
embedding = keras.layers.Embedding(3, 1, mask_zero=True)
model = keras.Model(inputs, keras.layers.Activation("sigmoid")(embedding(inputs)))
embedding.set_weights([np.array([[2.0], [1.0], [-1.0]])])


def results(argument, weights=None):
    metrics = [
        keras.metrics.BinaryAccuracy(name="accuracy"),
        keras.metrics.Precision(name="precision"),
        keras.metrics.AUC(name="AUC"),
    ]
    model.compile("sgd", "binary_crossentropy", **{argument: metrics})
    values = model.evaluate(ids, tags, sample_weight=weights, verbose=0, return_dict=True)
    return ", ".join(f"{metric.name} {values[metric.name]:g}" for metric in metrics)


words = [f"keras {keras.__version__}: {results('metrics')}", f"weighted: {results('weighted_metrics')}"]
words.append(f"weights 0: {results('weighted_metrics', (ids != 0).astype('float32'))}")
print(*words, sep=" | ")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
expected="keras 3.15.1: accuracy 1, precision 0.4, AUC 0.25 | weighted: accuracy 1, precision 0.4, AUC 0.25"
test "$seen" = "$expected | weights 0: accuracy 1, precision 1, AUC 1"
