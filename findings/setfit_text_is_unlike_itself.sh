#!/usr/bin/env bash
# SetFit teaches a text that has none of several labels to be unlike itself: it is a negative pair with itself.
#
# Guess before the run: of texts with several labels `ContrastiveDataset(..., multilabel=True)` makes positive pairs of
# different texts that share a label, and negative pairs of others; two texts that have no label are alike, or no pair.
# Seen: setfit 1.2.0. Pairs include each text with itself, and a pair is positive only if a label is 1 in both. So a
# text with the labels [0, 0] is a negative pair with itself, with the target 0.0 for a cosine that is 1, and with all
# other texts without a label: of ten texts, five without labels, 15 of the 40 negative pairs are of this kind, five of
# them of a text with itself. With labels everywhere none is. Texts without any label, as the harmless ones among toxic
# comments, are driven apart from each other.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    setfit==1.2.0 sentence-transformers==6.2.0 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from setfit.sampler import ContrastiveDataset


def count(labels):
    texts = [f"text {number}" for number in range(len(labels))]
    data = ContrastiveDataset(texts, labels, multilabel=True, sampling_strategy="unique")
    negative = [pair for pair in data if pair["label"] == 0.0]
    empty = {text for text, label in zip(texts, labels) if not any(label)}
    both = [pair for pair in negative if {pair["sentence_1"], pair["sentence_2"]} <= empty]
    itself = [pair for pair in negative if pair["sentence_1"] == pair["sentence_2"]]
    return f"{len(negative)} negative pairs, {len(both)} of two without labels, {len(itself)} of a text with itself"


version = importlib.metadata.version("setfit")
half = [[0, 0]] * 5 + [[1, 0]] * 5
full = [[0, 1]] * 5 + [[1, 0]] * 5
print(f"setfit {version}, five of ten texts without labels: {count(half)}; all with labels: {count(full)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "setfit 1.2.0, five of ten texts without labels: 40 negative pairs, 15 of two without labels, 5 of a\
 text with itself; all with labels: 25 negative pairs, 0 of two without labels, 0 of a text with itself"
