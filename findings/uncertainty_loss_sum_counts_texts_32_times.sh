#!/usr/bin/env bash
# Summed over 32 texts the divergence of uncertainty-loss counts each of them 32 times, and their errors once.
#
# Guess before the run: `evidential_loss(..., reg_factor=.1, reduction="sum")` is the sum of the losses of the texts,
# and so 32 times the mean; "none" gives one number for each text.
# Seen: uncertainty-loss 0.1.2. The error is so, but the divergence from the uniform Dirichlet is computed for each
# text with the sums of all others, 32 by 32 numbers: the sum of 32 texts is 991.29, PyTorch's `kl_divergence` of the
# same distributions 30.98. So the regularization is 32 times too strong beside the error: 99.2 of a loss of 125.8.
# With "none" the divergence has the shape [32, 32]. The mean is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    uncertainty-loss==0.1.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
import uncertainty_loss
from torch.distributions import Dirichlet, kl_divergence

evidence = torch.rand(32, 3, generator=torch.Generator().manual_seed(0)) * 5
labels = torch.arange(32) % 3
ones = torch.nn.functional.one_hot(labels, 3) > 0
defined = kl_divergence(Dirichlet(torch.where(ones, 1.0, evidence + 1)), Dirichlet(torch.ones(32, 3)))
words = []
for reduction in ("mean", "sum"):
    value = uncertainty_loss.uniform_dirichlet_kl(evidence, labels, reduction=reduction)
    words.append(f"{reduction} {value:.2f} (PyTorch {getattr(defined, reduction)():.2f}),")
error, both = (uncertainty_loss.evidential_loss(evidence, labels, factor, "sum") for factor in (0.0, 0.1))
shape = list(uncertainty_loss.uniform_dirichlet_kl(evidence, labels, reduction="none").shape)
print(
    f"uncertainty-loss {importlib.metadata.version('uncertainty-loss')}:",
    *words,
    f"loss of the sum {error:.1f} without and {both:.1f} with the divergence, none {shape}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "uncertainty-loss 0.1.2: mean 0.97 (PyTorch 0.97), sum 991.29 (PyTorch 30.98), loss of the sum 26.6\
 without and 125.8 with the divergence, none [32, 32]"
