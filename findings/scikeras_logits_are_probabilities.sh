#!/usr/bin/env bash
# `predict_proba` of SciKeras gives logits for a model with `from_logits=True`: rows like 15.7 and -14.7, unwarned.
#
# Guess before the run: a Keras model whose loss takes logits, as Keras' guides and BERT classifiers have it, is wrapped
# with probabilities from 0 to 1 from `predict_proba`, and class 1 where the logit is above 0.
# Seen: scikeras 0.13.0, Keras 3.15.1, tensorflow-cpu 2.20.0. The wrapper takes what the model returns for the
# probability of class 1, and 1 less it for that of class 0, and rounds it: rows are as 15.7 and -14.7, texts with a
# logit between 0 and .5, a probability of .50 to .62, are predicted negative, and a threshold of .9 is one of .71. With
# three classes the rows don't add up to 1. Nothing is said; log losses and calibration in scikit-learn on top of it are
# those of clipped numbers.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    scikeras==0.13.0 keras==3.15.1 tensorflow-cpu==2.20.0 scikit-learn==1.9.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import keras
import numpy as np
from scikeras.wrappers import KerasClassifier

random = np.random.default_rng(0)
features = random.normal(size=(400, 4)).astype("float32")
noisy = features[:, 0] + 0.2 * random.normal(size=400)
words = []
for classes in (2, 3):
    labels = np.digitize(noisy, [0.0] if classes == 2 else [-0.5, 0.5])

    def build():
        return keras.Sequential([keras.Input((4,)), keras.layers.Dense(1 if classes == 2 else classes)])

    name = "BinaryCrossentropy" if classes == 2 else "SparseCategoricalCrossentropy"
    model = KerasClassifier(
        build,
        loss=getattr(keras.losses, name)(from_logits=True),
        optimizer="adam",
        optimizer__learning_rate=0.1,
        epochs=20,
        random_state=0,
        verbose=0,
    )
    model.fit(features, labels)
    rows = model.predict_proba(features)
    words.append(
        f"{classes} classes: above 1 {rows.max() > 2}, below 0 {rows.min() < -1},"
        f" each row adds up to 1 {np.allclose(rows.sum(1), 1, atol=1e-3)}"
    )
    if classes == 2:
        logits = model.model_.predict(features, verbose=0)[:, 0]
        between = (logits > 0) & (logits < 0.5)
        words.append(f"predicted 1 of those with logits from 0 to .5: {(model.predict(features)[between] == 1).sum()}")
        words.append(f"there are any: {bool(between.any())}")
print(f"scikeras {importlib.metadata.version('scikeras')}, probabilities: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "scikeras 0.13.0, probabilities: 2 classes: above 1 True, below 0 True, each row adds up to 1 True; pre\
dicted 1 of those with logits from 0 to .5: 0; there are any: True; 3 classes: above 1 True, below 0 True, each row ad\
ds up to 1 False"
