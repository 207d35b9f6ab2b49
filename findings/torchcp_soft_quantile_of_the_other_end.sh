#!/usr/bin/env bash
# Conformal training of torchcp takes the 10 % quantile for the 90 % one: sets that are to cover .90 are made for .10.
#
# Guess before the run: the threshold that ConfTrLoss(alpha=0.1) computes in a batch with its soft quantile, the default
# one, is near the hard one: about nine of ten texts of the other half of the batch lie below it.
# Seen: torchcp 1.2.1. Below the hard threshold lie .94 of them, below the soft one .17, and the soft .1 quantile of
# 0 to 100 is 9.2, not 91: the scores are sorted from the highest to the lowest, and the place is counted from the
# lowest. So the loss, the number of labels in a set beyond one, is .00 where it is 5.51 with the hard threshold: there
# is nothing to learn. ConfTSLoss, which tunes a temperature, takes the same threshold. `soft_qunatile=False` takes the
# right end, with no gradient through the threshold.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 scikit-learn==1.9.1 tqdm==4.70.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    torchcp==1.2.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys
import types

import torch

# What is not used here of torchcp needs torchsort, which has to be compiled, and packages for graphs.
sys.modules["torchsort"] = types.SimpleNamespace(soft_rank=None, soft_sort=None)
sys.modules["torchcp.graph"] = sys.modules["torchcp.llm"] = types.ModuleType("unused")
from torchcp.classification.loss import ConfTrLoss, ConfTSLoss
from torchcp.classification.predictor import SplitPredictor
from torchcp.classification.score import LAC

torch.manual_seed(0)
labels = torch.randint(0, 10, (400,))
logits = torch.randn(400, 10)
logits[torch.arange(400), labels] += 1
seen = {}


class Watched(ConfTrLoss):
    def compute_loss(self, scores, labels, threshold):
        seen["covered"] = (scores[torch.arange(len(labels)), labels] <= threshold).float().mean().item()
        return super().compute_loss(scores, labels, threshold)


words = []
for soft in (True, False):
    loss = Watched(SplitPredictor(LAC()), 0.1, 0.5, soft_qunatile=soft, epsilon=0.01, loss_transform="abs")
    value = loss(logits, labels)
    words.append(f"{'soft' if soft else 'hard'} covers {seen['covered']:.2f}, loss {value:.2f}")
numbers = torch.arange(101.0)
soft = ConfTSLoss(SplitPredictor(LAC()), 0.1)._soft_quantile(numbers, 0.1)
print(
    f"torchcp {importlib.metadata.version('torchcp')}, alpha .1: of 0 to 100 {soft:.1f};",
    f"{'; '.join(words)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchcp 1.2.1, alpha .1: of 0 to 100 9.2; soft covers 0.17, loss 0.00; hard covers 0.94, loss 5.51"
