#!/usr/bin/env bash
# Distillation of torchdistill that has no labels loses the factor of the temperature: at 4 it is 16 times too weak.
#
# Guess before the run: `KDLoss` is alpha times the cross entropy and (1 - alpha) times tau² times the divergence, as
# its page says. With alpha=0, or with unlabelled texts, the second term stays: tau² times the divergence.
# Seen: torchdistill 1.1.5, tau=4. With alpha=.000001 the loss of a student is 4.966, with alpha=0 it is 0.310, and its
# gradient, too, a sixteenth; where labels are None it is 0.310 for each alpha and `beta`, so that `beta=3` does
# nothing. What is added to it, as a loss of hidden states, then weighs 16 times as much.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torchdistill==1.1.5 torch==2.14.1 torchvision==0.29.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from torchdistill.losses.mid_level import KDLoss

torch.manual_seed(0)
student = {"head": {"output": 3 * torch.randn(8, 5)}}
teacher = {"head": {"output": 3 * torch.randn(8, 5)}}
labels = torch.randint(0, 5, (8,))


def loss(targets=labels, **options):
    return f"{KDLoss('head', 'output', 'head', 'output', temperature=4.0, **options)(student, teacher, targets):.3f}"


divergence = torch.nn.functional.kl_div(
    (student["head"]["output"] / 4).log_softmax(1), (teacher["head"]["output"] / 4).softmax(1), reduction="batchmean"
)
print(
    f"torchdistill {importlib.metadata.version('torchdistill')}: 16 times the divergence {16 * divergence:.3f},",
    f"alpha 1e-6 {loss(alpha=1e-6)}, alpha 0 {loss(alpha=0.0)}, no labels {loss(None, alpha=0.5)}, with beta 3",
    loss(None, alpha=0.5, beta=3.0),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchdistill 1.1.5: 16 times the divergence 4.966, alpha 1e-6 4.966, alpha 0 0.310, no labels 0.310, w\
ith beta 3 0.310"
