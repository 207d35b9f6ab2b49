#!/usr/bin/env bash
# Poutyne's one-cycle policy gives all groups of weights one learning rate, and Adam a momentum that it doesn't read.
#
# Guess before the run: an optimizer with a tenth of the learning rate for the encoder keeps that share under a
# schedule, as under PyTorch's OneCycleLR, and the momentum of the policy is Adam's first beta or an error.
# Seen: poutyne 1.19.0, PyTorch 2.13.0. The policy writes its numbers into each group: encoder and head, made with
# 0.00002 and 0.001, both have the rate of the phase, so that a pretrained encoder is trained at that of the new head,
# fifty times its own. Under Adam the momentum goes into a key of that name that nothing reads, and the betas stay (0.9,
# 0.999), where PyTorch's OneCycleLR cycles the first from .95 to .85. Neither is said; after the last phase the rate
# stays where it is.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    poutyne==1.19.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from poutyne import Model, OptimizerPolicy, one_cycle_phases

torch.manual_seed(0)


def make():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
    groups = [{"params": model[0].parameters(), "lr": 2e-5}, {"params": model[1].parameters(), "lr": 1e-3}]
    return model, torch.optim.AdamW(groups)


def describe(optimizer):
    rates = " and ".join(f"{group['lr']:.1e}" for group in optimizer.param_groups)
    return f"{rates} first beta {optimizer.param_groups[0]['betas'][0]:.2f}"


module, optimizer = make()
before = describe(optimizer)
policy = OptimizerPolicy(one_cycle_phases(20, lr=(1e-4, 1e-3), momentum=(0.95, 0.85), finetune_lr=1e-5))
features, labels = torch.randn(40, 4), torch.randn(40, 1)
model = Model(module, optimizer, "mse")
model.fit(features, labels, epochs=1, batch_size=4, callbacks=[policy], verbose=False)
ours = describe(optimizer) + f" momentum {optimizer.param_groups[0].get('momentum'):.2f}"

module, optimizer = make()
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, [2e-5, 1e-3], total_steps=20, anneal_strategy="linear")
for _ in range(9):
    optimizer.step()
    schedule.step()
print(
    f"poutyne {importlib.metadata.version('poutyne')}: encoder and head {before}; near the top of the cycle {ours};",
    f"under PyTorch's OneCycleLR {describe(optimizer)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "poutyne 1.19.0: encoder and head 2.0e-05 and 1.0e-03 first beta 0.90; near the top of the cycle 1.0e-0\
3 and 1.0e-03 first beta 0.90 momentum 0.85; under PyTorch's OneCycleLR 1.4e-05 and 7.1e-04 first beta 0.88"
