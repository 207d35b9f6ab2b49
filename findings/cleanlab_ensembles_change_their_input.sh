#!/usr/bin/env bash
# Active learning with an ensemble in cleanlab overwrites the probabilities that it is given: each call flattens them.
#
# Guess before the run: `get_active_learning_scores_ensemble(labels, probs, probs_unlabeled)` returns the same scores
# when it is called again, and leaves the arrays as they are, as `get_active_learning_scores` for a single model does.
# Seen: cleanlab 2.9.0. The two arrays are changed in place: after the first call the log loss of the labelled texts is
# .93 instead of .43, and the confidence about new texts is .37 instead of .61; the second and third call flatten them
# again. So scores of two rounds can't be compared, and what is saved or evaluated after the call are not the models'
# probabilities. `get_label_quality_multiannotator_ensemble(calibrate_probs=True)` does the same. Arrays of a single
# model stay as they are.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    cleanlab==2.9.0 numpy==2.4.6 pandas==3.1.1 scikit-learn==1.9.1 scipy==1.17.1 tqdm==4.70.1 termcolor==3.3.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from cleanlab.multiannotator import get_active_learning_scores, get_active_learning_scores_ensemble
from cleanlab.multiannotator import get_label_quality_multiannotator_ensemble

random = np.random.default_rng(0)
true = random.integers(0, 3, 200)
labels = np.where(random.uniform(size=(200, 4)) < 0.8, true[:, None], random.integers(0, 3, (200, 4))).astype(float)
labels[random.uniform(size=labels.shape) < 0.3] = np.nan
empty = np.isnan(labels).all(1)
labels[empty, 0] = true[empty]


def probabilities(count, right=None):
    logits = random.normal(size=(2, count, 3))
    if right is not None:
        logits[:, np.arange(count), right] += 2
    return np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)


known, new = probabilities(200, true), probabilities(100)


def state(known, new):
    loss = -np.log(known[:, np.arange(200), true]).mean()
    return f"log loss {loss:.2f}, confidence of new texts {new.max(-1).mean():.2f}"


words = [f"before {state(known, new)}"]
single = known[0].copy(), new[0].copy()
get_active_learning_scores(labels, *single)
alone = all(np.array_equal(one, two) for one, two in zip(single, (known[0], new[0])))
copy = known.copy()
get_label_quality_multiannotator_ensemble(labels, copy, calibrate_probs=True, verbose=False)
quality = np.array_equal(copy, known)
for _ in range(3):
    scores, scores_new = get_active_learning_scores_ensemble(labels, known, new)
    words.append(f"{state(known, new)}, scores {scores.mean():.3f} {scores_new.mean():.3f}")
print(
    f"cleanlab {importlib.metadata.version('cleanlab')}: {'; call: '.join(words)};",
    f"a single model's arrays stay: {alone}, an ensemble's in label quality: {quality}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "cleanlab 2.9.0: before log loss 0.43, confidence of new texts 0.61; call: log loss 0.93, confidence of\
 new texts 0.37, scores 0.501 0.357; call: log loss 1.07, confidence of new texts 0.34, scores 0.476 0.337; call: log\
 loss 1.10, confidence of new texts 0.33, scores 0.476 0.334; a single model's arrays stay: True, an ensemble's in\
 label quality: False"
