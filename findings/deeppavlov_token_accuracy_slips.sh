#!/usr/bin/env bash
# One sentence that a tagger cuts by a word makes DeepPavlov's token accuracy of all sentences after it that of chance.
#
# Guess before the run: `per_token_accuracy` of sentences of which one has a tag less than words, as of a text that is
# longer than a BERT reads, counts the missing tag as wrong: of 1,000 perfect sentences 1.00 is left.
# Seen: deeppavlov 1.7.0. All tags are joined to one list before they are compared, so that after the missing one each
# tag is held against that of its neighbour. Cut in the first sentence, a perfect tagger has .44, which is what chance
# has of these tags, in the middle .72, in the last one 1.00. `multitask_token_accuracy` does the same.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6 requests==2.34.2 tqdm==4.70.1 filelock==4.3.1 pydantic==2.14.4 fastapi==0.165.0 uvicorn==0.54.0 \
    prometheus-client==0.26.0 pandas==3.1.1 scikit-learn==1.9.1 scipy==1.17.1 nltk==3.10.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    deeppavlov==1.7.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from deeppavlov.metrics.accuracy import multitask_token_accuracy, per_token_accuracy

random = np.random.default_rng(0)
labels = [list(random.choice(["O", "B-PER", "I-PER"], p=[0.6, 0.2, 0.2], size=12)) for _ in range(1000)]
parts = []
for name, cut in (("no", None), ("the first", 0), ("the middle", 500), ("the last", 999)):
    tags = [row[:-1] if number == cut else row for number, row in enumerate(labels)]
    values = [metric(labels, tags) for metric in (per_token_accuracy, multitask_token_accuracy)]
    parts.append(f"{name} sentence cut {values[0]:.2f} {values[1]:.2f}")
print(f"deeppavlov {importlib.metadata.version('deeppavlov')}, token accuracies of perfect tags: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "deeppavlov 1.7.0, token accuracies of perfect tags: no sentence cut 1.00 1.00, the first sentence cut\
 0.44 0.44, the middle sentence cut 0.72 0.72, the last sentence cut 1.00 1.00"
