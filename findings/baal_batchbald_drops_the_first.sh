#!/usr/bin/env bash
# BatchBALD of baal leaves out the text that it chose first, the one of most use, and baal's "precision" is the recall.
#
# Guess before the run: the first 5 of BatchBALD(num_samples=5), with 5,000 draws, are the texts of a greedy search
# with the exact joint entropy (Kirsch et al. 2019); baal's Precision is scikit-learn's.
# Seen: baal 2.1.0. It chooses num_samples after the first one, and ranks all by their gain when they were chosen, which
# grows, as what the chosen ones hold themselves is not taken off: the first has the smallest. The 5 at the top are the
# second to the sixth choice; the first, which BALD too has at its top, is sixth. Precision divides the right
# predictions of a class by its texts, not by its predictions: 1.00 for a class that was predicted four times too often.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 torchmetrics==1.9.0 scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6 structlog==26.1.0 h5py==3.16.0 \
    tqdm==4.70.1 pillow==13.0.0 matplotlib==3.11.2
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    baal==2.1.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import torch
from baal.active.heuristics import BALD, BatchBALD
from baal.utils.metrics import Precision
from scipy.special import softmax, xlogy
from sklearn.metrics import precision_score

random = np.random.default_rng(0)
texts = softmax(2 * random.normal(size=(30, 3, 10)), axis=1)
noise = -xlogy(texts, texts).sum(axis=1).mean(axis=-1)


def gain(chosen):
    """What the labels of these texts say of the model, over all 3^n labels of them."""
    joint = np.ones((1, 10))
    for text in chosen:
        joint = (joint[:, None] * texts[text]).reshape(-1, 10)
    joint = joint.mean(axis=1)
    return -xlogy(joint, joint).sum() - noise[chosen].sum()


exact = []
for _ in range(6):
    exact.append(max(set(range(30)) - set(exact), key=lambda text: gain([*exact, text])))
torch.manual_seed(0)
asked = BatchBALD(num_samples=5, num_draw=5000)(texts).tolist()[:5]
right = np.repeat([0, 1], [90, 10])
predicted = np.repeat([0, 1], [60, 40])
precision = Precision(2, average=False)
precision.update(torch.eye(2)[predicted], torch.tensor(right))
print(
    f"baal {importlib.metadata.version('baal')}: exact {exact[:5]}, baal {asked}, BALD's first {BALD()(texts)[0]};",
    f"precision {precision.value.round(2).tolist()},",
    f"scikit-learn {precision_score(right, predicted, average=None).tolist()}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "baal 2.1.0: exact [20, 25, 23, 5, 13], baal [3, 13, 5, 23, 25], BALD's first 20; precision\
 [0.6700000166893005, 1.0], scikit-learn [1.0, 0.25]"
