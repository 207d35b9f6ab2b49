#!/usr/bin/env bash
# `EarlyStoppingAndCondition` of small-text ends a BERT's training when one of its conditions holds: it is an "or".
#
# Guess before the run: of "the accuracy is above 0.9" and "the loss is below 0.1" it stops where both hold, as its
# documentation says ("aggregated by a logical and"), and EarlyStoppingOrCondition where either does.
# Seen: small-text 1.4.1. Both classes return whether any of the answers is true.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    small-text==1.4.1 numpy==2.4.6 scikit-learn==1.9.1 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from small_text import EarlyStopping, Metric
from small_text.training.early_stopping import EarlyStoppingAndCondition, EarlyStoppingOrCondition


def stops(kind, accuracy, loss):
    conditions = [
        EarlyStopping(Metric("val_acc", lower_is_better=False), threshold=0.9, patience=-1),
        EarlyStopping(Metric("val_loss"), threshold=0.1, patience=-1),
    ]
    measured = {"train_acc": 0.8, "train_loss": 0.5, "val_acc": accuracy, "val_loss": loss}
    return "stops" if kind(conditions).check_early_stop(1, measured) else "goes on"


values = ((0.8, 0.5), (0.95, 0.5), (0.8, 0.05), (0.95, 0.05))
kinds = {"and": EarlyStoppingAndCondition, "or": EarlyStoppingOrCondition}
print(
    f"small-text {importlib.metadata.version('small-text')}, neither, accuracy, loss, both:",
    "; ".join(
        f"{name}: " + ", ".join(stops(kind, *pair) for pair in values) for name, kind in kinds.items()
    ),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "small-text 1.4.1, neither, accuracy, loss, both: and: goes on, stops, stops, stops;\
 or: goes on, stops, stops, stops"
