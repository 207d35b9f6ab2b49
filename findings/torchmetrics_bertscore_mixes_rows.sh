#!/usr/bin/env bash
# BERTScore and InfoLM of TorchMetrics compare texts with the references of other rows, from three rows of a batch on.
#
# Guess before the run: a pair of texts has the same score alone and beside other pairs; the metric sorts texts by
# their length, to pad less, and undoes that.
# Seen: TorchMetrics 1.9.0, transformers 4.57.6, no warning. Texts and references are sorted each by itself, and put
# back by the indices of the sorting instead of their inverse. That is right for two rows and where the order is its
# own inverse; for three rows of lengths 4, 5, 2 beside references of 4, 3, 9 every score is that of another pairing,
# and the mean over the batch with it. One row a batch has the right scores. Texts that equal their references hide it.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torchmetrics==1.9.0 transformers==4.57.6 tokenizers==0.22.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import pathlib
import sys

import torch
from torchmetrics.text.bert import BERTScore
from torchmetrics.text.infolm import InfoLM
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

folder = f"{sys.argv[1]}/model"
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(chr(97 + number) for number in range(26))]
torch.manual_seed(0)
config = BertConfig(
    vocab_size=len(tokens),
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    initializer_range=0.3,
)
BertForMaskedLM(config).save_pretrained(folder)
path = pathlib.Path(folder, "vocab.txt")
path.write_text("\n".join(tokens) + "\n")
BertTokenizer(str(path)).save_pretrained(folder)
texts = ["a b c d", "e f g h i", "p q"]
references = ["a b c e", "e f g", "p q r s t u v w x"]


def bert_score(texts, references):
    return BERTScore(model_name_or_path=folder, num_layers=2, max_length=32)(texts, references)["f1"]


def info_lm(texts, references):
    metric = InfoLM(folder, information_measure="l2_distance", idf=False, return_sentence_level_score=True)
    return metric(texts, references)[1]


def compare(score):
    words = []
    for rows in (3, 2):
        alone = torch.tensor([float(score(texts[row : row + 1], references[row : row + 1])) for row in range(rows)])
        together = score(texts[:rows], references[:rows]).flatten()
        words.append(f"{(alone - together).abs().gt(1e-3).sum()} of {rows}")
    return " and ".join(words)


print(
    f"torchmetrics {importlib.metadata.version('torchmetrics')}: other scores than alone:",
    f"BERTScore {compare(bert_score)}; InfoLM {compare(info_lm)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchmetrics 1.9.0: other scores than alone: BERTScore 3 of 3 and 0 of 2; InfoLM 3 of 3 and 0 of 2"
