#!/usr/bin/env bash
# Where SHAP masks the beginning of a word, BERT gets another word, not its other pieces: of "unkind" the word "kind".
#
# Guess before the run: `shap.maskers.Text` of a BERT's tokenizer masks pieces, so that the values of a model that is a
# sum of weights of pieces are these weights.
# Seen: shap 0.51.0, transformers 5.23.0. The masker cuts the text itself and leaves it to the model to tokenize again.
# "she was un ##kind" without "un" is "she was [MASK]kind", whose last piece is `kind`, a word of its own with its own
# embedding. To a model with -1 for `##kind` and +1 for `kind` that is +1, though no word of the text is `kind`: SHAP
# has -1.00 for "un", whose weight is 0, and .00 for "kind". With `output_type="token_ids"` it has 0 and -1.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    shap==0.51.0 transformers==5.23.0 tokenizers==0.23.3 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import numpy as np
import shap
from tokenizers import BertWordPieceTokenizer
from transformers import BertTokenizerFast

words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "she", "was", "un", "##kind", "kind"]
with open(f"{sys.argv[1]}/vocab.txt", "w") as file:
    file.write("\n".join(words))
BertWordPieceTokenizer(f"{sys.argv[1]}/vocab.txt").save(f"{sys.argv[1]}/tokenizer.json")
tokenizer = BertTokenizerFast(tokenizer_file=f"{sys.argv[1]}/tokenizer.json")
weights = np.zeros(len(words))
weights[words.index("##kind")], weights[words.index("kind")] = -1, 1


def of_texts(texts):
    return np.array([weights[ids].sum() for ids in tokenizer(list(map(str, texts)))["input_ids"]])


def of_ids(rows):
    return np.array([weights[np.asarray(row, int)].sum() for row in rows])


text = "she was unkind"
parts = []
for output_type, model in (("string", of_texts), ("token_ids", of_ids)):
    masker = shap.maskers.Text(tokenizer, output_type=output_type)
    values = shap.Explainer(model, masker, algorithm="partition")([text])
    pairs = zip(values.data[0], values.values[0], strict=True)
    parts.append(f"{output_type} {', '.join(f'{name.strip()} {value:.2f}' for name, value in pairs if name)}")
masker = shap.maskers.Text(tokenizer)
masked = masker(np.array([True] * 3 + [False] + [True] * 2), text)[0][0]
print(f"shap {importlib.metadata.version('shap')}: {'; '.join(parts)}; masked {tokenizer.tokenize(str(masked))}")
PYTHON
mkdir "$folder/data"
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder/data" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "shap 0.51.0: string she 0.00, was 0.00, un -1.00, kind 0.00; token_ids she 0.00, was 0.00, un 0.00,\
 kind -1.00; masked ['she', 'was', '[MASK]', 'kind']"
