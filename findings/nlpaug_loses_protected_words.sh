#!/usr/bin/env bash
# Names that nlpaug is to leave as they are, its `stopwords`, are [UNK] in the texts that a BERT augments.
#
# Guess before the run: of `ContextualWordEmbsAug(stopwords=["Ada", "Lovelace"])`, words "which will be skipped", both
# are in all of 20 augmented texts.
# Seen: nlpaug 1.1.11, transformers 4.57.3, PyTorch 2.13.0. "Ada" is in all, as it is a piece of the vocabulary;
# "Lovelace", two pieces, in none: it is [UNK]. The words are taken out before the tokenizer and put back whole among
# its pieces, which then become ids. With an uncased model every name with a capital is lost, "Ada" too. Without
# protection each name is in 19 of 20 texts, as one word of seven is chosen.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    nlpaug==1.1.11 transformers==4.57.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import random
import sys

import nlpaug.augmenter.word as naw
import numpy as np
import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

text = "today Ada Lovelace wrote a long program"
pieces = ["Ada", "Love", "##lace", "today", "wrote", "a", "long", "short", "program", "letter"]
parts = []
for is_cased in (True, False):
    path = f"{sys.argv[1]}/bert-{'cased' if is_cased else 'uncased'}"
    torch.manual_seed(0)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(piece if is_cased else piece.lower() for piece in pieces)]
    with open(f"{sys.argv[1]}/vocab.txt", "w") as file:
        file.write("\n".join(words))
    BertTokenizer(f"{sys.argv[1]}/vocab.txt", do_lower_case=not is_cased).save_pretrained(path)
    settings = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    BertForMaskedLM(BertConfig(vocab_size=len(words), hidden_size=16, **settings)).save_pretrained(path)
    random.seed(0)
    np.random.seed(0)
    for stopwords in (None, ["Ada", "Lovelace"]):
        augmenter = naw.ContextualWordEmbsAug(path, "bert", aug_max=1, stopwords=stopwords)
        texts = [augmenter.augment(text)[0] for _ in range(20)]
        counts = [sum(word in text.lower() for text in texts) for word in ("ada", "lovelace")]
        kept = "protected" if stopwords else "not protected"
        parts.append(f"{'cased' if is_cased else 'uncased'}, {kept}: Ada {counts[0]}, Lovelace {counts[1]}")
print(f"nlpaug {importlib.metadata.version('nlpaug')}, of 20: {'; '.join(parts)}")
PYTHON
mkdir "$folder/data"
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder/data" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "nlpaug 1.1.11, of 20: cased, not protected: Ada 19, Lovelace 19; cased, protected: Ada 20, Lovelace 0;\
 uncased, not protected: Ada 19, Lovelace 19; uncased, protected: Ada 0, Lovelace 0"
