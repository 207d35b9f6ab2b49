#!/usr/bin/env bash
# A tagger that finds none of ten entities has a micro F1 of .90 in metametric if 90 other sentences have no entity.
#
# Guess before the run: a micro-averaged F1 counts entities: sentences without any, in which none is found, change
# nothing, and a tagger that finds none has 0.
# Seen: metametric 0.2.1. 90 sentences without entities make .90 of 0, and .91 of .50. The score of two empty sets, 1,
# is added to the numbers of entities, on both sides, so that every empty sentence counts as an entity that is found,
# and one in which nothing is found counts as a wrong guess. Where most sentences have no entity, as in CoNLL-2003's
# news or in texts with rare types, all taggers have nearly the same F1.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    metametric==0.2.1 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import metametric.dsl as mm

metric = mm.set_matching[str, "<->"](...)
family = mm.family(metric, mm.micro_average(["precision", "recall", "f1"]))
cases = {
    "nothing found in 10 sentences": ([], ["Paris"]),
    "one of two found, one wrong": (["Paris", "Rome"], ["Paris", "Oslo"]),
}
words = []
for name, (found, right) in cases.items():
    values = []
    for empty in (0, 90):
        aggregator = family.new()
        for pair in [(found, right)] * 10 + [([], [])] * empty:
            aggregator.update_single(*pair)
        values.append(f"{aggregator.compute()['f1']:.2f}")
    words.append(f"{name} {values[0]}, with 90 empty ones {values[1]}")
aggregator = family.new()
for pair in [([], [])] * 90 + [(["Paris"], [])] * 10:
    aggregator.update_single(*pair)
scores = aggregator.compute()
words.append(f"ten found where none is: precision {scores['precision']:.2f}, recall {scores['recall']:.2f}")
print(f"metametric {importlib.metadata.version('metametric')}, micro F1: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "metametric 0.2.1, micro F1: nothing found in 10 sentences 0.00, with 90 empty ones 0.90; one of two\
 found, one wrong 0.50, with 90 empty ones 0.91; ten found where none is: precision 0.90, recall 0.90"
