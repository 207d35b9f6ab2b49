#!/usr/bin/env bash
# Five schedules of pytorch_optimizer give all layers one learning rate: a rate for each layer of a BERT is lost.
#
# Guess before the run: a schedule keeps the ratio of the learning rates of two parameter groups, as PyTorch's and
# transformers' schedules do: an encoder with .00001 and a classifier with .001 stay 1 to 100.
# Seen: pytorch_optimizer 4.1.0. LinearScheduler, CosineScheduler, PolyScheduler, REXScheduler and
# CosineAnnealingWarmupRestarts write one rate, which begins at `min_lr` and rises to `max_lr`, to all groups, and
# nothing is said: after five steps both groups have the same, and the encoder's is 67 to 141 times the one it was
# given. The rate that an optimizer was made with is not read at all. `get_wsd_schedule` and `get_chebyshev_schedule`
# of the same package are factors, and keep 1 to 100. Layer-wise decay, as in ELECTRA's fine-tuning, is gone.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-optimizer==4.1.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import pytorch_optimizer
import torch

ends = {"max_lr": 1e-3, "min_lr": 0.0}
warm = {**ends, "t_max": 10, "init_lr": 0.0, "warmup_steps": 2}
kinds = {
    "LinearScheduler": warm,
    "CosineScheduler": warm,
    "PolyScheduler": warm,
    "REXScheduler": {**ends, "total_steps": 10},
    "CosineAnnealingWarmupRestarts": {**ends, "first_cycle_steps": 10, "warmup_steps": 2},
    "get_wsd_schedule": {"num_warmup_steps": 2, "num_stable_steps": 5, "num_decay_steps": 3},
    "get_chebyshev_schedule": {"num_epochs": 8, "is_warmup": False},
}
words = []
for name, options in kinds.items():
    groups = [{"params": [torch.nn.Parameter(torch.zeros(1))], "lr": rate} for rate in (1e-5, 1e-3)]
    optimizer = torch.optim.SGD(groups, lr=1.0)
    scheduler = getattr(pytorch_optimizer, name)(optimizer, **options)
    for _ in range(5):
        optimizer.step()
        scheduler.step()
    rates = [group["lr"] for group in optimizer.param_groups]
    words.append(f"{name} {rates[1] / rates[0]:.0f}, encoder {rates[0] / 1e-5:.1f}")
version = importlib.metadata.version("pytorch-optimizer")
print(f"pytorch_optimizer {version}, ratio of two rates after five steps, was 100: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch_optimizer 4.1.0, ratio of two rates after five steps, was 100: LinearScheduler 1, encoder\
 75.0; CosineScheduler 1, encoder 85.4; PolyScheduler 1, encoder 141.4; REXScheduler 1, encoder 66.7;\
 CosineAnnealingWarmupRestarts 1, encoder 69.1; get_wsd_schedule 100, encoder 1.0; get_chebyshev_schedule 100,\
 encoder 1.6"
