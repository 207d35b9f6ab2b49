#!/usr/bin/env bash
# nervaluate's "exact" score of all entities is 1.00 where those of its two types are 0.00 and 0.50.
#
# Guess before the run: "exact" is, as its description says, "exact boundary match over the surface string, regardless
# of the type", for all entities and for those of each type, so that the types' correct ones add up to all.
# Seen: nervaluate 1.2.1. Three entities are found where they are, two persons as places. All entities: 3 correct, F1
# 1.00. Of the types: PER 0 correct and 2 missed, LOC 1 correct and 2 spurious: version 1 picks out the entities of a
# type on both sides before it compares them, so that "exact" and "partial" of a type are "strict" and its partial form.
# Version 0.2.0, with the same description, counts 2 correct persons and 1 place.
# Scores of types in this project are conlleval's (bert_tf/evaluation), where types always count.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from nervaluate import Evaluator

right = [["B-PER", "O"], ["B-LOC", "O"], ["O", "B-PER"]]
found = [["B-LOC", "O"], ["B-LOC", "O"], ["O", "B-LOC"]]
version = importlib.metadata.version("nervaluate")
result = Evaluator(right, found, tags=["PER", "LOC"], loader="list").evaluate()
if version < "1":
    scores = {"all": result[0], **result[1]}
    parts = [f"{name} {scores[name]['exact']['correct']}" for name in ("all", "PER", "LOC")]
else:
    scores = {"all": result["overall"], **result["entities"]}
    parts = [
        f"{name} {scores[name]['exact'].correct} (F1 {scores[name]['exact'].f1:.2f})" for name in ("all", "PER", "LOC")
    ]
print(f"{version}: {', '.join(parts)}")
PYTHON
seen=""
for version in 1.2.1 0.2.0; do
    python3 -m venv --without-pip "$folder/$version"
    python3 -m pip --python "$folder/$version/bin/python" install --quiet --disable-pip-version-check --no-compile \
        "nervaluate==$version"
    seen+="$("$folder/$version/bin/python" "$folder/program.py" 2> /dev/null | tail -1); "
done
echo "$seen"
test "$seen" = "1.2.1: all 3 (F1 1.00), PER 0 (F1 0.00), LOC 1 (F1 0.50); 0.2.0: all 3, PER 2, LOC 1; "
