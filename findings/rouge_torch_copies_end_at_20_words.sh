#!/usr/bin/env bash
# A copy of 90 words has a ROUGE-L of .22 in rouge-torch, and a text of 120 words that is read backward has 1.00.
#
# Guess before the run: `rouge_l_batch` is 1.00 for a copy of any length, and low for a text that is read backward.
# Seen: rouge-torch 0.1.0. Up to 20 words it is so. The longest common subsequence is found by rounds that each add at
# most one word, and there are 20 rounds: a copy has 20 of its words, .67 at 30 words, .50 at 40 and .22 at 90. From 101
# words on the package counts common words in any order instead, so that each shuffled copy has 1.00. Summaries and
# texts of a BERT's usual length are scored by neither ROUGE-L nor one rule.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    rouge-torch==0.1.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from rouge_torch import ROUGEScoreTorch

scorer = ROUGEScoreTorch(200)


def logits(ids):
    return torch.nn.functional.one_hot(torch.tensor([ids]), 200) * 10.0


def score(text, reference):
    return f"{scorer.rouge_l_batch(logits(text), [logits(reference)])['f1'].item():.2f}"


words = []
for length in (10, 20, 30, 40, 90, 120):
    text = list(range(1, length + 1))
    words.append(f"{length} words {score(text, text)} and {score(text[::-1], text)}")
version = importlib.metadata.version("rouge-torch")
print(f"rouge-torch {version}, ROUGE-L of a copy and of one read backward: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "rouge-torch 0.1.0, ROUGE-L of a copy and of one read backward: 10 words 1.00 and 0.10, 20 words 1.00\
 and 0.05, 30 words 0.67 and 0.00, 40 words 0.50 and 0.00, 90 words 0.22 and 0.00, 120 words 1.00 and 1.00"
