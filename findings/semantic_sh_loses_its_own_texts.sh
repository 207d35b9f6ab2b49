#!/usr/bin/env bash
# semantic-sh with BERT does not find texts it was given together: 7 of 40, for their padding is read; 256 bits are 64.
#
# Guess before the run: a text's SimHash is its own, so that `find_similar` returns each text that `add_document` was
# given, alone or in a list; a hash of `key_size=256` has 256 bits.
# Seen: semantic-sh 1.4 with torch 2.13.0 and transformers 4.46.3, 40 texts of 5 to 44 words and a small random BERT.
# The texts of one call are padded to the longest and no attention mask is given, so that each hash depends on the
# longest text beside it: of those that were added in one list 20, 16, 10 and 7 are found again with 8, 16, 32 and 256
# bits. The bits are added up in 64-bit integers, and those above the 64th, three quarters of the default hash, are
# lost without a word.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==4.46.3 tokenizers==0.20.3 numpy==1.23.5 fasttext-wheel==0.9.2
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    semantic-sh==1.4
cat > "$folder/program.py" <<'PYTHON'
import contextlib
import importlib.metadata
import io
import sys

import numpy as np
import torch
from semantic_sh import SemanticSimHash
from transformers import BertConfig, BertModel

folder = sys.argv[1]
torch.manual_seed(0)
torch.set_num_threads(1)
words = [f"w{number}" for number in range(200)]
with open(f"{folder}/vocab.txt", "w") as file:
    file.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]) + "\n")
sizes = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
BertModel(BertConfig(vocab_size=205, initializer_range=0.2, **sizes)).save_pretrained(folder)
rng = np.random.default_rng(0)
texts = [" ".join(rng.choice(words, count)) for count in range(5, 45)]
found = []
for size in (8, 16, 32, 256):
    counts = []
    for together in (False, True):
        np.random.seed(0)
        with contextlib.redirect_stdout(io.StringIO()):
            hashes = SemanticSimHash(folder, key_size=size, dim=64)
        for batch in [texts] if together else [[text] for text in texts]:
            hashes.add_document(batch)
        counts.append(sum(text in hashes.find_similar(text) for text in texts))
    values = hashes.get_hash(texts)
    longest = max((int(value) % 2**64).bit_length() for value in values)
    found.append(f"{size} bits {counts[0]} and {counts[1]}, the longest hash has {longest}")
print(
    f"semantic-sh {importlib.metadata.version('semantic-sh')}, found of 40 texts that were added alone and together:",
    "; ".join(found),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "semantic-sh 1.4, found of 40 texts that were added alone and together: 8 bits 40 and 20, the longest\
 hash has 8; 16 bits 40 and 16, the longest hash has 16; 32 bits 40 and 10, the longest hash has 32;\
 256 bits 40 and 7, the longest hash has 64"
