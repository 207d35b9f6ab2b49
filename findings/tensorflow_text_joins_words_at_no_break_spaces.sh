#!/usr/bin/env bash
# A cased BertTokenizer of tensorflow_text joins words at no-break spaces, and cuts them where a soft hyphen is.
#
# Guess before the run: with `lower_case=False` it makes the tokens of BERT's own tokenizer, which splits at all white
# space of Unicode and drops what has no width; "this tokenizer will split on whitespace", says its page.
# Seen: tensorflow-text 2.20.1. A no-break space, as in "10 km" and "Dr. Who" of web pages, a thin one and the wide one
# of Japanese are parts of a word: "the cat" with one of them is [UNK]. The regular expression has `\s`, which is ASCII
# in RE2. A soft hyphen or a zero-width joiner becomes a space, so that "wanted" with one in it is "wan" and "ted". With
# `lower_case=True` both are right, for the case folding comes first. FastBertTokenizer splits at the spaces, so that a
# cased BERT has other ids by one tokenizer than by the other.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tensorflow-text==2.20.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import tensorflow_text as text

vocabulary = ["[PAD]", "[UNK]", "the", "cat", "wan", "ted", "wanted"]
path = f"{sys.argv[1]}/vocab.txt"
with open(path, "w", encoding="utf-8") as file:
    file.write("\n".join(vocabulary))
tokenizers = {
    "cased": text.BertTokenizer(path),
    "uncased": text.BertTokenizer(path, lower_case=True),
    "fast cased": text.FastBertTokenizer(vocabulary),
}
texts = ["the cat", "the\u00a0cat", "the\u2009cat", "the\u3000cat", "wan\u00adted", "wan\u200dted"]
parts = []
for name, tokenizer in tokenizers.items():
    pieces = ["+".join(vocabulary[i] for i in tokenizer.tokenize([example]).flat_values.numpy()) for example in texts]
    parts.append(f"{name} {' '.join(pieces)}")
print(f"tensorflow-text {importlib.metadata.version('tensorflow-text')}:", ", ".join(parts))
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-text 2.20.1: cased the+cat [UNK] [UNK] [UNK] wan+ted wan+ted, uncased the+cat the+cat\
 the+cat the+cat wanted wanted, fast cased the+cat the+cat the+cat the+cat wan+ted wan+ted"
