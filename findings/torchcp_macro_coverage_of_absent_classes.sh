#!/usr/bin/env bash
# Sets that hold every label have a macro coverage of .60 in torchcp, if two of five classes have no text in the test.
#
# Guess before the run: the macro coverage is the mean of the coverages of the classes that occur, as CovGap beside it
# leaves the others out: 1.00 for sets that hold all labels.
# Seen: torchcp 1.2.1. A class without a text has a coverage of 0 in the mean: with three of five classes it is .60 for
# sets that hold all labels, and with 77 intents of which half are in a sample .49. The coverage gap of the same sets is
# 10 points, from .90 to 1.00, for it counts the classes that occur. So rare classes make sets seem to miss half of the
# texts, and a smaller test set has the lower coverage.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 scikit-learn==1.9.1 tqdm==4.70.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    torchcp==1.2.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys
import types

import torch

# What is not used here of torchcp needs torchsort, which has to be compiled, and packages for graphs.
sys.modules["torchsort"] = types.SimpleNamespace(soft_rank=None, soft_sort=None)
sys.modules["torchcp.graph"] = sys.modules["torchcp.llm"] = types.ModuleType("unused")
from torchcp.classification.utils.metrics import Metrics

metrics = Metrics()


def text(labels, classes):
    sets = torch.ones(len(labels), classes, dtype=torch.bool)
    macro = metrics("coverage_rate")(sets, labels, coverage_type="macro", num_classes=classes)
    plain = metrics("coverage_rate")(sets, labels)
    gap = metrics("CovGap")(sets, labels, 0.1, classes)
    return f"macro {macro:.2f}, plain {plain:.2f}, gap {gap:.0f}"


cases = {
    "five of five classes": (torch.arange(100) % 5, 5),
    "three of five": (torch.arange(100) % 3, 5),
    "38 of 77": (torch.arange(200) % 38, 77),
}
words = [f"{name} {text(*case)}" for name, case in cases.items()]
print(f"torchcp {importlib.metadata.version('torchcp')}, sets of all labels: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchcp 1.2.1, sets of all labels: five of five classes macro 1.00, plain 1.00, gap 10; three of five\
 macro 0.60, plain 1.00, gap 10; 38 of 77 macro 0.49, plain 1.00, gap 10"
