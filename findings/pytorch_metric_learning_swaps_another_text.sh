#!/usr/bin/env bash
# With `ref_emb` the swap of pytorch-metric-learning's triplet loss takes a question for the positive answer of another.
#
# Guess before the run: `TripletMarginLoss(swap=True)` with `ref_emb` takes the smaller of the distances from the
# negative answer to the question and to its positive answer ("use the positive-negative distance instead of
# anchor-negative distance, if it violates the margin more").
# Seen: pytorch-metric-learning 2.9.0. The positive is a row of the answers, and its number is looked up in the rows of
# the questions: the distance is that from the question of the same number to the negative. Of random vectors the loss
# is 1.07 where 1.23 is right; without `ref_emb` both are 1.44. So what is pushed away are answers from the question of
# another text.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-metric-learning==2.9.0 torch==2.13.0 scikit-learn==1.9.1 tqdm==4.70.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_metric_learning.losses import TripletMarginLoss
from pytorch_metric_learning.reducers import MeanReducer


def right(questions, answers, positives):
    values = []
    for anchor, question in enumerate(questions):
        for positive in positives[anchor]:
            others = set(range(len(answers))) - set(positives[anchor])
            for negative in others - ({anchor} if answers is questions else set()):
                near = (question - answers[positive]).norm()
                far = min((one - answers[negative]).norm() for one in (question, answers[positive]))
                values.append(max(0.0, (near - far).item() + 1.0))
    return sum(values) / len(values)


torch.manual_seed(0)
loss = TripletMarginLoss(margin=1.0, swap=True, reducer=MeanReducer())
unit = torch.nn.functional.normalize
questions, answers = unit(torch.randn(4, 8), dim=1), unit(torch.randn(4, 8), dim=1)
labels = torch.arange(4)
parts = []
value = loss(questions, labels, ref_emb=answers, ref_labels=labels.clone())
parts.append(f"with references {value:.2f}, right {right(questions, answers, [[i] for i in range(4)]):.2f}")
pairs = torch.tensor([0, 0, 1, 1])
partners = [[1], [0], [3], [2]]
value = loss(questions, pairs)
parts.append(f"without {value:.2f}, right {right(questions, questions, partners):.2f}")
version = importlib.metadata.version("pytorch-metric-learning")
print(f"pytorch-metric-learning {version}, swap {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-metric-learning 2.9.0, swap with references 1.07, right 1.23; without 1.44, right 1.44"
