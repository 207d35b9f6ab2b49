#!/usr/bin/env bash
# BatchEnsemble of torch-uncertainty forgets what the layers that it converts have learned: a trained head guesses.
#
# Guess before the run: `BatchEnsemble(head, 4, convert_layers=True)` keeps the weights of a trained head and gives each
# of the four members its own factors, which begin near 1: most answers stay as they are.
# Seen: torch-uncertainty 0.13.0. Each Linear is replaced by a new one of the same shape with random weights and biases.
# A head that is right for all texts of four classes is right for 32 %; with the old weights put back, and factors of 1,
# it is right for all again. Nothing is said.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch-uncertainty==0.13.0 torch==2.14.1 torchvision==0.29.1 lightning[pytorch-extra]==2.6.6 timm==1.0.31 \
    numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from torch_uncertainty.methods import BatchEnsemble

torch.manual_seed(0)
centres = 2 * torch.randn(4, 16)
labels = torch.randint(0, 4, (400,))
texts = centres[labels] + torch.randn(400, 16)
head = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4))
optimizer = torch.optim.Adam(head.parameters(), 0.01)
for _ in range(200):
    loss = torch.nn.functional.cross_entropy(head(texts), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
kept = [(head[place].weight.data.clone(), head[place].bias.data.clone()) for place in (0, 2)]
right = [(head(texts).argmax(1) == labels).float().mean().item()]
ensemble = BatchEnsemble(head, 4, convert_layers=True).eval()


def share():
    with torch.no_grad():
        probabilities = ensemble(texts).softmax(1).view(4, 400, 4).mean(0)
    return (probabilities.argmax(1) == labels).float().mean().item()


right.append(share())
for place, (weight, bias) in zip((0, 2), kept):
    layer = ensemble.core_model[place]
    layer.linear.weight.data, layer.bias.data = weight, bias.expand(4, -1).clone()
    layer.r_group.data.fill_(1.0), layer.s_group.data.fill_(1.0)
right.append(share())
print(
    f"torch-uncertainty {importlib.metadata.version('torch-uncertainty')}: right for {right[0]:.2f} of the texts,",
    f"converted {right[1]:.2f}, with the weights put back {right[2]:.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torch-uncertainty 0.13.0: right for 1.00 of the texts, converted 0.32, with the weights put back 1.00"
