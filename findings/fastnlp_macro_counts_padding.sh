#!/usr/bin/env bash
# A perfect tagger has a macro F1 of .75 in fastNLP where sentences of two lengths share a batch: padding is a tag.
#
# Guess before the run: ClassifyFPreRecMetric(f_type="macro") leaves positions behind `seq_len` out, so that predictions
# which are all right have an F1 of 1, in one batch or two.
# Seen: fastNLP 1.0.1 with torch 2.13.0. Three tags, all predicted right: 1.00 sentence by sentence, .75 in one batch
# that is padded with 0. The padding's number is in the list of tags, with no hit and no fault; it adds nothing to the
# sum of F1s, and one to the number they are divided by. Precision and recall are the same; "micro" is 1.00.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 fastNLP==1.0.1 setuptools==80.8.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from fastNLP import ClassifyFPreRecMetric

tags = torch.tensor([[1, 2, 3, 1], [2, 3, 0, 0]])
lengths = torch.tensor([4, 2])
parts = []
for kind in ("micro", "macro"):
    together, apart = ClassifyFPreRecMetric(f_type=kind), ClassifyFPreRecMetric(f_type=kind)
    together.update(tags, tags, lengths)
    for row, length in zip(tags, lengths):
        apart.update(row[None, :length], row[None, :length], length[None])
    parts.append(f"{kind} F1 padded {together.get_metric()['f']:.2f}, apart {apart.get_metric()['f']:.2f}")
print(f"fastNLP {importlib.metadata.version('fastNLP')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "fastNLP 1.0.1: micro F1 padded 1.00, apart 1.00; macro F1 padded 0.75, apart 1.00"
