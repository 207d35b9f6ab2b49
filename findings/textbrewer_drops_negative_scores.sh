#!/usr/bin/env bash
# The attention losses of TextBrewer take all negative scores for padding: students are taught by half of the keys.
#
# Guess before the run: without a mask "attention_ce" is the cross entropy of the softmaxes of teacher's and student's
# scores, smallest for a student with the teacher's scores, and "attention_mse" their squared difference.
# Seen: TextBrewer 0.2.1.post1. To leave out padding, whose scores a BERT lowers by 10,000, it takes every score below
# -0.001 for padding. A student that has learned by "attention_ce" attends to keys with positive scores only, where its
# teacher gives a fifth to others; by "attention_mse" a copy of the teacher with all negative scores 100 lower has a
# loss of 0. With a mask ("inputs_mask" of the adaptors) both losses are those of the guess.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    textbrewer==0.2.1.post1 torch==2.13.0 numpy==2.4.6 setuptools==80.8.0 2> /dev/null
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from textbrewer.presets import MATCH_LOSS_MAP

torch.manual_seed(0)
# Scores of two rows, four heads and eight tokens, as Q · K / √d.
teacher = torch.randn(2, 4, 8, 8)
everything = torch.ones(2, 8)


def learn(mask):
    """Trains a student's scores, and returns its probability of the keys to which the teacher gives negative ones."""
    scores = torch.zeros_like(teacher, requires_grad=True)
    optimizer = torch.optim.Adam([scores], 0.1)
    for _ in range(500):
        optimizer.zero_grad()
        MATCH_LOSS_MAP["attention_ce"](scores, teacher, mask=mask).backward()
        optimizer.step()
    return share(scores)


def share(scores):
    return (scores.softmax(-1) * (teacher < 0)).sum(-1).mean().item()


lower = torch.where(teacher < 0, teacher - 100, teacher)
mse = MATCH_LOSS_MAP["attention_mse"]
print(
    f"TextBrewer {importlib.metadata.version('textbrewer')}: share of negative scores {share(teacher):.2f},",
    f"learned by attention_ce {learn(None):.2f}, with a mask {learn(everything):.2f}; attention_mse of scores 100 lower {mse(lower, teacher):.1f},",
    f"with a mask {mse(lower, teacher, mask=everything):.0f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "TextBrewer 0.2.1.post1: share of negative scores 0.20, learned by attention_ce 0.00, with a mask 0.20;\
 attention_mse of scores 100 lower 0.0, with a mask 4941"
