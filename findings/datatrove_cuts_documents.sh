#!/usr/bin/env bash
# datatrove writes 15 of a document's 1,000 words, and padding for a short one, if a BERT's tokenizer was used before.
#
# Guess before the run: `DocumentTokenizer` writes all tokens of a document, and `TokensCounter` counts them; whether
# transformers' tokenizer has tokenized a batch between its making and `save_pretrained` changes nothing.
# Seen: datatrove 0.10.1, transformers 5.23.0, tokenizers 0.23.3. transformers leaves truncation and padding of its last
# call in the tokenizer, and writes them to tokenizer.json, so that those of fine-tuned BERTs and sentence encoders have
# them. datatrove applies what it finds: fresh, documents have 4 and 1,001 tokens with [SEP]; used with max_length=16
# each has 16, 12 of the short one [PAD], which a language model is then trained on. It counts 16 and 16.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    datatrove==0.10.1 transformers==5.23.0 tokenizers==0.23.3 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import numpy as np
from datatrove.data import Document
from datatrove.pipeline.tokens import DocumentTokenizer, TokensCounter
from tokenizers import BertWordPieceTokenizer
from transformers import BertTokenizerFast

words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "word"]
with open(f"{sys.argv[1]}/vocab.txt", "w") as file:
    file.write("\n".join(words))
BertWordPieceTokenizer(f"{sys.argv[1]}/vocab.txt").save(f"{sys.argv[1]}/made.json")
tokenizer = BertTokenizerFast(tokenizer_file=f"{sys.argv[1]}/made.json")
tokenizer.save_pretrained(f"{sys.argv[1]}/fresh")
tokenizer(["word", "word word"], truncation=True, max_length=16, padding=True)
tokenizer.save_pretrained(f"{sys.argv[1]}/used")
documents = [Document(text=" ".join(["word"] * number), id=str(number)) for number in (3, 1000)]
parts = []
for name in ("fresh", "used"):
    path, out = f"{sys.argv[1]}/{name}/tokenizer.json", f"{sys.argv[1]}/{name}_tokens"
    DocumentTokenizer(out, path, eos_token="[SEP]", shuffle_documents=False, save_filename="text").run(documents)
    ids = np.fromfile(f"{out}/text_00000_unshuffled.ds", np.uint16)
    counts = [document.metadata["token_count"] for document in TokensCounter(path).run(documents)]
    found = ", ".join(f"{(ids == words.index(word)).sum()} {word}" for word in ("word", "[SEP]", "[PAD]"))
    parts.append(f"{name} {found}, counted {counts}")
print(f"datatrove {importlib.metadata.version('datatrove')}: {'; '.join(parts)}")
PYTHON
mkdir "$folder/data"
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder/data" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "datatrove 0.10.1: fresh 1003 word, 2 [SEP], 0 [PAD], counted [5, 1002]; used 18 word, 2 [SEP],\
 12 [PAD], counted [16, 16]"
