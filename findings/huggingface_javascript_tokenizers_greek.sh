#!/usr/bin/env bash
# Of one tokenizer.json Hugging Face's JavaScript has other ids than its Rust: one ends ΛΟΓΟΣ with ς, one with σ.
#
# Guess before the run: both packages, of the same makers, give the same ids of an uncased BERT's tokenizer.json.
# Seen: @huggingface/tokenizers 0.2.0 (npm), tokenizers 0.23.3. JavaScript lower-cases a capital Σ at the end of a word
# to ς, as Python and so the original BERT do; Rust goes character by character and has σ, so that Greek in capitals is
# [UNK] or has other pieces, with a vocabulary of ordinary text. And JavaScript sets no spaces around the Chinese
# characters beyond 16 bits, which are two units of its strings: 𠮷𠀀 is one unknown word, as is 𠮷x.
# In this project (docs/tokenization.md) Σ and these characters are those of the original.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tokenizers==0.23.3
echo '{"type": "module"}' > "$folder/package.json"
npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --silent @huggingface/tokenizers@0.2.0
cat > "$folder/program.mjs" <<'JAVASCRIPT'
import fs from "fs";
import { Tokenizer } from "@huggingface/tokenizers";

const tokenizer = new Tokenizer(JSON.parse(fs.readFileSync("tokenizer.json")), {});
console.log(JSON.stringify(process.argv.slice(2).map((text) => tokenizer.encode(text).ids)));
JAVASCRIPT
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import json
import subprocess
import sys

from tokenizers import BertWordPieceTokenizer

folder = sys.argv[1]
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "λογος", "𠮷", "𠀀", "x"]
with open(f"{folder}/vocab.txt", "w") as file:
    file.write("\n".join(tokens) + "\n")
tokenizer = BertWordPieceTokenizer(f"{folder}/vocab.txt", lowercase=True, strip_accents=True)
tokenizer.save(f"{folder}/tokenizer.json")
texts = ["λόγος", "ΛΟΓΟΣ", "𠮷𠀀", "𠮷x"]
done = subprocess.run(["node", "program.mjs", *texts], cwd=folder, check=True, capture_output=True, text=True)
words = []
for text, ids in zip(texts, json.loads(done.stdout), strict=True):
    rows = (tokenizer.encode(text).ids, ids)
    words.append(f"{text} {' | '.join(' '.join(tokens[token_id] for token_id in row[1:-1]) for row in rows)}")
print(f"tokenizers {importlib.metadata.version('tokenizers')} | JavaScript: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tokenizers 0.23.3 | JavaScript: λόγος λογος | λογος; ΛΟΓΟΣ [UNK] | λογος; 𠮷𠀀 𠮷 𠀀 | [UNK];\
 𠮷x 𠮷 x | [UNK]"
