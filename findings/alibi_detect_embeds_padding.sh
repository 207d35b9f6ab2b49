#!/usr/bin/env bash
# alibi-detect finds a drift in texts because one is long: its "last_hidden_state" is a mean that counts padding.
#
# Guess before the run: TransformerEmbedding with "last_hidden_state" or "hidden_state" has the mean of a text's tokens,
# so that a text has one vector in every batch; of 100 and 100 texts drawn alike MMDDrift finds no drift, though one
# more text is long.
# Seen: alibi-detect 0.13.0 with transformers 4.57.6. Vectors of a text alone and beside a long one have a cosine of
# .97; with one text of 60 tokens among those of 4 to 12 the p-value is 0. With "pooler_output" the vectors agree and
# there is no drift. The mean is over all positions of the batch, whatever attention_mask says.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    alibi-detect==0.13.0 transformers==4.57.6 torch==2.13.0 numpy==1.26.4
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import numpy as np
import torch
import transformers
from alibi_detect.cd.pytorch.mmd import MMDDriftTorch
from alibi_detect.models.pytorch.embedding import TransformerEmbedding

torch.manual_seed(0)
np.random.seed(0)
sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
transformers.BertModel(transformers.BertConfig(vocab_size=100, **sizes)).save_pretrained(f"{sys.argv[1]}/model")


def texts(count, *more):
    lengths = [*torch.randint(4, 13, [count]).tolist(), *more]
    rows = [torch.randint(5, 100, [length]) for length in lengths]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


def vectors(model, ids):
    with torch.no_grad():
        return model({"input_ids": ids, "attention_mask": (ids != 0).long()}).numpy()


first, second, beside = texts(100), texts(100), texts(100, 60)
same = torch.nn.functional.pad(first[:1], [0, 60])
parts = []
for kind in ("pooler_output", "last_hidden_state"):
    model = TransformerEmbedding(f"{sys.argv[1]}/model", kind).eval()
    alone, padded = vectors(model, first[:1])[0], vectors(model, same)[0]
    cosine = alone @ padded / np.linalg.norm(alone) / np.linalg.norm(padded)
    detector = MMDDriftTorch(vectors(model, first), n_permutations=200)
    p = [float(detector.predict(vectors(model, ids))["data"]["p_val"]) for ids in (second, beside)]
    parts.append(f"{kind}: cosine {cosine:.2f}, p {p[0]:.2f}, with a long one {p[1]:.2f}")
print(f"alibi-detect {importlib.metadata.version('alibi-detect')}; {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "alibi-detect 0.13.0; pooler_output: cosine 1.00, p 0.65, with a long one 0.60; last_hidden_state:\
 cosine 0.97, p 0.55, with a long one 0.00"
