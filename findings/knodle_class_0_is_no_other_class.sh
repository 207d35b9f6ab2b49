#!/usr/bin/env bash
# With `other_class_id=0` knodle gives texts without a rule to no class: a model learns no text of class 0 at all.
#
# Guess before the run: Texts that no rule matches belong to the class of `other_class_id`, for class 0 as for any
# other.
# Seen: knodle 0.1.4. The id is tested as if it were a truth value, so that 0 is "none". Of 100 texts that no rule
# matches the probabilities, which a model is trained on, are zeros for all classes, with a cross entropy of 0: nothing
# pulls the model to class 0, which has no rules of its own. With the classes in another order, `other_class_id=2`, they
# have a probability of 1.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 pandas==3.1.1 scipy==1.17.1 scikit-learn==1.9.1 joblib==1.6.0 tqdm==4.70.1 \
    matplotlib==3.11.2 munkres==3.0.0 networkx==3.6.1 tensorboard==2.21.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    knodle==0.1.4 snorkel==0.10.0 annoy==1.17.3 skorch==1.4.0 cleanlab==1.0.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import logging

import numpy as np
import torch
from knodle.transformation.majority import input_to_majority_vote_input
from snorkel.classification import cross_entropy_with_probs
from torch.utils.data import TensorDataset

logging.disable(logging.CRITICAL)
rng = np.random.default_rng(0)
rules = np.zeros((200, 6))
rules[np.arange(100), rng.integers(0, 6, 100)] = 1  # the other 100 texts match no rule
parts = []
for other in (0, 2):
    classes = np.zeros((6, 3))
    classes[np.arange(6), [label for label in range(3) if label != other] * 3] = 1
    texts = TensorDataset(torch.zeros(200, 1))
    _, probabilities, _ = input_to_majority_vote_input(
        rules, classes, texts, filter_non_labelled=False, other_class_id=other
    )
    logits = torch.zeros(200, 3)
    losses = cross_entropy_with_probs(logits, torch.tensor(probabilities), reduction="none")
    parts.append(f"class {other}: probability {probabilities[100:, other].mean():.2f}, loss {losses[100:].mean():.2f}")
print(f"knodle {importlib.metadata.version('knodle')}, texts without a rule, other class: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "knodle 0.1.4, texts without a rule, other class: class 0: probability 0.00, loss 0.00; class 2:\
 probability 1.00, loss 1.10"
