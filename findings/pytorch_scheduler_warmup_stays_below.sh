#!/usr/bin/env bash
# After a warmup of one step the rate stays 0 for good in pytorch-scheduler, if PyTorch's own linear decay follows.
#
# Guess before the run: `WarmupScheduler(optimizer, base_scheduler, warmup_steps=n)` ("composable warmup wrapper for
# any LR scheduler") rises to the full rate and goes on as the base scheduler does.
# Seen: pytorch-scheduler 0.2.2. PyTorch's schedulers compute a rate from the one before, and the one before is the
# last of the warmup: with 1, 2 and 10 steps the highest rate of PolynomialLR, ExponentialLR and StepLR is .00, .49 to
# .50 and .89 to .90, and all that follow are lower by as much. LambdaLR, and the package's own cosine, reach 1.00.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    pytorch-scheduler==0.2.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import warnings

import torch
from pytorch_scheduler import CosineWithWarmupScheduler, WarmupScheduler
from torch.optim.lr_scheduler import ExponentialLR, LambdaLR, PolynomialLR, StepLR

warnings.simplefilter("ignore")


def highest(make, steps):
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    scheduler = WarmupScheduler(optimizer, make(optimizer), warmup_steps=steps)
    rates = []
    for _ in range(60):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return f"{max(rates[steps:]):.2f}"


kinds = {
    "PolynomialLR": lambda optimizer: PolynomialLR(optimizer, 100),
    "ExponentialLR": lambda optimizer: ExponentialLR(optimizer, 0.99),
    "StepLR": lambda optimizer: StepLR(optimizer, 30),
    "LambdaLR": lambda optimizer: LambdaLR(optimizer, lambda step: 1 - step / 100),
    "own cosine": lambda optimizer: CosineWithWarmupScheduler(optimizer, total_steps=100),
}
words = [f"{name} {' '.join(highest(make, steps) for steps in (1, 2, 10))}" for name, make in kinds.items()]
print(
    f"pytorch-scheduler {importlib.metadata.version('pytorch-scheduler')}: highest rate after a warmup of 1, 2 and 10",
    f"steps: {', '.join(words)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-scheduler 0.2.2: highest rate after a warmup of 1, 2 and 10 steps: PolynomialLR 0.00 0.50\
 0.89, ExponentialLR 0.00 0.49 0.89, StepLR 0.00 0.50 0.90, LambdaLR 1.00 1.00 1.00, own cosine 1.00 1.00 1.00"
