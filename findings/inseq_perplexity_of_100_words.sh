#!/usr/bin/env bash
# Inseq's perplexity of a model that picks among 100 words is 24: it raises 2 to a cross entropy in nats, not bits.
#
# Guess before the run: The step score "perplexity" is 100 where a model gives each of 100 words a probability of .01:
# "if we have a perplexity of 100, it means that ... it had to pick between 100 words".
# Seen: inseq 0.7.1. Its "crossentropy" is PyTorch's, log 100 = 4.61, and the perplexity is 2 to the power of that:
# 24.3. Of BERT's 30,522 words it is 1,284, and of a model that is nearly sure 1.007 in place of 1.010. A model of one
# package seems to know four times as much as with the loss of another.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    inseq==0.7.1 transformers==4.57.6 captum==0.9.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
from types import SimpleNamespace

import torch
from inseq.attr.step_functions import STEP_SCORES_MAP


def scores(logits):
    model = SimpleNamespace(output2logits=lambda output: output)
    arguments = SimpleNamespace(attribution_model=model, forward_output=logits, target_ids=torch.tensor([0]))
    entropy, perplexity, probability = (
        float(STEP_SCORES_MAP[name](arguments)) for name in ("crossentropy", "perplexity", "probability")
    )
    return f"cross entropy {entropy:.3f}, perplexity {perplexity:.3f}, one by probability {1 / probability:.3f}"


sure = torch.zeros(1, 100)
sure[0, 0] = 9.2
parts = [f"100 words: {scores(torch.zeros(1, 100))}", f"30,522 words: {scores(torch.zeros(1, 30522))}"]
parts.append(f"nearly sure: {scores(sure)}")
print(f"inseq {importlib.metadata.version('inseq')}, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "inseq 0.7.1, 100 words: cross entropy 4.605, perplexity 24.339, one by probability 100.000; 30,522\
 words: cross entropy 10.326, perplexity 1283.799, one by probability 30522.001; nearly sure: cross entropy 0.010,\
 perplexity 1.007, one by probability 1.010"
