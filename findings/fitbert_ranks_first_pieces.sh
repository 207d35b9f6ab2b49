#!/usr/bin/env bash
# FitBERT ranks words by their first piece: "unkind", "unfair" and "un" are equally likely, in the order they came in.
#
# Guess before the run: `rank` gives a word that BERT's vocabulary has in pieces the probability of all its pieces, as
# it does for options of several words, so that three words are ranked alike in whatever order they are given.
# Seen: fitbert 0.10.0 with torch 2.13.0 and transformers 5.23.0, a random BERT. Only options with a space are scored
# by all their tokens; of a single word the first piece is looked up at one [MASK] and the others are left out.
# "unkind", "unfair" and "unhappy" have .0546, as "un", and stay in the order of the list; by all pieces the last is
# first. A rare word is so as probable as its beginning.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==5.23.0 tokenizers==0.23.3 pyfunctional==1.5.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    fitbert==0.10.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import torch
from fitbert import FitBert
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

words = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "he",
    "was",
    "very",
    "to",
    "her",
    "kind",
    "un",
    "##kind",
    "##fair",
]
with open(f"{sys.argv[1]}/vocab.txt", "w") as file:
    file.write("\n".join([*words, "##happy", "cruel", "fair"]))
tokenizer = BertTokenizer.from_pretrained(sys.argv[1])
torch.manual_seed(0)
sizes = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
model = BertForMaskedLM(BertConfig(vocab_size=17, initializer_range=0.3, **sizes)).eval()
fitbert = FitBert(model=model, tokenizer=tokenizer, disable_gpu=True)
sentence = "he was ***mask*** to her"
parts = []
for options in (["unkind", "unfair", "unhappy"], ["unhappy", "unkind", "unfair"], ["un", "unkind", "kind"]):
    ranked, chances = fitbert.rank_with_prob(sentence, options)
    best = " ".join(fitbert.rank_multi(sentence, options)[0])
    parts.append(
        f"of {' '.join(options)}: {' '.join(ranked)} {[round(chance, 4) for chance in chances]}, pieces {best}"
    )
print(f"fitbert {importlib.metadata.version('fitbert')} {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "fitbert 0.10.0 of unkind unfair unhappy: unkind unfair unhappy [0.0546, 0.0546, 0.0546], pieces\
 unhappy unfair unkind; of unhappy unkind unfair: unhappy unkind unfair [0.0546, 0.0546, 0.0546],\
 pieces unhappy unfair unkind; of un unkind kind: kind un unkind [0.2345, 0.0546, 0.0546], pieces kind\
 un unkind"
