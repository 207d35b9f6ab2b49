#!/usr/bin/env bash
# An entity that a span model finds exactly is spurious in nervaluate if a longer guess stands before it: F1 0, not .67.
#
# Guess before the run: "If there's a predicted entity that perfectly matches a true entity and they have the same label
# we mark it as correct", whichever order the predictions have. A span-based BERT may predict spans that overlap.
# Seen: nervaluate 1.2.1. The text has one person, words 2 to 6, and the model predicts 2 to 6 and 0 to 6. If the right
# span is named first, one of two predictions is right, and F1 is .67. If the long one is named first, it takes the
# true entity for itself as "incorrect", and the right one is spurious: F1 is 0 in strict and exact, and .33 in partial.
# Spans sorted by their start or by their score have other F1, and nested entities are never safe.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    nervaluate==1.2.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from nervaluate import Evaluator

LONG, RIGHT = {"label": "PER", "start": 0, "end": 6}, {"label": "PER", "start": 2, "end": 6}


def scores(predictions):
    overall = Evaluator([[RIGHT]], [predictions], tags=["PER"], loader="dict").evaluate()["overall"]
    parts = []
    for kind in ("strict", "exact", "partial", "ent_type"):
        result = overall[kind]
        parts.append(f"{kind} {result.f1:.2f} ({result.correct} right, {result.spurious} spurious)")
    return ", ".join(parts)


print(
    f"nervaluate {importlib.metadata.version('nervaluate')}: right span first {scores([RIGHT, LONG])};",
    f"long span first {scores([LONG, RIGHT])}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "nervaluate 1.2.1: right span first strict 0.67 (1 right, 1 spurious), exact 0.67 (1 right, 1\
 spurious), partial 0.67 (1 right, 1 spurious), ent_type 0.67 (1 right, 1 spurious); long span first strict 0.00 (0\
 right, 1 spurious), exact 0.00 (0 right, 1 spurious), partial 0.33 (0 right, 1 spurious), ent_type 0.67 (1 right, 1\
 spurious)"
