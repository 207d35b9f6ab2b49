#!/usr/bin/env bash
# Two in three positive pairs that SetFit makes of two texts of a class are a text with itself, and teach nothing.
#
# Guess before the run: the positive pairs of `ContrastiveDataset` are pairs of two different texts of a class, as in
# the paper: one pair for two texts, 28 for eight.
# Seen: setfit 1.2.0. They are combinations with replacement: of two texts a class has three positive pairs, two of
# them a text with itself; of eight 36, eight of them so; with one text in each class all. Their cosine is 1 whatever
# the encoder does, but for dropout. With two texts in each of four classes, and oversampling, the default, 16 of 24
# positive pairs of an epoch, a third of all pairs, are a text with itself.
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


def count(texts, classes):
    labels = [number for number in range(classes) for _ in range(texts)]
    sentences = [f"text {number}" for number in range(len(labels))]
    pairs = list(ContrastiveDataset(sentences, labels, multilabel=False))
    positive = [pair for pair in pairs if pair["label"] == 1.0]
    itself = [pair for pair in positive if pair["sentence_1"] == pair["sentence_2"]]
    return f"{texts} in each of {classes} classes {len(itself)} of {len(positive)} positive pairs of {len(pairs)}"


words = [count(texts, classes) for texts, classes in ((1, 4), (2, 4), (8, 4))]
print(f"setfit {importlib.metadata.version('setfit')}, texts with themselves: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "setfit 1.2.0, texts with themselves: 1 in each of 4 classes 6 of 6 positive pairs of 12; 2 in each of\
 4 classes 16 of 24 positive pairs of 48; 8 in each of 4 classes 89 of 384 positive pairs of 768"
