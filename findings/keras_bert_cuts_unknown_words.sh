#!/usr/bin/env bash
# keras-bert cuts an unknown word into known pieces around [UNK]: "unxable" is un [UNK] ##able, and BERT's is [UNK].
#
# Guess before the run: the Tokenizer of keras-bert makes the ids of BERT's own tokenizer, for which a word that can't
# be cut into known pieces as a whole is one [UNK].
# Seen: keras-bert 0.89.0. It goes on after a letter that is in no piece: "unxable" is un [UNK] ##able, and a word of a
# foreign script is an [UNK] for each letter, so that "zzz" is three. The package tokenizers has one [UNK] for each of
# them. Names, words in other scripts and typing errors have another length and other neighbours than a model was
# trained with, and texts of many of them are cut sooner.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tf-keras==2.20.1 numpy==2.4.6 tokenizers==0.23.3
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    keras-bert==0.89.0 keras-transformer==0.40.0 keras-pos-embd==0.13.0 keras-multi-head==0.29.0 \
    keras-layer-normalization==0.16.0 keras-position-wise-feed-forward==0.8.0 keras-embed-sim==0.10.0 \
    keras-self-attention==0.51.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from keras_bert import Tokenizer
from tokenizers import BertWordPieceTokenizer

words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##able", "want", "##ed", "the", "cat", "z"]
texts = ["wanted the cat", "unxable", "wantßed", "zzz", "Ωmega"]
ours = Tokenizer({word: index for index, word in enumerate(words)})
theirs = BertWordPieceTokenizer({word: index for index, word in enumerate(words)})
parts = []
for text in texts:
    rows = [ours.encode(text)[0], theirs.encode(text).ids]
    parts.append(" / ".join(" ".join(words[index] for index in row[1:-1]) for row in rows))
print(f"keras-bert {importlib.metadata.version('keras-bert')} / tokenizers: {'; '.join(parts)}")
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-bert 0.89.0 / tokenizers: want ##ed the cat / want ##ed the cat; un [UNK] ##able / [UNK]; want\
 [UNK] ##ed / [UNK]; z [UNK] [UNK] / [UNK]; [UNK] [UNK] [UNK] [UNK] [UNK] / [UNK]"
