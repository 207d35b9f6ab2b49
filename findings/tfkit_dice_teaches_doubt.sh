#!/usr/bin/env bash
# The Dice loss of tfkit teaches a classifier to doubt: a text that is surely right costs as much as a wrong one.
#
# Guess before the run: DiceLoss, "from 'Dice Loss for Data-imbalanced NLP Tasks'", is small where the right class has a
# high probability.
# Seen: tfkit 0.8.20. The probability of the right class counts as p times 1 - p alone, above and below the line, and
# the 1 of the label is missing: the loss is .998 for .002 as for .998, and least, .800, for .5. A text that is right
# with .953 is trained down to .500. LabelSmoothingLoss leaves padding out of the sum and counts it in the mean: .58 for
# 1.16 if half of the tokens are padding. The divergence of SelfKDLoss is a mean over classes, too: of 1,000 classes a
# teacher counts a 50th as much as of two.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==5.14.1 scikit-learn==1.9.1 numpy==2.4.6 nlp2==1.9.4 editdistance==0.8.1 \
    inquirer==3.4.1 accelerate==1.15.0 joblib==1.6.0 tensorboard==2.21.0 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tfkit==0.8.20
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from tfkit.utility.loss import DiceLoss, LabelSmoothingLoss, SelfKDLoss

words = []
for logit in (-6.0, -1.0, 0.0, 1.0, 6.0):
    loss = DiceLoss()(torch.tensor([[0.0, logit]]), torch.tensor([1]))
    words.append(f"{torch.sigmoid(torch.tensor(logit)):.3f} {loss:.3f}")
value = torch.tensor([[0.0, 3.0]], requires_grad=True)
for _ in range(3000):
    (gradient,) = torch.autograd.grad(DiceLoss()(value, torch.tensor([1])), value)
    value = (value - gradient).detach().requires_grad_()
torch.manual_seed(0)
logits, labels = torch.randn(4, 3), torch.tensor([0, 1, -1, -1])
padded = LabelSmoothingLoss(3, ignore_index=-1)(logits, labels)
alone = LabelSmoothingLoss(3, ignore_index=-1)(logits[:2], labels[:2])
parts = []
for classes in (2, 1000):
    student, teacher = torch.zeros(4, classes), torch.zeros(4, classes)
    teacher[:, 0] = 20.0
    parts.append(f"{SelfKDLoss(alpha=1.0, temperature=1)(student, teacher, torch.zeros(4).long()):.4f}")
print(
    f"tfkit {importlib.metadata.version('tfkit')}: Dice of probabilities {', '.join(words)};",
    f"trained from .953 to {torch.softmax(value, 1)[0, 1]:.3f};",
    f"smoothing {alone:.2f} alone, {padded:.2f} with as much padding;",
    f"divergence of 2 and 1,000 classes {' '.join(parts)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tfkit 0.8.20: Dice of probabilities 0.002 0.998, 0.269 0.836, 0.500 0.800, 0.731 0.836, 0.998 0.998;\
 trained from .953 to 0.500; smoothing 1.16 alone, 0.58 with as much padding; divergence of 2 and 1,000 classes 0.3466\
 0.0069"
