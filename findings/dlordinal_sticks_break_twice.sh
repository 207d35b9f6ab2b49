#!/usr/bin/env bash
# The last of five classes can't have a probability above .35 in dlordinal's stick-breaking layer, the first has .90.
#
# Guess before the run: class k takes its share of what the classes before it have left, x_k (1 - x_1) ... (1 - x_k-1),
# so that every class can have nearly all; five-star reviews alone are learned to a loss near 0.
# Seen: dlordinal 2.7.0. The product holds (1 - x_k) as well, so that each class is broken off twice, and its share x is
# held between .1 and .9. After training on texts of one class alone its probability is .90, .63, .46, .40 and .35 for
# the five classes in order, and the loss ends at .11 to 1.06. Beyond .9 there is no gradient: a layer that begins sure
# of the wrong class, with logits of 3, learns nothing.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    dlordinal==2.7.0 torch==2.14.1 numpy==2.4.6 scikit-learn==1.9.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from dlordinal.output_layers import StickBreakingLayer

texts = torch.ones(1, 1)


def learned(label, bias=None):
    torch.manual_seed(0)
    layer = StickBreakingLayer(1, 5)
    if bias is not None:
        torch.nn.init.zeros_(layer.fcn1.weight)
        layer.fcn1.bias.data = torch.tensor(bias)
    optimizer = torch.optim.Adam(layer.parameters(), 0.01)
    for _ in range(1000):
        loss = torch.nn.functional.cross_entropy(layer(texts), torch.tensor([label]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return layer(texts).softmax(1)[0, label].item(), loss.item()


words = [f"{probability:.2f} ({loss:.2f})" for probability, loss in map(learned, range(5))]
stuck = learned(4, [3.0, -3.0, -3.0, -3.0, -3.0])
version = importlib.metadata.version("dlordinal")
print(
    f"dlordinal {version}, probability and loss of classes learned alone: {', '.join(words)};",
    f"from sure of another {stuck[0]:.2f} ({stuck[1]:.2f})",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "dlordinal 2.7.0, probability and loss of classes learned alone: 0.90 (0.11), 0.63 (0.47), 0.46 (0.77),\
 0.40 (0.92), 0.35 (1.06); from sure of another 0.05 (2.91)"
