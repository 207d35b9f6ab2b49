#!/usr/bin/env bash
# A tagger that finds no entity at all has an F1 of .50 in eval4ner if half of the texts have none, and a half name 0.
#
# Guess before the run: the scores of SemEval-2013 and MUC, which eval4ner names, are sums over all texts: without a
# single prediction the recall is 0.
# Seen: eval4ner 0.1.0. They are means over texts, and a text without entities and predictions has 1.00 in all of them:
# nothing found has .50, .50 and .50, and half of the entities a recall of .75. What overlaps is looked for in the text,
# at the first place of each string only: "York" for "New York" has a partial F1 of .50, but 0 where the text has
# another York before. On data with many empty sentences, as CoNLL's or WNUT's, every BERT looks good.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    eval4ner==0.1.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from eval4ner import muc

TEXTS = ["Anna met Berta", "nobody was there", "it rained", "Carl met Dora"]
LABELS = [[("PER", "Anna"), ("PER", "Berta")], [], [], [("PER", "Carl"), ("PER", "Dora")]]


def strict(predictions, labels=LABELS, texts=TEXTS):
    result = muc.evaluate_all(predictions, labels, texts)["strict"]
    return f"{result['precision']:.2f} {result['recall']:.2f} {result['f1_score']:.2f}"


once = muc.evaluate_one([("LOC", "York")], [("LOC", "New York")], "York is not New York")
twice = muc.evaluate_one([("LOC", "York")], [("LOC", "New York")], "New York")
print(
    f"eval4ner {importlib.metadata.version('eval4ner')}: nothing found {strict([[], [], [], []])};",
    f"half of each text {strict([[('PER', 'Anna')], [], [], [('PER', 'Carl')]])};",
    f"partial F1 of a half name {twice['partial']['f1_score']:.2f},",
    f"if it stands alone before {once['partial']['f1_score']:.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "eval4ner 0.1.0: nothing found 0.50 0.50 0.50; half of each text 1.00 0.75 0.83; partial F1 of a half\
 name 0.50, if it stands alone before 0.00"
