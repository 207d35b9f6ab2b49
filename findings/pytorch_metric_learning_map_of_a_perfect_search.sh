#!/usr/bin/env bash
# The MAP@10 of a perfect search is .10 in pytorch-metric-learning where a text has 99 others of its class.
#
# Guess before the run: `mean_average_precision` with k=10 is 1.00 for vectors whose ten nearest neighbours are all of
# the right class: its own warning says to use it "if you're looking for MAP@10".
# Seen: pytorch-metric-learning 2.9.0. The sum over the first ten places is divided by the number of all texts of the
# class, 99, and not by 10: .10 is the most that can be had. With k=50 it is .51, with all neighbours 1.00; the larger
# a class, the lower its score, and with two classes of 20 and 180 texts it is .10 again. The reciprocal rank and the
# precision at 1 are 1.00.
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
import logging

import torch
from pytorch_metric_learning.distances import CosineSimilarity
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
from pytorch_metric_learning.utils.inference import CustomKNN

logging.disable(logging.CRITICAL)
names = ("mean_average_precision", "mean_reciprocal_rank", "precision_at_1")


def scores(labels, k):
    vectors = torch.eye(4)[labels]
    calculator = AccuracyCalculator(
        include=names, k=k, knn_func=CustomKNN(CosineSimilarity()), device=torch.device("cpu")
    )
    values = calculator.get_accuracy(vectors, labels, vectors, labels, ref_includes_query=True)
    return " ".join(f"{values[name]:.2f}" for name in names)


labels = torch.arange(400) // 100
words = [f"k={k} {scores(labels, k)}" for k in (10, 50, None)]
uneven = torch.tensor([0] * 20 + [1] * 180)
version = importlib.metadata.version("pytorch-metric-learning")
print(
    f"pytorch-metric-learning {version}, MAP, MRR and P@1 of a perfect search, 100 in a class: {'; '.join(words)};",
    f"20 and 180, k=10 {scores(uneven, 10)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-metric-learning 2.9.0, MAP, MRR and P@1 of a perfect search, 100 in a class: k=10 0.10 1.00\
 1.00; k=50 0.51 1.00 1.00; k=None 1.00 1.00 1.00; 20 and 180, k=10 0.10 1.00 1.00"
