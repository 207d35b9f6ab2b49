#!/usr/bin/env bash
# Completeness of Quantus is False for attributions that add up to the prediction: it compares floats for equality.
#
# Guess before the run: `Completeness` is True for the exact attributions of a linear classifier, weight times input,
# whose sum is the prediction less that of the baseline.
# Seen: Quantus 0.6.0. With its defaults, `abs=True` and `normalise=True`, it is False for 200 of 200 texts: sizes are
# summed, divided by the largest one. Without both it is True for 90 of 200, those where two sums of 12 float32 numbers
# agree to the last bit; the greatest difference is .00000006. There is no option for a tolerance, which integrated
# gradients of a BERT, sums over some tens of steps, need more than these.
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
inputs = np.random.rand(200, 1, 12).astype("float32") + 0.2
exact = model[1].weight[0].detach().numpy() * inputs
call = {"model": model, "x_batch": inputs, "y_batch": np.zeros(200, int), "softmax": False, "device": "cpu"}
words = []
for name, options in (("by default", {}), ("without abs and normalise", {"abs": False, "normalise": False})):
    metric = quantus.Completeness(perturb_baseline=0.0, disable_warnings=True, **options)
    values = metric(a_batch=exact.copy(), batch_size=200, **call)
    words.append(f"{name} {'all' if np.all(values) else 'some' if np.any(values) else 'none'} complete")
predictions = model(torch.tensor(inputs))[:, 0].detach().numpy()
close = np.allclose(exact.reshape(200, -1).sum(1), predictions, rtol=0, atol=1e-6)
print(f"quantus {importlib.metadata.version('quantus')}: {', '.join(words)}, all within .000001: {close}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "quantus 0.6.0: by default none complete, without abs and normalise some complete, all within .000001:\
 True"
