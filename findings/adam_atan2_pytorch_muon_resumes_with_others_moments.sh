#!/usr/bin/env bash
# MuonAdamAtan2 of adam-atan2-pytorch resumes with the moments of other weights: a set puts its weights in any order.
#
# Guess before the run: An optimizer that is saved by `state_dict` and loaded into one made anew of the same model goes
# on with the moments of each weight, as AdamAtan2 of the same package does.
# Seen: adam-atan2-pytorch 0.4.1. The weights that Muon takes are left out of the others by a difference of two sets,
# whose order is that of their addresses in memory, another one in each process and each model. PyTorch's state knows
# weights by their place in the list. Of 24 biases of one size most have the moments of another bias after a resume,
# without a word. PolarAdamAtan2 does the same. With `remove_muon_params_from_params=False`, and the two lists kept
# apart by hand, all have their own.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    adam-atan2-pytorch==0.4.1 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from adam_atan2_pytorch import AdamAtan2
from adam_atan2_pytorch.muon_adam_atan2 import MuonAdamAtan2
from adam_atan2_pytorch.polar_adam_atan2 import PolarAdamAtan2


def network():
    return torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(24)])


def matrices(model):
    return [layer.weight for layer in model]


def biases(model):
    return [layer.bias for layer in model]


kinds = {
    "MuonAdamAtan2": lambda model: MuonAdamAtan2(matrices(model), list(model.parameters())),
    "PolarAdamAtan2": lambda model: PolarAdamAtan2(matrices(model), list(model.parameters())),
    "lists apart": lambda model: MuonAdamAtan2(matrices(model), biases(model), remove_muon_params_from_params=False),
    "AdamAtan2": lambda model: AdamAtan2(model.parameters()),
}
parts = []
for name, kind in kinds.items():
    models = network(), network()
    optimizers = [kind(model) for model in models]
    for number, weight in enumerate(models[0].parameters()):
        weight.grad = torch.full_like(weight, number + 1.0)
    optimizers[0].step()
    optimizers[1].load_state_dict(optimizers[0].state_dict())
    saved, loaded = (optimizer.state for optimizer in optimizers)
    pairs = zip(biases(models[0]), biases(models[1]))
    others = sum(not torch.equal(saved[a]["exp_avg"], loaded[b]["exp_avg"]) for a, b in pairs)
    parts.append(f"{name} {'most' if others > 12 else others}")
version = importlib.metadata.version("adam-atan2-pytorch")
print(f"adam-atan2-pytorch {version}, of 24 biases have moments of others after a resume: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "adam-atan2-pytorch 0.4.1, of 24 biases have moments of others after a resume: MuonAdamAtan2 most,\
 PolarAdamAtan2 most, lists apart 0, AdamAtan2 0"
