#!/usr/bin/env bash
# Kashgari scores entities by the end of their types: "person-other" for "location-other", as in Few-NERD, is right.
#
# Guess before the run: of three entities whose types are swapped, person-other, location-other and product-other, none
# is right; an entity with two types in it is two.
# Seen: kashgari 2.0.2. The F1 is 1.00 in both cases; seqeval 1.2.2 has 0.00 and 0.57. Of a tag Kashgari, whose report
# is made of a copy of an old seqeval, keeps what is behind the last hyphen, so that all types of Few-NERD that end in
# "-other" are one type. (The module is loaded by its path: the package's import wants an old TensorFlow, which it does
# not use.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    seqeval==1.2.2 scikit-learn==1.9.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    kashgari==2.0.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util

import seqeval.metrics

path = importlib.metadata.distribution("kashgari").locate_file("kashgari/metrics/sequence_labeling.py")
spec = importlib.util.spec_from_file_location("sequence_labeling", path)
kashgari = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kashgari)

right = [["B-person-other", "O", "B-location-other", "I-location-other", "O", "B-product-other"]]
parts = []
for name, found in (
    ("types swapped", [["B-location-other", "O", "B-product-other", "I-product-other", "O", "B-person-other"]]),
    ("two entities in one", [["B-person-other", "O", "B-location-other", "I-person-other", "O", "B-product-other"]]),
):
    scores = [package.f1_score(right, found) for package in (kashgari, seqeval.metrics)]
    parts.append(f"{name}: {scores[0]:.2f}, seqeval {scores[1]:.2f}")
print(f"kashgari {importlib.metadata.version('kashgari')}, F1 {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "kashgari 2.0.2, F1 types swapped: 1.00, seqeval 0.00; two entities in one: 1.00, seqeval 0.57"
