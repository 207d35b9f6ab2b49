#!/usr/bin/env bash
# A BERT that small-text trains on two classes says 0.84 of a text that is positive in 70 of 100 cases; of three, 0.70.
#
# Guess before the run: trained until its loss falls no more, a classifier gives a text the frequencies of its labels,
# as the minimum of cross entropy is there: 0.70 and 0.30, with two classes or with a third one that never occurs.
# Seen: small-text 1.4.1 with transformers 4.57.6. Of two classes the loss is binary cross entropy of each logit, whose
# minimum is at logits of log(p / (1 - p)) and of its negative; the probabilities are a softmax of these, which is
# p² / (p² + (1 - p)²): 0.845 for 0.70, 0.988 for 0.90. What is built on them (entropies below which active learning
# stops, BALD) meets a classifier that is surer than it was taught. Nothing is said.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    small-text==1.4.1 transformers==4.57.6 tokenizers==0.22.2 torch==2.13.0 numpy==2.4.6 scikit-learn==1.9.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import numpy as np
import torch
from small_text import TransformerBasedClassification, TransformerModelArguments, TransformersDataset
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

folder = sys.argv[1]
with open(f"{folder}/vocab.txt", "w") as file:
    file.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "film", "good"]))
tokenizer = BertTokenizer(f"{folder}/vocab.txt")
sizes = {"vocab_size": 8, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
rates = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
labels = np.array([1] * 70 + [0] * 30)


def probability(classes):
    torch.manual_seed(0)
    np.random.seed(0)
    config = BertConfig(**sizes, **rates, intermediate_size=32, num_labels=classes)
    BertForSequenceClassification(config).save_pretrained(f"{folder}/model")
    tokenizer.save_pretrained(f"{folder}/model")
    texts = ["a good film"] * len(labels)
    rows = TransformersDataset.from_arrays(
        texts, labels, tokenizer, target_labels=np.arange(classes), max_length=8
    )
    classifier = TransformerBasedClassification(
        TransformerModelArguments(f"{folder}/model"), classes, num_epochs=300, lr=2e-3,
        mini_batch_size=len(labels), device="cpu",
    )
    classifier.fit(rows, validation_set=rows, early_stopping="none", model_selection="none")
    return classifier.predict_proba(rows)[0, 1]


print(
    f"small-text {importlib.metadata.version('small-text')}, positive in 70 of 100 cases:",
    f"of two classes {probability(2):.2f}, of three {probability(3):.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "small-text 1.4.1, positive in 70 of 100 cases: of two classes 0.84, of three 0.70"
