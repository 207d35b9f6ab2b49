#!/usr/bin/env bash
# `lower_case=True` of tensorflow_text's BertTokenizer rewrites words that the original keeps, so that it
# misses entries of the vocabulary that hold them.
#
# Guess before the run: it does what the original's lower-casing does, `str.lower()` and the removal of
# accents, and finds each of the lower-case words below, which the vocabulary has as they stand.
# Seen: tensorflow_text 2.20.1 finds none of the five. It folds case with compatibility (NFKC_Casefold):
# "ß" becomes "ss", a final sigma "ς" becomes "σ", "²" becomes "2", the ligature "ﬁ" becomes "fi" and "ⅷ"
# becomes "viii". A model that was trained on the original's tokens gets others for such words, and their
# entries of the released vocabularies are never used. FastBertTokenizer does the same.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    tensorflow==2.20.0 tensorflow-text==2.20.1 keras==3.15.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import tensorflow as tf
import tensorflow_text

words = ["straße", "λογος", "m²", "ﬁne", "ⅷ"]
folded = ["strasse", "λογοσ", "m2", "fine", "viii"]
vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *folded]
path = f"{sys.argv[1]}/vocab.txt"
with open(path, "w") as file:
    file.write("\n".join(vocabulary))
tokenizers = [
    tensorflow_text.BertTokenizer(path, lower_case=True, token_out_type=tf.int32),
    tensorflow_text.FastBertTokenizer(
        vocab=vocabulary, lower_case_nfd_strip_accents=True, token_out_type=tf.int32
    ),
]
found = []
for tokenizer in tokenizers:
    ids = tokenizer.tokenize([" ".join(words)]).flat_values.numpy()
    found.append(" ".join(vocabulary[id] for id in ids))
print(f"tensorflow-text {importlib.metadata.version('tensorflow-text')}:", " | ".join(found))
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-text 2.20.1: strasse λογοσ m2 fine viii | strasse λογοσ m2 fine viii"
