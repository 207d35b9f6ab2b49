#!/usr/bin/env bash
# The CNN module of sentence-transformers reads padding: a text's vector depends on the longest text of its batch.
#
# Guess before the run: a model of word vectors, `CNN` and `Pooling` encodes a text to the same vector alone and beside
# a longer one, as models of a BERT and `Pooling`, or `LSTM` and `Pooling`, do.
# Seen: sentence-transformers 6.2.0. The convolution has no mask: at the end of a text its kernels of 3 and 5 words
# reach into the vectors of the padding, and into zeros where the text is the longest. The vector of a text of three
# words has a cosine of .92 to itself when a text of nine words is beside it; with `LSTM` in its place it is 1.00. So
# vectors of a corpus that is indexed in batches are not those of the queries, one at a time.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    sentence-transformers==6.2.0 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import logging

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import CNN, LSTM, Pooling, WordEmbeddings
from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

logging.disable(logging.CRITICAL)
words = [f"w{number}" for number in range(20)]
vectors = np.random.default_rng(0).normal(size=(20, 16)).astype("float32")
texts = ["w3 w4 w5", " ".join(f"w{number}" for number in range(8, 17))]
parts = []
for name, module in (("CNN", CNN(16, 16, [1, 3, 5])), ("LSTM", LSTM(16, 24))):
    torch.manual_seed(0)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, 0, 0.3)
    embeddings = WordEmbeddings(WhitespaceTokenizer(words, stop_words=[]), vectors)
    model = SentenceTransformer(modules=[embeddings, module, Pooling(48)], device="cpu")
    alone = model.encode(texts[:1], convert_to_tensor=True)[0]
    beside = model.encode(texts, convert_to_tensor=True)[0]
    parts.append(f"{name} {torch.nn.functional.cosine_similarity(alone, beside, dim=0):.2f}")
version = importlib.metadata.version("sentence-transformers")
print(f"sentence-transformers {version}, cosine of a text alone and beside a longer one: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "sentence-transformers 6.2.0, cosine of a text alone and beside a longer one: CNN 0.92, LSTM 1.00"
