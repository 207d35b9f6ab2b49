#!/usr/bin/env bash
# A perfect BERT for several labels has an F1 of .10 in fast-bert if a tenth of the texts has labels: toxic comments.
#
# Guess before the run: of predictions that are all right, at the threshold of each metric, F1, fbeta and
# accuracy_multilabel of fast-bert are 1, whatever labels the texts have.
# Seen: fast-bert 2.0.26 with torch 2.13.0. F1 and fbeta are means over texts of numbers that are 0 for a text without
# labels that is given none: .10 if a tenth has some. accuracy_multilabel compares the surest label with the first one
# of the text, and has .66 for perfect predictions where all texts have labels, .21 with those. accuracy_thresh is 1.00.
# (The module is loaded by its path: the package's import wants others that it does not use.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 scikit-learn==1.9.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    fast-bert==2.0.26
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util

import torch

path = importlib.metadata.distribution("fast-bert").locate_file("fast_bert/metrics.py")
spec = importlib.util.spec_from_file_location("metrics", path)
metrics = importlib.util.module_from_spec(spec)
spec.loader.exec_module(metrics)

torch.manual_seed(0)
parts = []
for share in (1.0, 0.1):
    labels = torch.rand(1000, 6) < 0.3
    labels[:, 0] |= ~labels.any(dim=1)
    labels[int(1000 * share) :] = False
    logits = torch.where(labels, 5.0, -5.0) + torch.rand(1000, 6)
    right = ((logits.sigmoid() > 0.5) == labels).all().item()
    names = ("F1", "fbeta", "accuracy_multilabel", "accuracy_thresh")
    scores = [f"{name} {getattr(metrics, name)(logits, labels.int()):.2f}" for name in names]
    parts.append(f"labels in {share:.0%}, all right {right}: {', '.join(scores)}")
print(f"fast-bert {importlib.metadata.version('fast-bert')}, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "fast-bert 2.0.26, labels in 100%, all right True: F1 1.00, fbeta 1.00, accuracy_multilabel 0.66,\
 accuracy_thresh 1.00; labels in 10%, all right True: F1 0.10, fbeta 0.10, accuracy_multilabel 0.21, accuracy_thresh\
 1.00"
