#!/usr/bin/env bash
# A cosine classifier of Avalanche that begins with two classes can never learn three others: their logit is -1,000.
#
# Guess before the run: `CosineIncrementalClassifier(units, num_classes=2)` grows to six classes when texts of the
# classes 2 to 5 come, and all four can be learned.
# Seen: avalanche-lib 0.6.0. It notes that it knows the classes 0 to 4, whatever `num_classes` is. So 2, 3 and 4 are not
# new to it: their logits stay -1000, the loss of their texts is about 1,000, and after 300 steps 1.00 of the texts of
# class 5 are found and 0.00 of those of 2, 3 and 4. With num_classes=5 it is right. Begun with 10 classes it takes 5 to
# 9 for new ones: it has 15 rows of weights, and what the rows 5 to 9 have learned is not read any more.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    avalanche-lib==0.6.0 torch==2.14.1 torchvision==0.29.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import types

import torch
from avalanche.models.cosine_layer import CosineIncrementalClassifier

torch.manual_seed(0)
centers = torch.randn(10, 16)


def learn(before, classes):
    """Accuracy of each new class after 300 steps, and the number of rows of weights."""
    model = CosineIncrementalClassifier(16, num_classes=before)
    model.adaptation(types.SimpleNamespace(classes_in_this_experience=list(classes)))
    rows = sum(value.shape[0] for value in model.parameters() if value.ndim == 2)
    if before < 10:
        optimizer = torch.optim.Adam(model.parameters(), 0.05)
        y = torch.tensor(classes).repeat(50)
        x = centers[y] + 0.3 * torch.randn(len(y), 16)
        for _ in range(300):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        right = (model(x).argmax(1) == y).float()
        found = " ".join(f"{right[y == label].mean():.2f}" for label in classes)
        return f"{model(x)[0, 2]:.0f}, {found}" if before == 2 else found
    return f"{rows} rows"


print(
    f"avalanche-lib {importlib.metadata.version('avalanche-lib')}: after 2 classes, logit of class 2 and accuracy of",
    f"2 to 5: {learn(2, [2, 3, 4, 5])}; after 5, of 5 to 8: {learn(5, [5, 6, 7, 8])};",
    f"10 and 5 to 9: {learn(10, range(5, 10))}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "avalanche-lib 0.6.0: after 2 classes, logit of class 2 and accuracy of 2 to 5: -1000, 0.00 0.00 0.00 1\
.00; after 5, of 5 to 8: 1.00 1.00 1.00 1.00; 10 and 5 to 9: 15 rows"
