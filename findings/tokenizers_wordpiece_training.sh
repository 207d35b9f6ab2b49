#!/usr/bin/env bash
# The WordPiece trainer of the package tokenizers makes another vocabulary of the same text in every run.
#
# Guess before the run: the vocabulary is a function of the text, as that of the same package's BPE
# trainer is, on which the WordPiece trainer is built; nothing in it is drawn and it has no seed.
# Seen: tokenizers 0.23.3. Five trainings on 1,000 words, 300 entries each: the BPE trainer makes one
# vocabulary, the WordPiece trainer five, which differ in their entries and not in the numbers alone. Where
# two pairs are equally frequent, the pair with the lower numbers is joined first, and the pieces with "##"
# are numbered in the order of a hash table of the words. A model is lost without its own vocab.txt: a
# second training of the vocabulary does not bring it back.
# The vocabularies of this project are the same in every run (bert_tf/vocabulary/wordpiece_learner.py).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps tokenizers==0.23.3
cat > "$folder/program.py" <<'PYTHON'
import random

import tokenizers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

generator = random.Random(0)
words = ["".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=1 + index % 8)) for index in range(1000)]


def vocabulary(model, trainer):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator([" ".join(words)], trainer)
    return frozenset(tokenizer.get_vocab())


settings = {"vocab_size": 300, "special_tokens": ["[UNK]"], "show_progress": False}
seen = [f"tokenizers {tokenizers.__version__}:"]
for name, model, trainer in (
    ("BPE", models.BPE, trainers.BpeTrainer),
    ("WordPiece", models.WordPiece, trainers.WordPieceTrainer),
):
    found = [vocabulary(model(unk_token="[UNK]"), trainer(**settings)) for _ in range(5)]
    sizes = sorted({len(entries) for entries in found})
    seen.append(f"{name} {len(set(found))} of 5 with {sizes} entries")
print(*seen)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" | tail -1)
echo "$seen"
test "$seen" = "tokenizers 0.23.3: BPE 1 of 5 with [300] entries WordPiece 5 of 5 with [300] entries"
