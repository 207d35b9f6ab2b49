#!/usr/bin/env bash
# VATLoss of pytorch-adapt erases the gradients that a model has accumulated: of four micro-batches the last one counts.
#
# Guess before the run: `VATLoss` computes its perturbation from gradients of the input and leaves those of the weights
# alone, so that losses of micro-batches add up as with any other loss.
# Seen: pytorch-adapt 0.0.83. It calls `zero_grad()` of the whole model in each forward pass. Four micro-batches, each
# with a cross entropy and a `backward()`: with VATLoss among the losses, at a weight of .01, the sum of gradients is
# that of the last micro-batch alone (its cosine to the sum of all is 0.47, and it is less than half as long), and a
# loss whose `backward()` came before is lost as well. No option keeps them; without accumulation, all losses in one
# sum, nothing is lost.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.14.1 torchvision==0.29.1 numpy==2.4.6 pytorch-metric-learning==2.9.0 torchmetrics==1.9.0 \
    scikit-learn==1.9.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    pytorch-adapt==0.0.83
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_adapt.layers import VATLoss

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 3))
texts, labels = torch.randn(32, 32), torch.randint(0, 3, (32,))
vat = VATLoss()


def gradient(weight, batches):
    """Of the sum of the micro-batches' losses."""
    model.zero_grad()
    for x, y in batches:
        logits = model(x)
        loss = torch.nn.functional.cross_entropy(logits, y)
        if weight:
            loss = loss + weight * vat(x, logits, model)
        loss.backward()
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


batches = list(zip(texts.split(8), labels.split(8)))
plain = gradient(0, batches)
cosine = torch.nn.functional.cosine_similarity
parts = []
for name, value in {
    "the same with VAT": gradient(0.01, batches),
    "the last with VAT": gradient(0.01, batches[-1:]),
    "the last": gradient(0, batches[-1:]),
}.items():
    parts.append(f"{name} {value.norm():.2f} and {cosine(value, plain, dim=0):.2f}")
print(
    f"pytorch-adapt {importlib.metadata.version('pytorch-adapt')}, length of the gradient of four micro-batches",
    f"{plain.norm():.2f}; length and cosine to it: {', '.join(parts)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-adapt 0.0.83, length of the gradient of four micro-batches 2.52; length and cosine to it: the\
 same with VAT 1.16 and 0.47, the last with VAT 1.17 and 0.47, the last 1.17 and 0.47"
