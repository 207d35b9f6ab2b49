#!/usr/bin/env bash
# Recall of a dual encoder in the TensorFlow Model Garden has the margin of training taken off: .03 for a perfect one.
#
# Guess before the run: `logit_margin`, "the margin value between the positive and negative examples when doing
# training", is taken off the scores of right pairs in training alone, so that an encoder whose right pairs are all
# nearest has a recall of 1.
# Seen: tf-models-official 2.20.0 with tf_keras 2.20.1. The layer MatMulWithMargin, whose logits the left_recall_at_k
# of the task dual_encoder is computed from, doesn't ask whether it is training. Of 64 pairs that are all nearest to
# each other the recall is .89 with a margin of .05, .47 with .1 and .03 with .2. Runs with different margins can't be
# compared by it: the greater margin looks like the worse encoder.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 tf_keras==2.20.1 numpy==2.4.6 gin-config==0.5.0 pyyaml==6.0.3 scipy==1.17.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tf-models-official==2.20.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tf_keras
from official.nlp.modeling import layers

generator = np.random.default_rng(0)
left = generator.normal(size=(64, 16)) + 1.5  # sentences of one domain, which are near each other
right = left + generator.normal(scale=0.4, size=(64, 16))
left, right = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in (left, right))


def recall(margin):
    """Recall at 1 as the task dual_encoder evaluates it."""
    tf_keras.backend.set_learning_phase(0)
    logits, _ = layers.MatMulWithMargin(logit_margin=margin)(left.astype("float32"), right.astype("float32"))
    metric = tf_keras.metrics.SparseTopKCategoricalAccuracy(k=1)
    metric.update_state(np.arange(64), logits)
    return f"{margin}: {float(metric.result()):.2f}"


nearest = np.mean(np.argmax(left @ right.T, axis=1) == np.arange(64))
print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"right pairs that are nearest {nearest:.2f}, recall with margins {', '.join(map(recall, (0.0, 0.05, 0.1, 0.2)))}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, right pairs that are nearest 1.00, recall with margins 0.0:\
 1.00, 0.05: 0.89, 0.1: 0.47, 0.2: 0.03"
