#!/usr/bin/env bash
# Poutyne's one-cycle policy leaves the momentum of Adam as it is: it writes a `momentum` that Adam does not read.
#
# Guess before the run: `OptimizerPolicy(one_cycle_phases(...))` moves the learning rate up and the momentum down, and
# both back, which for Adam and AdamW is the first of `betas`, as in PyTorch's own OneCycleLR with its `cycle_momentum`.
# Seen: poutyne 1.19.0 with torch 2.13.0. The learning rate of AdamW goes from .1 to 1.0 and back, as it is asked. Its
# first beta is .9 in every step, where PyTorch's scheduler takes it from .95 down to .85; the policy writes .95 to .85
# into an entry `momentum` of the parameter groups, which AdamW does not have and never reads. Nothing is said.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    poutyne==1.19.0 torch==2.13.0 numpy==2.4.6 torchmetrics==1.9.0 lightning-utilities==0.15.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import poutyne
import torch

x = np.random.default_rng(0).normal(size=(64, 8)).astype("float32")
y = np.arange(64) % 3
network = torch.nn.Linear(8, 3)
optimizer = torch.optim.AdamW(network.parameters(), lr=0.1)
policy = poutyne.OptimizerPolicy(poutyne.one_cycle_phases(8))
seen = []


def note(batch, logs):
    group = optimizer.param_groups[0]
    seen.append((group["lr"], group["betas"][0], group["momentum"]))


model = poutyne.Model(network, optimizer, "cross_entropy")
callbacks = [policy, poutyne.LambdaCallback(on_train_batch_end=note)]
model.fit(x, y, batch_size=8, epochs=1, verbose=False, callbacks=callbacks)
ours = torch.optim.AdamW(network.parameters())
scheduler = torch.optim.lr_scheduler.OneCycleLR(ours, max_lr=1.0, total_steps=8)
betas = []
for _ in range(8):
    betas.append(ours.param_groups[0]["betas"][0])
    ours.step()
    if len(betas) < 8:
        scheduler.step()
rates, first_betas, momenta = zip(*seen)
print(
    f"poutyne {importlib.metadata.version('poutyne')}: rate {min(rates):.1f} to {max(rates):.1f}, beta "
    f"{min(first_betas):.2f} to {max(first_betas):.2f}, momentum {min(momenta):.2f} to {max(momenta):.2f}; PyTorch's "
    f"beta {min(betas):.2f} to {max(betas):.2f}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "poutyne 1.19.0: rate 0.1 to 1.0, beta 0.90 to 0.90, momentum 0.85 to 0.95; PyTorch's beta 0.85 to 0.95"
