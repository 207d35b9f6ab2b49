#!/usr/bin/env bash
# mlx-embedding-models takes the first 16 tokens of a text that has 512: the longest texts get the shortest vectors.
#
# Guess before the run: a text that is longer than the model's 512 positions is cut to 512 tokens, as its tokenizer is
# told, and its vector is that of transformers' BERT for these tokens.
# Seen: mlx-embedding-models 0.0.11, MLX 0.32.4 on a CPU. Up to 511 tokens the vectors are transformers'. From 512 on,
# which every longer text has after its cut, the vector is that of the first 16 tokens: the length to pad to is the
# first of a list (16, 32, … 512) that is greater than that of the text, no number is greater than 512, and `argmax` of
# no hit is the first place, 16; padding to it cuts. Long documents that begin alike are one vector, and nothing is
# said.
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
sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
model = BertModel(BertConfig(vocab_size=len(words), initializer_range=0.3, **sizes)).eval()
model.save_pretrained(path)
mlx_model = EmbeddingModel(path, pooling_strategy="mean", normalize=True, max_length=512)


def expected(text, length):
    """Returns transformers' mean of the vectors of the first tokens of a text, of length 1."""
    batch = tokenizer(text, return_tensors="pt")
    batch = {name: values[:, :length] for name, values in batch.items()}
    with torch.no_grad():
        mean = model(**batch).last_hidden_state[0].mean(0).numpy()
    return mean / np.linalg.norm(mean)


rows = []
for size in (100, 511, 512, 2002):
    text = "the film was " + "good " * (size - 5)
    vector = np.asarray(mlx_model.encode([text], show_progress=False))[0]
    whole = tokenizer(text, truncation=True, max_length=512)["input_ids"]
    mean = expected(tokenizer.decode(whole[1:-1]), 512)
    rows.append(f"{size} tokens: whole {np.allclose(vector, mean, atol=1e-4)}, ")
    rows[-1] += f"first 16 {np.allclose(vector, expected(text, 16), atol=1e-4)}"
good, bad = ("the film was " + f"{middle} " * 600 for middle in ("good good good good", "good " * 14 + "bad"))
one, other = np.asarray(mlx_model.encode([good, bad], show_progress=False))
rows.append(f"two long reviews alike: {np.array_equal(one, other)}")
print(f"mlx-embedding-models {importlib.metadata.version('mlx-embedding-models')}:", "; ".join(rows))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mlx-embedding-models 0.0.11: 100 tokens: whole True, first 16 False;\
 511 tokens: whole True, first 16 False;\
 512 tokens: whole False, first 16 True; 2002 tokens: whole False, first 16 True; two long reviews alike: True"
