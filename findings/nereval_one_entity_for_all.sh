#!/usr/bin/env bash
# One entity over the whole text has an F1 of .91 in nereval where ten entities are in it: its precision is 5.00.
#
# Guess before the run: a model that marks a whole sentence as one person where ten persons are in it has an F1 of
# entities of nearly 0: of twenty points (ten texts, ten types) it has one at most.
# Seen: nereval 0.2.5. Each entity of the truth gets a point for its type if a prediction of its type overlaps with
# it, and the same prediction serves all of them. Ten points of two that the prediction may have are a precision of
# 5.00, of which F1 makes .91, and .67 for two entities. The ten right entities without a type have .50, and nine of
# ten, all right, .95: a BERT that joins everything beats one that finds half of all entities exactly (.67).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    nereval==0.2.5
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import nereval
from nereval import Entity


def score(true, predicted):
    correct = sum(nereval.count_correct(true, predicted))
    return f"{nereval.evaluate([true], [predicted]):.2f} (precision {correct / (2 * len(predicted)):.2f})"


names = "Anna Bert Cora Dora Emil Fritz Gerd Hans Ines Jana".split()
text = " ".join(names)
true = [Entity(name, "PER", text.index(name)) for name in names]
cases = {
    "all ten": (true, true),
    "nine": (true, true[:9]),
    "five": (true, true[:5]),
    "ten of another type": (true, [Entity(entity.text, "LOC", entity.start) for entity in true]),
    "one over all ten": (true, [Entity(text, "PER", 0)]),
    "one over two": (true[:2], [Entity("Anna Bert", "PER", 0)]),
}
words = [f"{name} {score(*case)}" for name, case in cases.items()]
print(f"nereval {importlib.metadata.version('nereval')}: F1 of {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "nereval 0.2.5: F1 of all ten 1.00 (precision 1.00), nine 0.95 (precision 1.00), five 0.67 (precision\
 1.00), ten of another type 0.50 (precision 0.50), one over all ten 0.91 (precision 5.00), one over two 0.67\
 (precision 1.00)"
