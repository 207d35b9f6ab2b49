#!/usr/bin/env bash
# `pullback_momentum` of pytorch_optimizer's Lookahead does nothing with AdamW: "reset" and "pullback" change no weight.
#
# Guess before the run: `Lookahead(AdamW, pullback_momentum="reset")` begins the momentum of Adam anew whenever it goes
# back to the slow weights, and "pullback" mixes it with that of the slow weights, so that both change the next steps,
# as they do with SGD.
# Seen: pytorch_optimizer 4.1.0. Twelve steps with k=5. With SGD the two options change a weight by .112 and .052. With
# AdamW and with Lion they change it by 0.000: Lookahead sets and averages `momentum_buffer`, which is SGD's name.
# Adam's is `exp_avg`, and stays as it is. The state of each weight grows by a buffer that nobody reads.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch_optimizer==4.1.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_optimizer import Lion, Lookahead


def weights(base, mode, **options):
    """A weight after twelve steps of pseudo-random gradients, by Lookahead with five steps."""
    weight = torch.nn.Parameter(torch.zeros(4))
    optimizer = Lookahead(base([weight], lr=0.01, **options), k=5, pullback_momentum=mode)
    random = torch.Generator().manual_seed(0)
    for _ in range(12):
        weight.grad = torch.rand(4, generator=random)
        optimizer.step()
    return weight.detach()


parts = []
for name, base, options in (
    ("SGD", torch.optim.SGD, {"momentum": 0.9}),
    ("AdamW", torch.optim.AdamW, {}),
    ("Lion", Lion, {}),
):
    none, reset, pullback = (weights(base, mode, **options) for mode in ("none", "reset", "pullback"))
    change = [f"{float((other - none).abs().max()):.3f}" for other in (reset, pullback)]
    parts.append(f"{name} {change[0]} and {change[1]}")
version = importlib.metadata.version("pytorch_optimizer")
print(f"pytorch_optimizer {version}, what reset and pullback change: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch_optimizer 4.1.0, what reset and pullback change: SGD 0.112 and 0.052, AdamW 0.000 and 0.000,\
 Lion 0.000 and 0.000"
