#!/usr/bin/env bash
# A masked LM that gives all words one score has a top-5 accuracy of 1.00 in Keras: a tie with the fifth word is a hit.
#
# Guess before the run: `SparseTopKCategoricalAccuracy(5)` "computes how often integer targets are in the top K
# predictions": of 1,000 equal scores five are that.
# Seen: Keras 3.15.1 on JAX 0.10.2. What is as large as the fifth score counts. So a model whose scores are all equal
# has 1.00, one whose scores are rounded to halves .20 for .14, and one that cuts them at 2, as a clipped or saturated
# output does, .32, while its accuracy falls from .05 to .01: the coarser model seems better.
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

random = np.random.default_rng(0)
labels = random.integers(0, 1000, 2000)
scores = random.normal(size=(2000, 1000)).astype("float32")
scores[np.arange(2000), labels] += 1.5
kinds = {
    "all equal": np.zeros_like(scores),
    "a model": scores,
    "in steps of .5": np.round(2 * scores) / 2,
    "cut at 2": np.minimum(scores, 2),
}
words = []
for name, values in kinds.items():
    parts = []
    for metric in (keras.metrics.SparseCategoricalAccuracy(), keras.metrics.SparseTopKCategoricalAccuracy(5)):
        metric.update_state(labels, values)
        parts.append(f"{float(metric.result()):.2f}")
    words.append(f"{name} {' '.join(parts)}")
print(f"keras {keras.__version__}, accuracy and top-5 accuracy of 1,000 words: {', '.join(words)}")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1, accuracy and top-5 accuracy of 1,000 words: all equal 0.00 1.00, a model 0.05 0.14, in\
 steps of .5 0.05 0.20, cut at 2 0.01 0.32"
