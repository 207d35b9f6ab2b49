#!/usr/bin/env bash
# SetFit's SupConLoss makes all gradients NaN as soon as one text of a batch is the only one of its class.
#
# Guess before the run: a text without another one of its class in the batch counts nothing in
# `setfit.losses.SupConLoss`, as in pytorch-metric-learning's, or is only pushed away.
# Seen: setfit 1.2.0. Its mean over the positives is 0 divided by 0. With two texts in each of two classes the loss is
# finite; with classes 0, 0, 1, 2 it is NaN, and so are the gradients of all texts. With 16 classes and random batches
# of 16, the default, 999 of 1,000 batches have such a text. pytorch-metric-learning leaves these texts out.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    setfit==1.2.0 sentence-transformers==6.2.0 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-metric-learning==2.9.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_metric_learning.losses import SupConLoss as Peer
from setfit.losses import SupConLoss


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.vectors = torch.nn.Parameter(torch.randn(4, 8))

    def forward(self, features):
        return {"sentence_embedding": self.vectors}


words = []
for labels in ([0, 0, 1, 1], [0, 0, 1, 2]):
    labels = torch.tensor(labels)
    encoder = Encoder()
    loss = SupConLoss(encoder)([{}], labels)
    loss.backward()
    missing = int(encoder.vectors.grad.isnan().any(1).sum())
    peer = Peer(0.07)(encoder.vectors, labels)
    words.append(f"{labels.tolist()} {loss:.2f}, gradients of {missing} texts NaN, peer {peer:.2f}")
draws = torch.randint(0, 16, (10000, 16), generator=torch.Generator().manual_seed(0))
alone = (torch.nn.functional.one_hot(draws).sum(1) == 1).any(1).float().mean()
print(f"setfit {importlib.metadata.version('setfit')}: {'; '.join(words)}; batches with such a text {alone:.3f}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "setfit 1.2.0: [0, 0, 1, 1] 7.38, gradients of 0 texts NaN, peer 7.38; [0, 0, 1, 2] nan, gradients of\
 4 texts NaN, peer 4.27; batches with such a text 0.999"
