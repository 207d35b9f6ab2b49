#!/usr/bin/env bash
# Pruners of KD_Lib keep an early epoch, not the best one: a test score has to be above the last best training score.
#
# Guess before the run: `finetune_model` of a pruner ends with the weights of the epoch that had the best test accuracy.
# Seen: KD_Lib 0.0.32. If an epoch's test accuracy is above the best one, the best one is set to its accuracy in
# training. As soon as that is higher than any test score can be, nothing is taken any more. In 30 epochs the test
# accuracy rises to 83.5, and the weights that are kept are those of the fourth epoch, with 77.0: the pruned network has
# hardly been tuned. So it is in each round of `prune`.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    KD-Lib==0.0.32
cat > "$folder/program.py" <<'PYTHON'
import contextlib
import importlib.metadata
import io
import re

import torch
from KD_Lib.Pruning import LotteryTicketsPruner
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
texts = torch.randn(400, 20)
labels = (texts @ torch.randn(20) + torch.randn(400) * 2 > 0).long()
train = DataLoader(TensorDataset(texts[:200], labels[:200]), 16, shuffle=True)
test = DataLoader(TensorDataset(texts[200:], labels[200:]), 200)
model = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
pruner = LotteryTicketsPruner(model, train, test)
pruner.optimizer = torch.optim.Adam(model.parameters(), 1e-3)
report = io.StringIO()
with contextlib.redirect_stdout(report):
    pruner.finetune_model(30)
    _, kept = pruner.evaluate_model()
accuracies = [float(number) for number in re.findall(r"Test Accuracy: ([\d.]+)", report.getvalue())]
training = [float(number) for number in re.findall(r"Training Accuracy: ([\d.]+)", report.getvalue())]
epoch = accuracies.index(kept) + 1
print(
    f"KD_Lib {importlib.metadata.version('KD-Lib')}: best test accuracy {max(accuracies)} in epoch",
    f"{accuracies.index(max(accuracies)) + 1}, kept {kept} of epoch {epoch}, in training {training[epoch - 1]:.1f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "KD_Lib 0.0.32: best test accuracy 83.5 in epoch 27, kept 77.0 of epoch 4, in training 85.0"
