#!/usr/bin/env bash
# Two distillations of KD_Lib teach that all classes are nearly alike: they take probabilities for their logarithms.
#
# Guess before the run: LabelSmoothReg and ProbShift correct the teacher where it is wrong, and pull the student to it:
# their loss is smallest for a student that says what the corrected teacher says.
# Seen: KD_Lib 0.0.32. They call PyTorch's KLDivLoss with the teacher's probabilities in place of the student's
# logarithms, and the student's probabilities in place of the teacher's. What is smallest then is a student with
# probabilities in proportion to exp(p): for a teacher that says .90, .05, .05 it is .54, .23, .23. Trained by this loss
# alone, at a temperature of 1, a student ends there; with the arguments the other way round it ends at .90. Of 100
# classes it is .02.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 matplotlib==3.10.8 tensorboard==2.21.0 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    KD-Lib==0.0.32
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys
import types

import torch

text = types.ModuleType("KD_Lib.KD.text")  # needs torchtext of 2021, and is not used here
text.BERT2LSTM = text.get_essentials = None
sys.modules["KD_Lib.KD.text"] = text
from KD_Lib.KD import LabelSmoothReg, ProbShift  # noqa: E402

labels = torch.zeros(1, dtype=torch.long)


def learned(loss, classes):
    """What a student says that is trained by a loss alone, with a teacher that says .9 of the first class."""
    teacher = torch.full((1, classes), 0.1 / (classes - 1))
    teacher[0, 0] = 0.9
    student = torch.zeros(1, classes, requires_grad=True)
    optimizer = torch.optim.Adam([student], 0.05)
    for _ in range(2000):
        optimizer.zero_grad()
        loss(student, teacher.log(), labels).backward()
        optimizer.step()
    return f"{student.softmax(1)[0, 0]:.2f}"


def divergence(student, teacher, labels):
    return torch.nn.functional.kl_div(student.log_softmax(1), teacher.softmax(1), reduction="batchmean")


parts = []
for classes in (3, 100):
    words = []
    for kind in (LabelSmoothReg, ProbShift):
        distiller = kind(*[torch.nn.Linear(2, 2) for _ in range(2)], None, None, None, None, temp=1.0, ka_weight=1.0)
        words.append(f"{kind.__name__} {learned(distiller.calculate_kd_loss, classes)}")
    parts.append(f"{classes} classes: {', '.join(words)}, KL divergence {learned(divergence, classes)}")
print(f"KD_Lib {importlib.metadata.version('KD-Lib')}, a student of a teacher with .90: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "KD_Lib 0.0.32, a student of a teacher with .90: 3 classes: LabelSmoothReg 0.54, ProbShift 0.54, KL\
 divergence 0.90; 100 classes: LabelSmoothReg 0.02, ProbShift 0.02, KL divergence 0.90"
