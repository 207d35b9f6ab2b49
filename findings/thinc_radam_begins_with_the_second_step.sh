#!/usr/bin/env bash
# RAdam of thinc, spaCy's library, counts its first step as the second: it moves weights by half the learning rate.
#
# Guess before the run: with equal gradients the first steps of RAdam are as long as the learning rate, and so are
# PyTorch's, until there are enough steps for its variance.
# Seen: thinc 8.3.14, PyTorch 2.13.0. With gradients of 1 and a rate of .1 the first five steps are .053, .070, .079,
# .084 and .002 long in thinc, and .100 each in PyTorch: the momentum's start is corrected as if a step had been before
# it. Rectified steps begin one step early. `lr_scale`, by which a step may be made smaller for some layers, does
# nothing with RAdam: with .1 the step is the same .053, where that of Adam falls from .100 to .010.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    thinc==8.3.14 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
import thinc
import torch
from thinc.api import Adam, RAdam


def steps(optimizer, count, scale=1.0):
    weights = np.zeros(3, np.float32)
    seen = [0.0]
    for _ in range(count):
        weights, _ = optimizer((0, "kernel"), weights, np.ones(3, np.float32), lr_scale=scale)
        optimizer.step_schedules()
        seen.append(-float(weights[0]))
    return " ".join(f"{length:.3f}" for length in np.diff(seen))


weight = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.RAdam([weight], lr=0.1)
seen = [0.0]
for _ in range(6):
    weight.grad = torch.ones(3)
    optimizer.step()
    seen.append(-weight[0].item())
there = " ".join(f"{length:.3f}" for length in np.diff(seen))
options = {"grad_clip": 0.0, "use_averages": False}
print(
    f"thinc {thinc.__version__}: RAdam {steps(RAdam(0.1, **options), 6)}, PyTorch {there};",
    f"lr_scale=.1 RAdam {steps(RAdam(0.1, **options), 1, 0.1)}, Adam {steps(Adam(0.1, **options), 1, 0.1)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "thinc 8.3.14: RAdam 0.053 0.070 0.079 0.084 0.002 0.003, PyTorch 0.100 0.100 0.100 0.100 0.100 0.003;\
 lr_scale=.1 RAdam 0.053, Adam 0.010"
