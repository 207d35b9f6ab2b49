#!/usr/bin/env bash
# matchzoo's average precision of a perfect ranking is .29, and its hinge loss is 0 though a wrong answer is on top.
#
# Guess before the run: AveragePrecision is 1.00 for a ranking whose relevant documents come first, as its
# MeanAveragePrecision is, and RankHingeLoss with several negatives costs something as long as one of them is above the
# positive.
# Seen: matchzoo-py 1.1.1. The average is one of the precisions at all places, not at those of relevant documents: a
# perfect ranking of one in ten has .29, and one of five in ten .82. The hinge is of the mean of the negatives: with
# scores 2, and 4, -4, -4, -4 for the wrong ones the loss is 0, and so is the gradient of the wrong answer that is on
# top; a hinge for each has .75.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 pandas==3.1.1 hyperopt==0.2.7 dill==0.4.0 nltk==3.9.2 boto3==1.44.8 sacremoses==0.2.0 \
    sentencepiece==0.2.3 regex==2026.11.19 requests==2.34.2 six==1.17.0 tabulate==0.10.0 setuptools==79.0.1 \
    tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    matchzoo-py==1.1.1 pytorch-transformers==1.2.0
cat > "$folder/program.py" <<'PYTHON'
import collections
import collections.abc
import os
import sys

import numpy as np
import torch

os.environ["HOME"] = sys.argv[1]
collections.Iterable = collections.abc.Iterable  # matchzoo wants it where Python 3.9 had it
import matchzoo  # noqa: E402

scores = np.arange(10, 0, -1)
parts = []
for relevant in (1, 5):
    labels = (np.arange(10) < relevant).astype(int)
    ap, mean_ap = matchzoo.metrics.AveragePrecision(), matchzoo.metrics.MeanAveragePrecision()
    parts.append(f"{relevant} of 10 first: AP {ap(labels, scores):.2f}, MAP {mean_ap(labels, scores):.2f}")
outputs = torch.tensor([[2.0], [4.0], [-4.0], [-4.0], [-4.0]], requires_grad=True)
loss = matchzoo.losses.RankHingeLoss(num_neg=4)(outputs, torch.tensor([[1.0], [0], [0], [0], [0]]))
loss.backward()
each = torch.relu(1 - (outputs[0] - outputs[1:])).mean()
parts.append(f"hinge {loss:.2f}, gradient of the wrong one {outputs.grad[1].item():.2f}, hinge of each {each:.2f}")
print(f"matchzoo-py {matchzoo.__version__}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "matchzoo-py 1.1.1: 1 of 10 first: AP 0.29, MAP 1.00; 5 of 10 first: AP 0.82, MAP 1.00; hinge 0.00,\
 gradient of the wrong one 0.00, hinge of each 0.75"
