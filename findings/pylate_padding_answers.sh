#!/usr/bin/env bash
# In PyLate padding answers the query: a long document in the list lifts a document whose tokens say the contrary.
#
# Guess before the run: `rank.rerank` gives a document the score of ColBERT, the sum of the greatest similarities of the
# query's tokens with its own, whatever other documents are in the list; and a mask of documents leaves tokens out.
# Seen: PyLate 1.6.0 on a CPU. Documents a and b have the scores .0 and .4. Beside a document of three tokens, in the
# same list, a has .8 and is before b: they are padded with zeros, which are more similar than any token of a negative
# similarity. The same with the argument documents_mask of colbert_scores, which training uses: similarities are
# multiplied by the mask, so that what is masked has a similarity of 0.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pylate==1.6.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pylate import rank, scores

query = torch.eye(4)
long = torch.tensor([[0.1] * 4] * 3)
documents = {"a": torch.tensor([[0.8, -0.4, -0.2, -0.2]]), "b": torch.tensor([[0.1] * 4]), "long": long}
parts = []
for names in (["a", "b"], ["a", "b", "long"]):
    embeddings = [documents[name] for name in names]
    found = rank.rerank(documents_ids=[names], queries_embeddings=[query], documents_embeddings=[embeddings])[0]
    parts.append(", ".join(f"{row['id']} {row['score'] + 0:.1f}" for row in found))
padded = torch.cat([documents["a"], torch.full([2, 4], 9.0)])[None]
mask = torch.tensor([[1.0, 0.0, 0.0]])
masked = scores.colbert_scores(query[None], padded, documents_mask=mask).item()
print(f"pylate {importlib.metadata.version('pylate')}: {parts[0]}; {parts[1]}; a, masked {masked:.1f}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pylate 1.6.0: b 0.4, a 0.0; a 0.8, b 0.4, long 0.4; a, masked 0.8"
