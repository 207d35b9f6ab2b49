#!/usr/bin/env bash
# DIST+ of torchdistill teaches a student the opposite of its teacher's features: their correlation is a cost.
#
# Guess before the run: `DISTPlusLoss` is 0 where logits and features of student and teacher are equal, and greatest
# where features are opposite.
# Seen: torchdistill 1.1.5. Of its four terms three are 1 minus a correlation; that of the channels, `iota`, is the
# correlation itself, and is added. With equal logits the loss is 1.00 for equal features, 1.15 for random ones, and
# 1.00 for opposite ones; without the spatial term (`kappa=0`) 1.00, -.03 and -1.00: training by it turns the features
# round. After 200 steps from random features their correlation with the teacher's is -1.00, with the spatial term as
# well.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 pyyaml==6.0.3
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    torchdistill==1.1.5
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from torchdistill.losses.mid_level import DISTPlusLoss

torch.manual_seed(0)
logits, features, others = torch.randn(8, 5), torch.randn(8, 6, 4, 4), torch.randn(8, 6, 4, 4)


def values(**options):
    loss = DISTPlusLoss(*("logits", "output") * 2, *("features", "output") * 2, beta=0.0, gamma=0.0, **options)

    def of(student):
        inputs = [{"logits": {"output": logits}, "features": {"output": one}} for one in (student, features)]
        return loss(*inputs)

    words = " ".join(f"{of(one):.2f}" for one in (features, others, -features))
    student = torch.nn.Parameter(others.clone())
    optimizer = torch.optim.Adam([student], 0.1)
    for _ in range(200):
        optimizer.zero_grad()
        of(student).backward()
        optimizer.step()
    centered = [one - one.mean(1, keepdim=True) for one in (student.detach(), features)]
    correlation = torch.nn.functional.cosine_similarity(*centered, dim=1).mean()
    return f"{words}, after training a correlation of {correlation:.2f}"


version = importlib.metadata.version("torchdistill")
print(f"torchdistill {version}, equal, random and opposite features: {values()}; kappa=0 {values(kappa=0.0)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchdistill 1.1.5, equal, random and opposite features: 1.00 1.15 1.00, after training a correlation\
 of -1.00; kappa=0 1.00 -0.03 -1.00, after training a correlation of -1.00"
