#!/usr/bin/env bash
# The BERTTokenizer of curated-transformers keeps accents of an uncased BERT, and ends words at spaces only, not lines.
#
# Guess before the run: its BERTTokenizer has the ids of the tokenizer of the checkpoint that it reads, which
# transformers has saved: accents are stripped with lower-casing ("strip_accents": null), words end at any white space.
# Seen: curated-transformers 2.0.1 with transformers 4.57.6, tokenizers.legacy. Where the file says null, as each of an
# uncased BERT does, accents stay, though a comment in the source says that null means what do_lower_case says; and
# "new\nline" and "a\tb" are one unknown word each. So the last word of every line is lost together with the first of
# the next one. (Its AutoTokenizer runs the package tokenizers where a tokenizer.json is found, and has the right ids.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    curated-transformers==2.0.1 curated-tokenizers==2.0.1 transformers==4.57.6 huggingface_hub==0.36.2 \
    torch==2.13.0 fsspec==2025.3.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import pathlib
import sys

import transformers
from curated_transformers.tokenizers.legacy import BERTTokenizer
from fsspec.implementations.local import LocalFileSystem

words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "old", "cafe", "new", "line", "a", "b"]
pathlib.Path(sys.argv[1], "words.txt").write_text("\n".join(words) + "\n")
reference = transformers.BertTokenizer(f"{sys.argv[1]}/words.txt")
reference.save_pretrained(f"{sys.argv[1]}/model")
tokenizer = BERTTokenizer.from_fsspec(fs=LocalFileSystem(), model_path=f"{sys.argv[1]}/model")
parts = []
for text in ("the OLD cafe", "the old café", "the new\nline", "a\tb"):
    pieces = " ".join(tokenizer([text]).pieces[0][1:-1])
    parts.append(f"{text!r}: {pieces}, transformers {' '.join(reference.tokenize(text))}")
print(f"curated-transformers {importlib.metadata.version('curated-transformers')}; {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "curated-transformers 2.0.1; 'the OLD cafe': the old cafe, transformers the old cafe; 'the old café':\
 the old [UNK], transformers the old cafe; 'the new\nline': the [UNK], transformers the new line; 'a\tb': [UNK],\
 transformers a b"
