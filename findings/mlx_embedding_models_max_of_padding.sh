#!/usr/bin/env bash
# Max pooling of mlx-embedding-models takes padding for zeros: no unit is below 0, and a text's neighbours change it.
#
# Guess before the run: a model of sentence-transformers that pools by the maximum over the tokens has the same vectors
# in mlx-embedding-models, which is given the attention mask.
# Seen: mlx-embedding-models 0.0.11, MLX 0.32.4 on a CPU. The vectors of padding are multiplied by 0 and take part, so a
# unit that is negative in all words is 0. Texts are padded to 16, 32, … tokens even when they are alone, so hardly any
# text is spared: the cosine with the right vector is 0.64 for one word, 0.97 for ten, and 0.78 for 15 words, which are
# padded to 32 tokens. The mean of the same model is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mlx-embedding-models==0.0.11 mlx==0.32.4 mlx-cpu==0.32.4 transformers==4.57.6 tokenizers==0.22.2 torch==2.13.0 \
    awkward==2.9.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import json
import os
import sys

import numpy as np
import torch
from mlx_embedding_models.embedding import EmbeddingModel
from transformers import BertConfig, BertModel, BertTokenizerFast

path = sys.argv[1]
words = "[PAD] [UNK] [CLS] [SEP] [MASK] good bad film the was".split()
with open(f"{path}/vocab.txt", "w") as file:
    file.write("\n".join(words) + "\n")
tokenizer = BertTokenizerFast(f"{path}/vocab.txt")
tokenizer.save_pretrained(path)
torch.manual_seed(0)
sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
model = BertModel(BertConfig(vocab_size=len(words), initializer_range=0.3, **sizes)).eval()
model.save_pretrained(path)
os.mkdir(f"{path}/1_Pooling")


def mlx_vectors(pooling, texts):
    """Returns the vectors of a model with this pooling, as sentence-transformers describes it."""
    names = ("cls_token", "mean_tokens", "max_tokens")
    with open(f"{path}/1_Pooling/config.json", "w") as file:
        json.dump({f"pooling_mode_{name}": name == pooling for name in names}, file)
    mlx_model = EmbeddingModel.from_pretrained(path)
    return np.asarray(mlx_model.encode(texts, show_progress=False))


def states(text):
    """Returns transformers' last vectors of the tokens of a text."""
    with torch.no_grad():
        return model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]


rows = []
for text in ("good", "the film was " + "bad " * 7, "the film was " + "bad " * 12):
    expected = {"mean_tokens": states(text).mean(0).numpy(), "max_tokens": states(text).amax(0).numpy()}
    row = f"{len(text.split())} words"
    for pooling, right in expected.items():
        (vector,) = mlx_vectors(pooling, [text])
        row += f", {pooling} {right @ vector / np.linalg.norm(right):.2f}"
    rows.append(f"{row}, negative units {(right < 0).mean():.2f} and {(vector < 0).mean():.2f}")
print(f"mlx-embedding-models {importlib.metadata.version('mlx-embedding-models')}:", "; ".join(rows))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mlx-embedding-models 0.0.11: 1 words, mean_tokens 1.00, max_tokens 0.64, negative units 0.39 and 0.00;\
 10 words, mean_tokens 1.00, max_tokens 0.97, negative units 0.19 and 0.00;\
 15 words, mean_tokens 1.00, max_tokens 0.78, negative units 0.44 and 0.00"
