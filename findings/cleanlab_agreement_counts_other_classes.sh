#!/usr/bin/env bash
# With `quality_method="agreement"` cleanlab's consensus of three annotators who all say class 2 is class 0.
#
# Guess before the run: the consensus by agreement is the label that most annotators have given, about as often right as
# the majority vote.
# Seen: cleanlab 2.9.0. It is right for 38 % of the texts, where the majority vote is for 92 %. Labels of several
# annotators are floats, for a label that is missing is NaN, and data frames are made floats: of floats the counts are
# put in the first places, in the order of the labels that occur, so that the label of three annotators who agree is
# always 0. An array of integers, which can have no missing label, is counted rightly. The default, crowdlab, has .96.
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
from cleanlab.multiannotator import get_label_quality_multiannotator, get_majority_vote_label

random = np.random.default_rng(0)
true = random.integers(0, 3, 1000)
logits = random.normal(size=(1000, 3))
logits[np.arange(1000), true] += 2
probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
labels = np.where(random.uniform(size=(1000, 3)) < 0.7, true[:, None], random.integers(0, 3, (1000, 3)))
options = {"return_annotator_stats": False, "return_detailed_quality": False, "verbose": False}


def consensus(labels, **more):
    return get_label_quality_multiannotator(labels, probabilities, **options, **more)["label_quality"]


unanimous = (labels == labels[:, :1]).all(1)
words = []
for name, given in (("integers", labels), ("floats", labels.astype(float))):
    table = consensus(given, quality_method="agreement")
    parts = [f"right {(table.consensus_label == true).mean():.2f}"]
    for label in range(3):
        rows = unanimous & (labels[:, 0] == label)
        parts.append(f"all say {label}: {sorted(set(table.consensus_label[rows]))}".replace("np.int64", ""))
    words.append(f"{name} {', '.join(parts)}")
vote = (get_majority_vote_label(labels.astype(float), probabilities, verbose=False) == true).mean()
crowdlab = (consensus(labels.astype(float)).consensus_label == true).mean()
print(
    f"cleanlab {importlib.metadata.version('cleanlab')}: {'; '.join(words)};",
    f"majority vote {vote:.2f}, crowdlab {crowdlab:.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "cleanlab 2.9.0: integers right 0.92, all say 0: [0], all say 1: [1], all say 2: [2]; floats right\
 0.38, all say 0: [0], all say 1: [0], all say 2: [0]; majority vote 0.92, crowdlab 0.96"
