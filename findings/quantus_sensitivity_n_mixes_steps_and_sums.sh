#!/usr/bin/env bash
# Sensitivity-N of Quantus is .43 for exact attributions: it holds that of one word against the effect of all.
#
# Guess before the run: for a linear classifier and its exact attributions, weight times input, `SensitivityN` is 1:
# what a removed set of features contributed is the sum of their attributions.
# Seen: Quantus 0.6.0. Features are removed one after another and stay removed, so that the change of the prediction is
# that of all features removed so far, while the attributions are those of the last step alone. The exact ones have .43
# and their negatives -.39, where with sums on both sides they have 1.00 and -1.00. `FaithfulnessCorrelation` of the
# same attributions is 1.00 and -1.00.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 scikit-image==0.26.0 pandas==3.1.1 matplotlib==3.11.2 \
    opencv-python-headless==5.0.0.93 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    quantus==0.6.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import quantus
import torch

torch.manual_seed(0)
np.random.seed(0)
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 2, bias=False)).eval()
inputs = np.random.rand(20, 1, 12).astype("float32") + 0.2
exact = model[1].weight[0].detach().numpy() * inputs
call = {"model": model, "x_batch": inputs, "y_batch": np.zeros(20, int), "softmax": False, "device": "cpu"}
options = {"perturb_baseline": 0.0, "abs": False, "normalise": False, "disable_warnings": True}


def defined(attributions):
    """Correlation of both sums, over the texts, for each number of removed features; their mean."""
    flat = attributions.reshape(20, -1)
    order = np.argsort(-flat, axis=1)
    states = inputs.reshape(20, -1).copy()
    start = model(torch.tensor(states))[:, 0].detach().numpy()
    values = []
    rows = np.arange(20)
    sums = np.zeros(20)
    for step in range(12):
        states[rows, order[:, step]] = 0
        sums += flat[rows, order[:, step]]
        values.append(np.corrcoef(sums, start - model(torch.tensor(states))[:, 0].detach().numpy())[0, 1])
    return np.mean(values)


words = []
for name, attributions in (("exact", exact), ("negative", -exact)):
    metric = quantus.SensitivityN(features_in_step=1, n_max_percentage=1.0, **options)
    seen = metric(a_batch=attributions.copy(), **call)[0]
    other = np.mean(
        quantus.FaithfulnessCorrelation(nr_runs=50, subset_size=4, **options)(a_batch=attributions.copy(), **call)
    )
    words.append(f"{name} {seen:.2f}, of sums {defined(attributions):.2f}, faithfulness correlation {other:.2f}")
print(f"quantus {importlib.metadata.version('quantus')}, Sensitivity-N of attributions: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "quantus 0.6.0, Sensitivity-N of attributions: exact 0.43, of sums 1.00, faithfulness correlation\
 1.00; negative -0.39, of sums -1.00, faithfulness correlation -1.00"
