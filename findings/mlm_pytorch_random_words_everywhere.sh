#!/usr/bin/env bash
# mlm-pytorch and electra-pytorch put random words anywhere in a text, in [CLS] and padding too, not in masked places.
#
# Guess before the run: `random_token_prob=0.1` replaces a tenth of the chosen 15 % by random words, as BERT does: 1.5 %
# of all words, whose originals are to be predicted; [CLS] and padding are left alone.
# Seen: mlm-pytorch 0.1.0, electra-pytorch 0.1.2. The random words are drawn for all places: a tenth of all words
# becomes another, most of them without a loss that would ask for the original, and a tenth of the [CLS] and of the
# padding become words, though both are to be ignored. Electra's generator reads the same. With the 10 % of BERT's paper
# a model learns from texts that are spoiled in six times as many places.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mlm-pytorch==0.1.0 torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    electra-pytorch==0.1.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from electra_pytorch import Electra
from mlm_pytorch import MLM

CLS, MASK = 1, 2


class Model(torch.nn.Module):
    """Keeps what it reads, and says nothing about any word."""

    def __init__(self, *size):
        super().__init__()
        self.size = size

    def forward(self, ids):
        self.read = ids
        return torch.zeros(*ids.shape, *self.size)


options = dict(num_tokens=1000, mask_prob=0.15, random_token_prob=0.1, mask_token_id=MASK, mask_ignore_token_ids=[CLS])
words = []
for package in ("mlm-pytorch", "electra-pytorch"):
    torch.manual_seed(0)
    ids = torch.randint(10, 1000, (500, 100))
    ids[:, 0] = CLS
    ids[:, 90:] = 0
    model = Model(1000)
    if package == "mlm-pytorch":
        MLM(model, **options)(ids)
    else:
        Electra(model, Model(), **options)(ids)
    random = (model.read != ids) & (model.read != MASK)
    shares = [random[places].float().mean() for places in (ids > CLS, ids == CLS, ids == 0)]
    version = importlib.metadata.version(package)
    words.append(f"{package} {version} {' '.join(f'{share:.3f}' for share in shares)}")
print(f"random words in text, [CLS] and padding, for .015, 0, 0: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "random words in text, [CLS] and padding, for .015, 0, 0: mlm-pytorch 0.1.0 0.100 0.106 0.096;\
 electra-pytorch 0.1.2 0.098 0.098 0.096"
