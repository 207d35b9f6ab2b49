#!/usr/bin/env bash
# With `similarity="l2"` ColBERT matches words with padding and with punctuation that it masks: its score has no mask.
#
# Guess before the run: The score of a document under "l2" is the same alone and padded in a batch, as it is under
# "cosine".
# Seen: colbert-ai 0.2.22. What is masked, padding and punctuation, has the vector 0, which is at a distance of 1 from
# every word of a query; only the score by cosine is given the mask. A word of the document is nearer only if its cosine
# is above .5. So a document of random words has -11.8 alone and -8.0, the highest that 8 such words can be away, as
# soon as one place of padding stands beside it. A document that matches nothing costs no more than one whose words have
# a cosine of .5 with the query's, and which of two is better depends on the batch.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==5.14.1 numpy==2.4.6 ujson==6.1.0 gitpython==3.2.1 tqdm==4.70.1 bitarray==3.12.3 \
    ninja==1.13.2 python-dotenv==1.2.4 scipy==1.17.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    colbert-ai==0.2.22
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
from types import SimpleNamespace

import torch
from colbert.modeling.colbert import ColBERT


def normalize(vectors):
    return torch.nn.functional.normalize(vectors, dim=-1)


torch.manual_seed(0)
query = normalize(torch.randn(1, 8, 32))
document = normalize(torch.randn(1, 20, 32))
near = normalize(query + 0.25 * torch.randn(1, 8, 32))  # words that are all near the query's
parts = []
for similarity in ("l2", "cosine"):
    config = SimpleNamespace(similarity=similarity, interaction="colbert", total_visible_gpus=0)
    scores = []
    for words in (document, near):
        length = words.shape[1]
        for padding in (0, 1, 10):
            padded = torch.cat([words, torch.zeros(1, padding, 32)], 1)
            mask = (torch.arange(length + padding) < length)[None, :, None]
            scores.append(f"{ColBERT.score(SimpleNamespace(colbert_config=config), query, padded, mask).item():.1f}")
    parts.append(f"{similarity}: unrelated {' '.join(scores[:3])}, near {' '.join(scores[3:])}")
version = importlib.metadata.version("colbert-ai")
print(f"colbert-ai {version}, scores with 0, 1 and 10 places of padding: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "colbert-ai 0.2.22, scores with 0, 1 and 10 places of padding: l2: unrelated -11.8 -8.0 -8.0, near -6.4\
 -6.3 -6.3; cosine: unrelated 2.1 2.1 2.1, near 4.8 4.8 4.8"
