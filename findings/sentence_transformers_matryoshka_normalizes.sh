#!/usr/bin/env bash
# In a MatryoshkaLoss of sentence-transformers all vectors have length 1: triplet and margin losses can't be met.
#
# Guess before the run: `MatryoshkaLoss(model, loss, [dim])` with the full dimension alone is the loss that it wraps,
# and with more dimensions its sum for the first units of the vectors.
# Seen: sentence-transformers 6.2.0. The vectors of every dimension, the full one, too, are normalized before the loss
# sees them, and the page does not say so. MultipleNegativesRankingLoss, which takes cosines, is the same. TripletLoss,
# whose margin of 5 is Euclidean, is at least 3 for unit vectors, however good they are: for triplets that are all met
# by far it is 0.00 alone and 3.07 inside. MarginMSELoss compares the teacher's margins with differences of cosines, 2
# at most: with margins of 50 that the model meets exactly it is 0.00 alone and 2,337 inside.
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

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers

logging.disable(logging.CRITICAL)
vocabulary = {"[UNK]": 0} | {f"w{number}": number for number in range(1, 13)}
tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
torch.manual_seed(0)
model = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=16)], device="cpu")
with torch.no_grad():
    weight = model[0].embedding.weight
    weight[1:5] = 5 * torch.nn.functional.normalize(torch.randn(4, 16), dim=1)
    weight[5:9] = weight[1:5] + 0.1 * torch.randn(4, 16)
    weight[9:13] = -weight[1:5]
columns = [[f"w{first + number}" for number in range(4)] for first in (1, 5, 9)]


def value(loss, labels):
    return loss([dict(model.preprocess(texts)) for texts in columns], labels).item()


vectors = [model.encode(texts, convert_to_tensor=True) for texts in columns]
margins = (vectors[0] * (vectors[1] - vectors[2])).sum(1)
words = [f"teacher's margins {margins.mean():.0f}"]
for name, labels in (
    ("MultipleNegativesRankingLoss", torch.zeros(4)),
    ("TripletLoss", torch.zeros(4)),
    ("MarginMSELoss", margins),
):
    loss = getattr(losses, name)(model)
    inside = losses.MatryoshkaLoss(model, loss, [16])
    words.append(f"{name} {value(loss, labels):.2f}, inside {value(inside, labels):.2f}")
print(f"sentence-transformers {importlib.metadata.version('sentence-transformers')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "sentence-transformers 6.2.0: teacher's margins 50; MultipleNegativesRankingLoss 0.00, inside 0.00;\
 TripletLoss 0.00, inside 3.07; MarginMSELoss 0.00, inside 2337.25"
