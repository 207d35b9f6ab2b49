#!/usr/bin/env bash
# A BERT that transformers 5 saves can't be converted by CTranslate2 until a key is added by hand.
#
# Guess before the run: CTranslate2 converts what transformers' `save_pretrained` writes, which its converter
# loads with transformers.
# Seen: CTranslate2 4.8.5 with transformers 5.23.0. AttributeError: 'BertConfig' object has no attribute
# 'position_embedding_type'. transformers 5 dropped the key from its configuration and writes none; the
# converter asks for it without a default. Files of earlier versions, as bert-base-uncased, have the key, which
# is kept as it is read; with "position_embedding_type": "absolute" added by hand the same directory is converted.
# This project writes the key (modeling/checkpoints/huggingface.py).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    ctranslate2==4.8.5 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import json
import pathlib
import sys

import ctranslate2
import transformers
from ctranslate2.converters import TransformersConverter

folder = pathlib.Path(sys.argv[1], "model")
config = transformers.BertConfig(
    vocab_size=30, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
)
transformers.BertModel(config).save_pretrained(folder)
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(chr(97 + number) for number in range(25))]
vocabulary = folder.parent / "vocab.txt"
vocabulary.write_text("\n".join(tokens) + "\n")
transformers.BertTokenizer(str(vocabulary)).save_pretrained(folder)


def convert() -> str:
    try:
        TransformersConverter(str(folder)).convert(str(folder.parent / "converted"), force=True)
    except AttributeError as error:
        return str(error)
    return "converted"


path = folder / "config.json"
written = json.loads(path.read_text())
before = convert()
path.write_text(json.dumps({**written, "position_embedding_type": "absolute"}))
print(
    f"ctranslate2 {ctranslate2.__version__}, transformers {transformers.__version__}:",
    f"key written {'position_embedding_type' in written}; {before}; with the key {convert()}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ctranslate2 4.8.5, transformers 5.23.0: key written False; 'BertConfig' object has no attribute 'position_embedding_type'; with the key converted"
