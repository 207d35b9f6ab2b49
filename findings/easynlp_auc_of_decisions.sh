#!/usr/bin/env bash
# The AUC of EasyNLP is one of decisions: a BERT that ranks all texts rightly has .50 as soon as its bias is off.
#
# Guess before the run: the metric "auc" of EasyNLP's evaluator is that of the scores, so that a number that is added to
# all logits of a class changes nothing, and a perfect ranking has 1.00.
# Seen: pai-easynlp 0.0.3 with torch 2.13.0 and scikit-learn 1.9.1. It is 1.00 where the logits are around 0, and .50
# with 3 more or less; scikit-learn has 1.00 for all. The labels that are predicted are given to roc_auc_score instead
# of the probabilities, so that what is called AUC is the mean of two recalls, which the measure exists to avoid. (The
# class is taken out of its file, with a loader in the place of its base, and `cuda` leaves tensors on the CPU.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 scikit-learn==1.9.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    pai-easynlp==0.0.3
cat > "$folder/program.py" <<'PYTHON'
import ast
import importlib.metadata
import logging
import time
import types

import numpy as np
import sklearn.metrics
import torch

package = importlib.metadata.distribution("pai-easynlp")
tree = ast.parse(package.locate_file("easynlp/appzoo/sequence_classification/evaluator.py").read_text())
tree.body = [part for part in tree.body if getattr(part, "name", None) == "SequenceClassificationEvaluator"]


class Evaluator:
    def __init__(self, valid_dataset):
        self.valid_loader = torch.utils.data.DataLoader(valid_dataset, batch_size=50)


losses = types.SimpleNamespace(cross_entropy=torch.nn.functional.cross_entropy)
names = {"np": np, "torch": torch, "time": time, "logger": logging, "losses": losses, "Evaluator": Evaluator}
names.update(vars(sklearn.metrics))
exec(compile(tree, "evaluator.py", "exec"), names)


class Model(torch.nn.Module):
    """Returns the logits that are in its data."""

    config = types.SimpleNamespace(num_labels=2)

    def forward(self, batch):
        return {"logits": batch["logits"]}


torch.Tensor.cuda = lambda tensor: tensor
labels = torch.arange(100) % 2
parts = []
for bias in (0.0, 3.0, -3.0):
    logits = torch.stack([torch.zeros(100), labels * 2.0 - 1 + torch.linspace(-0.5, 0.5, 100) + bias], dim=1)
    evaluator = names["SequenceClassificationEvaluator"](
        [{"logits": row, "label_ids": label} for row, label in zip(logits, labels)]
    )
    evaluator.metrics = ["auc"]
    auc = dict(evaluator.evaluate(Model()))["auc"]
    parts.append(f"bias {bias:g}: {auc:.2f}, scikit-learn {sklearn.metrics.roc_auc_score(labels, logits[:, 1]):.2f}")
print(f"pai-easynlp {package.version}, AUC {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pai-easynlp 0.0.3, AUC bias 0: 1.00, scikit-learn 1.00; bias 3: 0.50, scikit-learn 1.00; bias -3:\
 0.50, scikit-learn 1.00"
