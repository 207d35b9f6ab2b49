#!/usr/bin/env bash
# Distilled with "kl" a student of bert-squeeze learns to be sure: its divergence has teacher and student the wrong way.
#
# Guess before the run: `distillation_loss="kl"` of a Distiller is the divergence of the teacher's probabilities from
# the student's, its mean over texts, as in Hinton's distillation: 3.21 here.
# Seen: bert-squeeze 0.1.1. The distiller gives (teacher, student) to a loss that takes (student, teacher), so that it
# is the divergence of the student from the teacher; and it is divided by the number of classes: with 150 classes it is
# 0.029, which is 4.32 / 150, and weighs little beside the labels' loss. Where the teacher calls half of the texts 0 or
# 2 and half of them 1 or 2, a student that can't tell them apart is to say .25, .25 and .50. Trained with this loss it
# says .04, .04 and .92: it keeps what the teacher says of all texts, and is much too sure of it.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==4.41.2 numpy==1.26.4 lightning==2.5.0 omegaconf==2.3.0 overrides==6.5.0 \
    tabulate==0.10.0 seaborn==0.12.2 matplotlib==3.7.5 scipy==1.17.1 scikit-learn==1.9.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    bert-squeeze==0.1.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from bert_squeeze.distillation.distiller import Distiller
from omegaconf import OmegaConf


def distiller(size):
    params = dict(num_labels=size, distillation_loss="kl", alpha=0.0, smoothing=0.0, class_weights=None)
    return Distiller(torch.nn.Linear(8, size), torch.nn.Linear(8, size), OmegaConf.create(params))


def divergence(p, q):
    """Of probabilities p from q, both given as logits: the mean over texts."""
    p, q = p.log_softmax(1), q.log_softmax(1)
    return (p.exp() * (p - q)).sum(1).mean()


def no_label(logits):
    return torch.full((len(logits),), -100)


torch.manual_seed(0)
# Half of the texts have class 0 or 2, and half 1 or 2; the student can't tell them apart.
teacher = torch.tensor([[0.499, 0.001, 0.5], [0.001, 0.499, 0.5]]).log()
small = distiller(3)
says = []
for function in (divergence, lambda p, q: small.loss(p, q, no_label(p)).full_loss):
    logits = torch.tensor([[0.1, 0.0, 0.0]], requires_grad=True)
    optimizer = torch.optim.Adam([logits], 0.05)
    for _ in range(1000):
        optimizer.zero_grad()
        function(teacher, logits.expand(2, 3)).backward()
        optimizer.step()
    says.append(" ".join(f"{value:.2f}" for value in logits.softmax(1)[0]))
teacher, student = 3 * torch.randn(64, 150), torch.randn(64, 150)
loss = distiller(150).loss(teacher, student, no_label(teacher)).full_loss
print(
    f"bert-squeeze {importlib.metadata.version('bert-squeeze')}, 150 classes: loss {loss:.3f}, divergence of the",
    f"teacher {divergence(teacher, student):.2f}, of the student {divergence(student, teacher):.2f}; a student of two",
    f"opinions says {says[0]}, with bert-squeeze {says[1]}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bert-squeeze 0.1.1, 150 classes: loss 0.029, divergence of the teacher 3.21, of the student 4.32; a\
 student of two opinions says 0.25 0.25 0.50, with bert-squeeze 0.04 0.04 0.92"
