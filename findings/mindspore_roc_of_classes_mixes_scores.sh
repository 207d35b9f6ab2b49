#!/usr/bin/env bash
# MindSpore's ROC of three classes reads three labels of a test set, and for each of them scores of several classes.
#
# Guess before the run: `ROC(class_num=3)` gives a curve of each class against the others, from its column of scores, as
# scikit-learn's.
# Seen: MindSpore 2.10.0, scikit-learn 1.9.1. The scores of 300 texts, [300, 3], are reshaped to [3, 300], which is no
# transposition: a "class" has three scores, those of different classes. They are held against the first three labels;
# the other 297 are never read. A perfect classifier has areas of 1.00, .50 and 1.00, where all are 1.00; one whose
# labels are others from the fourth text on has the same three, where .31, .31 and .23 is right. If one of the first
# three texts' classes is missing it raises an error that says there are no positives. With as many texts as classes it
# is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mindspore==2.10.0 numpy==1.26.4 scikit-learn==1.9.1
cat > "$folder/program.py" <<'PYTHON'
import mindspore
import numpy as np
from mindspore import Tensor
from mindspore.train import ROC, auc
from sklearn.metrics import roc_auc_score

random = np.random.default_rng(0)
labels = np.concatenate([[0, 1, 2], random.integers(0, 3, 297)])
scores = np.eye(3)[labels] * 0.5 + random.dirichlet(np.ones(3), 300) * 0.5
others = np.concatenate([labels[:3], (labels[3:] + 1) % 3])


def areas(labels):
    metric = ROC(class_num=3)
    metric.update(Tensor(scores.astype(np.float32)), Tensor(labels.astype(np.int32)))
    rates = metric.eval()
    return " ".join(f"{auc(*pair):.2f}" for pair in zip(*rates[:2]))


def truth(labels):
    return " ".join(f"{roc_auc_score(labels == number, scores[:, number]):.2f}" for number in range(3))


print(
    f"mindspore {mindspore.__version__}, AUC of three classes: perfect {areas(labels)}, scikit-learn {truth(labels)};",
    f"other labels from the fourth on {areas(others)}, scikit-learn {truth(others)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mindspore 2.10.0, AUC of three classes: perfect 1.00 0.50 1.00, scikit-learn 1.00 1.00 1.00; other\
 labels from the fourth on 1.00 0.50 1.00, scikit-learn 0.31 0.31 0.23"
