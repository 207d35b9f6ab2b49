#!/usr/bin/env bash
# The test split that curriculus makes with `train_ratio=.8` is training texts: both splits begin at the first text.
#
# Guess before the run: `Curriculus(datasets, train_ratio=.8)` holds a fifth of the texts out: no text of `["test"]` is
# in `["train"]`.
# Seen: curriculus 0.1.6. Two data sets of 500 texts. Each split goes through both data sets from their beginning, with
# its own number of steps: all 200 texts of the test split are in the training split, and 200 texts of 1,000 are in no
# split. With `shuffled=True` and a seed 160 of 200 are training texts, as by chance. Whoever stops a BERT by this
# split stops by what it has learned.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    curriculus==0.1.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from curriculus import Curriculus

datasets = [
    {"name": name, "dataset": [{"text": f"{name} {number}"} for number in range(500)]} for name in ("easy", "hard")
]
words = []
for shuffled in (False, True):
    splits = Curriculus(datasets, train_ratio=0.8, seed=0, shuffled=shuffled, shuffle_seed=0 if shuffled else None)
    train, test = ({row["text"] for row in splits[name]} for name in ("train", "test"))
    words.append(
        f"{'shuffled' if shuffled else 'in order'}: {len(train)} training texts, {len(test)} test texts,"
        f" {len(train & test)} in both, {1000 - len(train | test)} in none"
    )
print(f"curriculus {importlib.metadata.version('curriculus')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "curriculus 0.1.6: in order: 800 training texts, 200 test texts, 200 in both, 200 in none; shuffled:\
 800 training texts, 200 test texts, 148 in both, 148 in none"
