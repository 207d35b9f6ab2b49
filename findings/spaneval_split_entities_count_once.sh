#!/usr/bin/env bash
# The precision of spaneval counts entities that are in the text, not those that were predicted: split ones count once.
#
# Guess before the run: its "SemEval Strict" of entities that do not overlap is the precision, recall and F1 of
# conlleval and seqeval, and of nervaluate's "strict".
# Seen: spaneval 0.2.1, seqeval 1.2.2, nervaluate 1.2.1. Of 100 names of two words a BERT gives 50 whole, and the other
# 50 as two names of one word (B-PER B-PER), 150 predictions: precision .33 in seqeval and nervaluate, .50 in spaneval.
# One prediction that covers two names counts as two. Of the predictions that touch an entity the one that overlaps most
# is judged and the others are in no number; `report` and `score` build on it. Recall is the same everywhere.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    spaneval==0.2.1 seqeval==1.2.2 nervaluate==1.2.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import spaneval
from nervaluate import Evaluator
from seqeval.metrics import f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities
from spaneval.strategies import Strict


def scores(right, predicted):
    documents = [
        spaneval.to_documents(
            [{"entity_type": name, "start": first, "end": last + 1} for name, first, last in get_entities(tags)]
            for tags in sentences
        )
        for sentences in (right, predicted)
    ]
    metrics = spaneval.evaluate(*documents).metrics(Strict())
    ours = metrics.precision, metrics.recall, metrics.f1
    conll = [score(right, predicted) for score in (precision_score, recall_score, f1_score)]
    strict = Evaluator(right, predicted, tags=["PER"], loader="list").evaluate()["overall"]["strict"]
    strict = strict.precision, strict.recall, strict.f1
    return " | ".join(" ".join(f"{value:.2f}" for value in values) for values in (ours, conll, strict))


split = scores([["B-PER", "I-PER"]] * 100, [["B-PER", "I-PER"]] * 50 + [["B-PER", "B-PER"]] * 50)
joined = scores([["B-PER", "B-PER"]] * 100, [["B-PER", "B-PER"]] * 50 + [["B-PER", "I-PER"]] * 50)
print(f"spaneval {importlib.metadata.version('spaneval')} | seqeval | nervaluate: split {split}; joined {joined}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "spaneval 0.2.1 | seqeval | nervaluate: split 0.50 0.50 0.50 | 0.33 0.50 0.40 | 0.33 0.50 0.40; joined\
 0.50 0.50 0.50 | 0.67 0.50 0.57 | 0.67 0.50 0.57"
