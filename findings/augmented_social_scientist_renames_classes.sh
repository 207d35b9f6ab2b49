#!/usr/bin/env bash
# AugmentedSocialScientist numbers classes anew for each file: one class more in the test renames others; no shuffling.
#
# Guess before the run: `encode` gives a class the same number in the training and the test data, so that two classes
# which are learnt perfectly are found perfectly if the test has texts of a third one; the training batches are
# shuffled, as in BERT's own code.
# Seen: augmentedsocialscientist 3.0.0 with torch 2.13.0 and transformers 4.46.3, three classes of own words and a
# small BERT. Numbers are given by the alphabetical order of the labels of each call: with two texts of "culture" in
# the test, "sport" is number 2 there, 1 in training, and has a recall of 0. Training texts are read in the order of
# the file in each epoch: in the order of the classes only the last one is found (recalls 0, 0, 1), shuffled by hand
# all are.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==4.46.3 tokenizers==0.20.3 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 \
    sentencepiece==0.2.3
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    augmentedsocialscientist==3.0.0
cat > "$folder/program.py" <<'PYTHON'
import contextlib
import importlib.metadata
import io
import os
import pathlib
import random
import sys

import torch
from augmentedsocialscientist.models import Bert
from transformers import BertConfig, BertModel

torch.manual_seed(0)
torch.set_num_threads(1)
random.seed(0)
folder = pathlib.Path(sys.argv[1])
os.chdir(folder)
words = [f"w{number}" for number in range(150)]
(folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]) + "\n")
sizes = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
BertModel(BertConfig(vocab_size=155, hidden_dropout_prob=0.0, **sizes)).save_pretrained(folder)
places = {"business": 0, "culture": 50, "sport": 100}


def data(counts):
    names = [name for name, count in counts.items() for _ in range(count)]
    return [" ".join(random.choices(words[places[name] : places[name] + 50], k=8)) for name in names], names


def run(train, test):
    with contextlib.redirect_stdout(io.StringIO()):
        model = Bert(str(folder), device=torch.device("cpu"))
        loaders = [model.encode(*part, batch_size=16, progress_bar=False) for part in (train, test)]
        precision, recall, f1, support = model.run_training(*loaders, n_epochs=3, lr=0.002)
    return ", ".join(f"{name} {recall[number]:.2f}" for number, name in enumerate(sorted(set(test[1]))))


def shuffled(part):
    return tuple(zip(*random.sample(list(zip(*part)), len(part[0]))))


ordered = data({"business": 200, "culture": 200, "sport": 200})
test = data({"business": 50, "culture": 50, "sport": 50})
two = shuffled(data({"business": 200, "sport": 200}))
rare = data({"business": 50, "culture": 2, "sport": 50})
print(
    f"augmentedsocialscientist {importlib.metadata.version('augmentedsocialscientist')}, recalls of three classes:",
    f"shuffled by the user {run(shuffled(ordered), test)}; a file in the order of classes {run(ordered, test)};",
    f"if two are trained: test with these {run(two, data({'business': 50, 'sport': 50}))};",
    f"test with two texts of a third {run(two, rare)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "augmentedsocialscientist 3.0.0, recalls of three classes: shuffled by the user business 1.00, culture\
 1.00, sport 1.00; a file in the order of classes business 0.00, culture 0.00, sport 1.00; if two are\
 trained: test with these business 1.00, sport 1.00; test with two texts of a third business 1.00,\
 culture 0.50, sport 0.00"
