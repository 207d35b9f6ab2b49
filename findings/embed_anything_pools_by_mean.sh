#!/usr/bin/env bash
# EmbedAnything takes the mean of a sentence encoder whose files say [CLS], as BGE's and GTE's do, and says nothing.
#
# Guess before the run: `from_pretrained_hf` without `pooling`, where "the model's default pooling is used", reads
# 1_Pooling/config.json beside the weights, as sentence-transformers and text-embeddings-inference do.
# Seen: embed-anything 0.7.1, sentence-transformers 6.2.0, a small random BERT with pooling_mode_cls_token in its files.
# The vectors are means over the tokens, whatever the file says: their cosines with those of sentence-transformers are
# .8 here, and 1 with the means by hand. With Pooling.Cls given they are sentence-transformers'. Padding in a
# batch changes nothing.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    embed-anything==0.7.1 sentence-transformers==6.2.0 transformers==5.23.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import json
import os

import embed_anything
import torch
from embed_anything import EmbeddingModel, Pooling
from sentence_transformers import SentenceTransformer
from tokenizers import BertWordPieceTokenizer
from transformers import BertConfig, BertModel, BertTokenizerFast

# A model of the hub, as it lies in the cache of one who has loaded it.
name = f"{os.environ['HF_HOME']}/hub/models--some--encoder"
model = f"{name}/snapshots/{'0' * 40}"
os.makedirs(f"{model}/1_Pooling")
os.makedirs(f"{name}/refs")
with open(f"{name}/refs/main", "w") as file:
    file.write("0" * 40)
words = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat sat on mat a dog ran in big red park".split()
with open(f"{name}/vocab.txt", "w") as file:
    file.write("\n".join(words) + "\n")
tokenizer = BertWordPieceTokenizer(f"{name}/vocab.txt", lowercase=True)
BertTokenizerFast(tokenizer_object=tokenizer._tokenizer).save_pretrained(model)
torch.manual_seed(0)
config = BertConfig(
    vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
    max_position_embeddings=32,
)
BertModel(config).save_pretrained(model)
kinds = {"": "Transformer", "1_Pooling": "Pooling"}
modules = [
    {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
    for number, (path, kind) in enumerate(kinds.items())
]
pooling = {"word_embedding_dimension": 32, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
for path, contents in (
    ("modules.json", modules),
    ("1_Pooling/config.json", pooling),
    ("sentence_bert_config.json", {"max_seq_length": 32, "do_lower_case": False}),
):
    with open(f"{model}/{path}", "w") as file:
        json.dump(contents, file)
texts = ["the cat sat on the mat", "a dog ran", "the big red dog ran in the park"]
reference = SentenceTransformer(model)
right = torch.tensor(reference.encode(texts))
means = torch.stack([rows.mean(0) for rows in reference.encode(texts, output_value="token_embeddings")])
parts = []
for label, chosen in (("none", None), ("Cls", Pooling.Cls)):
    encoder = EmbeddingModel.from_pretrained_hf("some/encoder", pooling=chosen)
    found = torch.tensor([one.embedding for one in embed_anything.embed_query(texts, embedder=encoder)])
    cosines = [torch.cosine_similarity(found, other.cpu()).tolist() for other in (right, means)]
    shown = [" ".join(f"{value:.2f}" for value in values) for values in cosines]
    parts.append(f"pooling {label}: {shown[0]}, with means {shown[1]}")
print(f"embed-anything {importlib.metadata.version('embed-anything')}: {'; '.join(parts)}")
PYTHON
seen=$(HF_HOME="$folder/hub" HF_HUB_OFFLINE=1 "$folder/venv/bin/python" "$folder/program.py" 2> "$folder/log" | tail -1)
echo "$seen"
test "$seen" = "embed-anything 0.7.1: pooling none: 0.82 0.81 0.80, with means 1.00 1.00 1.00; pooling Cls: 1.00 1.00 1.00,\
 with means 0.82 0.81 0.80"
