#!/usr/bin/env bash
# A model that scores all choices alike has an MRR of 1.00 in lighteval, a recall@1 of 1 and a recall@2 of 0.
#
# Guess before the run: equal scores of choices have the mean of their orders, .29 for ten, or at least one order in all
# metrics, so that recall@2 is never below recall@1.
# Seen: lighteval 0.13.0. MRR gives a gold choice the best place of its score: 1.00 for a constant whichever choice is
# gold, .58 for scores of two values, where .29 is expected of both. Recall@1 takes the first of equal choices and
# recall@2 the last two: if the first is gold they are 1 and 0, if the last is 0 and 1. Scores of a bfloat16 BERT tie
# often. (The F1 of words counts each word once: "new york" has 1.00 for "new york new york", .67 in SQuAD.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    lighteval==0.13.0 torch==2.14.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from lighteval.metrics.metrics_sample import MRR, F1_score, Recall
from lighteval.models.model_output import ModelResponse
from lighteval.tasks.requests import Doc


def mean(metric, scores):
    values = []
    for gold in range(len(scores)):
        doc = Doc(query="", choices=["w"] * len(scores), gold_index=gold)
        values.append(metric.compute(doc=doc, model_response=ModelResponse(logprobs=scores)))
    return f"{np.mean(values):.2f}"


constant = [-1.0] * 10
coarse = [-1.0] * 5 + [-2.0] * 5
last = Doc(query="", choices=["w"] * 10, gold_index=9)
first = Doc(query="", choices=["w"] * 10, gold_index=0)
response = ModelResponse(logprobs=constant)
recalls = [[Recall(k).compute(doc=doc, model_response=response) for k in (1, 2)] for doc in (first, last)]
f1 = F1_score().compute_one_item("new york new york", "new york")
print(
    f"lighteval {importlib.metadata.version('lighteval')}: MRR of a constant {mean(MRR(), constant)}, of two values",
    f"{mean(MRR(), coarse)}; recall@1 and @2 of a constant: first choice right {recalls[0]}, last {recalls[1]};",
    f"F1 of half a name {f1:.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "lighteval 0.13.0: MRR of a constant 1.00, of two values 0.58; recall@1 and @2 of a constant: first\
 choice right [1, 0], last [0, 1]; F1 of half a name 1.00"
