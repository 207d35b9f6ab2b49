#!/usr/bin/env bash
# The preset for fine-tuning of pytorch-scheduler lifts the rates of a BERT's lower layers: from .000002 to .00001.
#
# Guess before the run: `create_from_preset(optimizer, "llm_finetune", steps)` with rates for each layer of a BERT
# brings each of them down to a tenth, its `min_lr_ratio`.
# Seen: pytorch-scheduler 0.2.2. It takes the tenth of the first group's rate as the lowest one of all groups. With
# .0001 for the head, .00002 for the upper and .000002 for the lower layers all end at .00001: after the warmup the
# lower layers' rate rises by a cosine to five times what was asked for, and the upper ones' falls by half.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-scheduler==0.2.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_scheduler import create_from_preset

groups = [
    {"params": [torch.nn.Parameter(torch.zeros(1))], "lr": rate} for rate in (1e-4, 2e-5, 2e-6)
]
optimizer = torch.optim.AdamW(groups)
schedule = create_from_preset(optimizer, "llm_finetune", total_steps=1000)
parts = []
for step in range(1001):
    if step in (30, 500, 1000):
        rates = " ".join(f"{group['lr']:.1e}" for group in optimizer.param_groups)
        parts.append(f"step {step}: {rates}")
    optimizer.step()
    schedule.step()
version = importlib.metadata.version("pytorch-scheduler")
print(f"pytorch-scheduler {version}, head, upper and lower layers at {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-scheduler 0.2.2, head, upper and lower layers at step 30: 1.0e-04 2.0e-05 2.0e-06; step 500:\
 5.7e-05 1.5e-05 5.8e-06; step 1000: 1.0e-05 1.0e-05 1.0e-05"
