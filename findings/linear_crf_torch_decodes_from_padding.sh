#!/usr/bin/env bash
# The tags that linear-crf-torch finds for a sentence depend on its padding: with one word of it 148 of 500 are others.
#
# Guess before the run: `LinearCRF.decode(emissions, mask)` returns the best tags of a sentence, whatever the length of
# the batch that it is in.
# Seen: linear-crf-torch 0.0.1. 500 sentences of four words, five tags. Alone all of them get the best of all 625 tag
# sequences. With a padding of one word 148 of them get another one, with four words 25. The way back over the padding
# takes steps by the scores of the padding, and begins the sentence with what it finds there, instead of the best last
# tag; only the last tag itself is put right. The loss is the same with padding and without.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    linear-crf-torch==0.0.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import itertools

import torch
from linear_crf.linear_crf import LinearCRF

torch.manual_seed(0)
crf = LinearCRF(5, batch_first=True)
torch.nn.init.normal_(crf.transitions)
paths = torch.tensor(list(itertools.product(range(5), repeat=4)))
counts = {0: 0, 1: 0, 4: 0}
losses = 0.0
for _ in range(500):
    scores = torch.randn(1, 4, 5)
    totals = scores[0, torch.arange(4), paths].sum(1) + crf.starts[paths[:, 0]] + crf.ends[paths[:, -1]]
    totals = totals + crf.transitions[paths[:, :-1], paths[:, 1:]].sum(1)
    best = paths[totals.argmax()].tolist()
    for padding in counts:
        padded = torch.cat([scores, torch.zeros(1, padding, 5)], 1)
        mask = torch.arange(4 + padding)[None] < 4
        counts[padding] += crf.decode(padded, mask)[0] != best
        labels = torch.zeros(1, 4 + padding, dtype=torch.long)
        losses = max(losses, (crf(padded, labels, mask) - crf(scores, labels[:, :4])).abs().item())
words = [f"{padding} words of padding {count}" for padding, count in counts.items()]
print(
    f"linear-crf-torch {importlib.metadata.version('linear-crf-torch')}: of 500 sentences other than the best:",
    f"{', '.join(words)}; losses differ by {losses:.3f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "linear-crf-torch 0.0.1: of 500 sentences other than the best: 0 words of padding 0, 1 words of\
 padding 148, 4 words of padding 25; losses differ by 0.000"
