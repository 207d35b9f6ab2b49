#!/usr/bin/env bash
# The loss of pytorch-partial-crf is .13 instead of 3.51 for a text alone in its batch, whose scores it overwrites.
#
# Guess before the run: `PartialCRF` of one text is minus the log-probability of all label sequences that agree with the
# known labels, whether the text is in a batch of one or beside a copy of itself.
# Seen: pytorch-partial-crf 0.2.1. In a batch of two the loss is that of an enumeration. In a batch of one the scores of
# labels that are ruled out become -100 in the caller's tensor, before the sum over all sequences reads it: what is
# wrong is in neither sum, and the loss is nearly 0. So training text by text learns hardly anything from a wrong label;
# the last batch of an epoch is often such a one. `restricted_viterbi_decode` changes the scores likewise, so that
# `viterbi_decode` of the same scores is restricted after it.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.14.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    pytorch-partial-crf==0.2.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import itertools

import torch
from pytorch_partial_crf import PartialCRF

torch.manual_seed(0)
torch.set_grad_enabled(False)
crf = PartialCRF(3)
scores = torch.randn(1, 5, 3)
labels = torch.tensor([[0, -1, 1, 2, -1]])


def enumerated():
    totals = [[], []]
    for path in itertools.product(range(3), repeat=5):
        score = crf.start_transitions[path[0]] + crf.end_transitions[path[-1]]
        score = score + sum(scores[0, place, label] for place, label in enumerate(path))
        score = score + sum(crf.transitions[pair] for pair in zip(path, path[1:]))
        totals[0].append(score)
        if all(known in (-1, label) for known, label in zip(labels[0].tolist(), path)):
            totals[1].append(score)
    return (torch.stack(totals[0]).logsumexp(0) - torch.stack(totals[1]).logsumexp(0)).item()


two = crf(scores.repeat(2, 1, 1), labels.repeat(2, 1)).item() / 2
given = scores.clone()
one = crf(given, labels).item()
possible = torch.ones(1, 5, 3, dtype=torch.uint8)
mask = torch.ones(1, 5, dtype=torch.bool)
best = crf.viterbi_decode(scores, mask)[0]
possible[0, :, best[2]] = 0
given_too = scores.clone()
crf.restricted_viterbi_decode(given_too, possible, mask)
later = crf.viterbi_decode(given_too, mask)[0]
print(
    f"pytorch-partial-crf {importlib.metadata.version('pytorch-partial-crf')}: enumerated {enumerated():.2f},",
    f"in a batch of two {two:.2f}, alone {one:.2f}, scores changed {(given != scores).sum().item()} of 15;",
    f"best labels {best}, after a restricted search {later}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-partial-crf 0.2.1: enumerated 3.51, in a batch of two 3.51, alone 0.13, scores changed 4 of\
 15; best labels [0, 0, 0, 1, 0], after a restricted search [0, 1, 2, 1, 1]"
