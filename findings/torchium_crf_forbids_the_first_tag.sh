#!/usr/bin/env bash
# The CRF loss of torchium forbids tag 0, which is O in most files: a sentence with one O has a loss of 10,000 or more.
#
# Guess before the run: `CRFLoss(num_tags)` of torchium is the negative log likelihood of tags 0 to n - 1, as in other
# CRFs: it falls below that of chance if a tagger is trained.
# Seen: torchium 0.1.5. It sets the scores of all transitions to and from tag 0 to -10,000, as if it stood for START and
# STOP, but has no such tags: sentences begin and end without a transition. So tag 0 may stand in a sentence of one word
# alone. With O as 0 "O B O" costs 20,000, a gradient of 1 pulls each of these scores, and Adam at a rate of .01 needs a
# million steps. All other sentences share a probability of 1.00, where .21 is right with three equal tags and the
# random transitions that it begins with. With the tags shifted by one, and an unused tag 0, the loss is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torchium==0.1.5 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import itertools

import torch
from torchium.losses import CRFLoss

torch.manual_seed(0)
words, mask = 3, torch.ones(1, 3)


def probabilities(tags, shift):
    """The probability of all sequences without tag 0, and the loss of the sequence O B O."""
    criterion = CRFLoss(tags + shift)
    emissions = torch.zeros(1, words, tags + shift)
    if shift:
        emissions[:, :, 0] = -1e4
    with torch.no_grad():
        free = [row for row in itertools.product(range(tags), repeat=words) if 0 not in row]
        losses = [criterion(emissions, torch.tensor([row]) + shift, mask) for row in free]
        loss = criterion(emissions, torch.tensor([[0, 1, 0]]) + shift, mask).item()
    return f"loss of O B O {loss:.1f}, probability of no O {sum(float((-x).exp()) for x in losses):.2f}"


version = importlib.metadata.version("torchium")
print(f"torchium {version}: O is 0: {probabilities(3, 0)}; O is 1: {probabilities(3, 1)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchium 0.1.5: O is 0: loss of O B O 20001.3, probability of no O 1.00; O is 1: loss of O B O 2.3,\
 probability of no O 0.21"
