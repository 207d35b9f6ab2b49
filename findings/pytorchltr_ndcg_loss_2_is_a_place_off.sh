#!/usr/bin/env bash
# NDCG-Loss 2 of pytorchltr weighs neighbours by .13, where its formula says .37: every discount is a place off.
#
# Guess before the run: `LambdaNDCGLoss2` weighs a pair by |1/D(|i-j|) - 1/D(|i-j|+1)| with D(i) = log2(1 + i), as its
# page and the paper of LambdaLoss say: neighbours by 1 - 1/log2(3) = .37.
# Seen: pytorchltr 0.1.0. Of two passages the right one is first, by a score of .1: the loss is 0.12, and by the formula
# 0.34. It takes D(|i-j|+1) and D(|i-j|+2), so that neighbours lose most: they weigh 3.0 times as much as passages that
# are three places apart, not 5.3 times as much. For ten passages the loss is half of the formula's: a re-ranker learns
# half as fast at the same learning rate, and too little about neighbours. NDCG-Loss 1 of the package is as its page
# says.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorchltr==0.1.0 torch==2.14.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorchltr.loss import LambdaNDCGLoss2


def formula(scores, labels):
    """The formula of the page, for one query."""
    order = scores.argsort(descending=True)
    scores, labels = scores[order], labels[order]
    ranks = torch.arange(1, len(scores) + 1)
    best = ((2.0 ** labels.sort(descending=True).values - 1) / torch.log2(1.0 + ranks)).sum()
    gains = (2.0**labels - 1) / best
    loss = torch.tensor(0.0)
    for i in range(len(scores)):
        for j in range(len(scores)):
            if labels[i] > labels[j]:
                gap = torch.tensor(float(abs(i - j)))
                delta = 1 / torch.log2(1 + gap) - 1 / torch.log2(2 + gap)
                loss = loss - delta * (gains[i] - gains[j]) * torch.nn.functional.logsigmoid(scores[i] - scores[j])
    return loss / torch.log(torch.tensor(2.0))


def both(scores, labels):
    values, gradients = [], []
    for function in (
        formula,
        lambda s, y: LambdaNDCGLoss2()(s[None], y[None], torch.tensor([len(s)]))[0],
    ):
        leaf = scores.clone().requires_grad_()
        value = function(leaf, labels)
        value.backward()
        values.append(value.item())
        gradients.append(leaf.grad)
    cosine = torch.nn.functional.cosine_similarity(*gradients, dim=0)
    return f"formula {values[0]:.2f}, loss {values[1]:.2f}, cosine of gradients {cosine:.2f}"


torch.manual_seed(0)
print(
    f"pytorchltr {importlib.metadata.version('pytorchltr')}: of two",
    f"{both(torch.tensor([0.1, 0.0]), torch.tensor([1, 0]))};",
    f"of ten {both(torch.randn(10), torch.randint(0, 4, (10,)))}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorchltr 0.1.0: of two formula 0.34, loss 0.12, cosine of gradients 1.00; of ten formula 1.16, loss\
 0.60, cosine of gradients 0.99"
