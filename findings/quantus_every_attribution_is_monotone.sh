#!/usr/bin/env bash
# Monotonicity of Quantus is True for any attribution: it sets features of a baseline to the baseline, one by one.
#
# Guess before the run: `Monotonicity`, which begins with a baseline and puts the features back in order of their
# attributions, is True for the exact attributions of a linear classifier with positive contributions, and seldom for
# their negatives or random ones where contributions have both signs.
# Seen: Quantus 0.6.0. Features are not put back: the step that should take them from the text replaces them by the
# baseline, which they are already. With the default baseline, "black", and with "white" the predictions of all steps
# are one number, and `True` comes out for 20 of 20 texts, whether attributions are exact, random or the negatives of
# the exact ones. Computed by its definition 0 of 20 texts are monotone for the exact ones, whose contributions have
# both signs, and 0 of 20 for the random ones.
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
labels = np.zeros(20, int)
exact = model[1].weight[0].detach().numpy() * inputs
random = np.random.randn(*inputs.shape)


def defined(attributions):
    """Texts whose prediction never falls while features are put back in order of their attributions."""
    order = np.argsort(attributions.reshape(20, -1), axis=1)
    states = np.full((20, 12), inputs.min(), "float32")
    predictions = []
    for step in range(12):
        rows = np.arange(20)
        states[rows, order[:, step]] = inputs.reshape(20, -1)[rows, order[:, step]]
        predictions.append(model(torch.tensor(states)[:, None])[:, 0].detach().numpy())
    return int(np.all(np.diff(np.stack(predictions, 1), axis=1) >= 0, axis=1).sum())


words = []
for name, attributions in (("exact", exact), ("random", random), ("negative", -exact)):
    counts = []
    for baseline in ("black", "white"):
        metric = quantus.Monotonicity(
            perturb_baseline=baseline, abs=False, normalise=False, disable_warnings=True, features_in_step=1
        )
        values = metric(
            model=model, x_batch=inputs, y_batch=labels, a_batch=attributions.copy(), softmax=False, device="cpu"
        )
        counts.append(str(int(np.sum(values))))
    words.append(f"{name} {' and '.join(counts)}, by its definition {defined(attributions)}")
print(f"quantus {importlib.metadata.version('quantus')}, of 20 texts monotone: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "quantus 0.6.0, of 20 texts monotone: exact 20 and 20, by its definition 0; random 20 and 20, by its\
 definition 0; negative 20 and 20, by its definition 0"
