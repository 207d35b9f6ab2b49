#!/usr/bin/env bash
# Similarity-preserving distillation of torchdistill is 30 times too weak for 32 texts: rows are divided by their sums.
#
# Guess before the run: `SPKDLoss` divides each row of the similarities of a batch by its Euclidean norm, as in the
# paper that it names (Tung and Mori 2019): the loss is that of both matrices, divided by the squared number of texts.
# Seen: torchdistill 1.1.5. `normalize(similarities, 1)` gives 1 for the norm, not for the axis, so that rows are
# divided by the sum of their sizes. The loss of pooled vectors of 32 texts is .000080 where .002360 is right, and the
# greater the batch, the weaker: it is 3.5 times too small for 4 texts, and 120 times for 128. A weight that was found
# for the paper's loss hardly teaches the student.
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
from torchdistill.losses.mid_level import SPKDLoss


def rows(vectors):
    similarities = vectors @ vectors.T
    return similarities / similarities.norm(dim=1, keepdim=True)


loss = SPKDLoss("student", "teacher", "batchmean")
parts = []
for batch in (4, 32, 128):
    torch.manual_seed(0)
    teacher, student = torch.randn(batch, 64) + 1, torch.randn(batch, 32) + 1
    seen = loss({"student": {"output": student}}, {"teacher": {"output": teacher}})
    right = (rows(teacher) - rows(student)).norm() ** 2 / batch**2
    parts.append(f"{batch} texts {seen:.6f} of {right:.6f} (1/{right / seen:.1f})")
print(f"torchdistill {importlib.metadata.version('torchdistill')}, loss of {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchdistill 1.1.5, loss of 4 texts 0.003633 of 0.012805 (1/3.5), 32 texts 0.000080 of 0.002360\
 (1/29.6), 128 texts 0.000006 of 0.000763 (1/120.0)"
