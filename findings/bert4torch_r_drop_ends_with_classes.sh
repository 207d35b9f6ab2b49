#!/usr/bin/env bash
# R-Drop of bert4torch is divided by the number of classes: of a masked LM's words it is 21,128 times too weak.
#
# Guess before the run: RDropLoss(alpha=4) adds alpha / 4 times the two Kullback-Leibler divergences of the two passes,
# a mean over examples, to the mean of the two cross entropies: half of the paper's loss (Liang et al. 2021).
# Seen: bert4torch 0.6.2 with torch 2.13.0. It is a mean over examples and classes: half of the paper's for two labels,
# a tenth for ten, and .0001 in place of 1.99 for BERT's Chinese vocabulary. The same alpha is another loss for every
# data set. (The module is loaded by its path: the package's own import wants others, which it does not use.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    bert4torch==0.6.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util

import torch
import torch.nn.functional as F

path = importlib.metadata.distribution("bert4torch").locate_file("bert4torch/losses.py")
spec = importlib.util.spec_from_file_location("losses", path)
losses = importlib.util.module_from_spec(spec)
spec.loader.exec_module(losses)

torch.manual_seed(0)
parts = []
for classes in (2, 10, 100, 21128):
    first, second = torch.randn(2, 8, classes).double()
    labels = torch.zeros(8, dtype=torch.long)
    entropy = (F.cross_entropy(first, labels) + F.cross_entropy(second, labels)) / 2
    one, other = first.log_softmax(dim=-1), second.log_softmax(dim=-1)
    divergence = sum(F.kl_div(*pair, reduction="batchmean", log_target=True) for pair in ((one, other), (other, one)))
    added = losses.RDropLoss(alpha=4)(first, second, labels) - entropy
    parts.append(f"{classes} classes {added.item():.4f} {divergence.item():.4f}")
print(f"bert4torch {importlib.metadata.version('bert4torch')}, added for alpha 4 and by the paper: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bert4torch 0.6.2, added for alpha 4 and by the paper: 2 classes 0.2543 0.5086, 10 classes 0.1712\
 1.7117, 100 classes 0.0219 2.1861, 21128 classes 0.0001 1.9949"
