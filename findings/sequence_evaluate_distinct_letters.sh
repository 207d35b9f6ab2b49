#!/usr/bin/env bash
# sequence-evaluate's Distinct-1 and -2 count letters: 320 different words have 0.011, and one word 320 times 0.003.
#
# Guess before the run: Distinct-n is the share of different n-grams of words among all of the generated texts (Li et
# al. 2016), 1 for texts without a repeated word, and one n-th for a word that is there n times.
# Seen: sequence-evaluate 0.0.3 with sentence-transformers 6.2.0 (a small random model stands where it loads MiniLM,
# for its cosines are not used). Texts are counted as strings, so that the n-grams are characters, spaces among them:
# the scores fall with the number of letters, 320 different words look as repetitive as eight words 40 times, and no
# text comes near to 1.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==5.23.0 tokenizers==0.23.3 sentence-transformers==6.2.0 numpy==2.4.6 \
    scikit-learn==1.9.1 scipy==1.17.1 nltk==3.10.4 rouge==1.0.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    sequence-evaluate==0.0.3
cat > "$folder/program.py" <<'PYTHON'
import contextlib
import importlib.metadata
import io
import os
import pathlib
import random
import sys

from sentence_transformers import SentenceTransformer, models
from transformers import BertConfig, BertModel, BertTokenizerFast

os.chdir(sys.argv[1])
folder = pathlib.Path(sys.argv[1]) / "bert"
BertModel(BertConfig(vocab_size=5, hidden_size=16, num_hidden_layers=1, num_attention_heads=1)).save_pretrained(folder)
(folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
SentenceTransformer(modules=[models.Transformer(str(folder)), models.Pooling(16)]).save("all-MiniLM-L6-v2")
from seq_eval import SeqEval  # noqa: E402

random.seed(0)
middles = ("ala", "ene", "oro", "ulu", "iki")
words = [first + middle + last for first in "bcdfghjk" for middle in middles for last in "klmnprst"]
texts = {
    "320 different words": [" ".join(words[place : place + 8]) for place in range(0, 320, 8)],
    "8 words 40 times": [" ".join(words[:8])] * 40,
    "one word 320 times": [" ".join(words[:1] * 8)] * 40,
    "one text of 10 words": [" ".join(words[::32])],
}
found = []
for name, candidates in texts.items():
    with contextlib.redirect_stdout(io.StringIO()):
        result = SeqEval().evaluate(candidates, candidates, verbose=False)
    tokens = [word for text in candidates for word in text.split()]
    kinds = [set(text.split()) for text in candidates]
    share = len(set(tokens)) / len(tokens)
    own = sum(len(kind) / len(text.split()) for kind, text in zip(kinds, candidates)) / len(kinds)
    found.append(f"{name} {result['inter_dist1']:.3f} {result['intra_dist1']:.2f} ({share:.3f} {own:.2f})")
print(
    f"sequence-evaluate {importlib.metadata.version('sequence-evaluate')}, Distinct-1 over all texts and within them",
    "and those of words:",
    "; ".join(found),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "sequence-evaluate 0.0.3, Distinct-1 over all texts and within them and those of words: 320 different\
 words 0.011 0.23 (1.000 1.00); 8 words 40 times 0.006 0.23 (0.025 1.00); one word 320 times 0.003 0.11\
 (0.003 0.12); one text of 10 words 0.288 0.29 (1.000 1.00)"
