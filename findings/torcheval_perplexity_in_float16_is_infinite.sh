#!/usr/bin/env bash
# One token of 128 whose logit is 20 below the best makes the perplexity of a float16 model infinite in torcheval.
#
# Guess before the run: `perplexity` of float16 logits is that of the same numbers in float32, 1.17 here, up to the
# rounding.
# Seen: torcheval 0.0.7. It takes the softmax first and the logarithm of the probability afterwards, both in the type
# of the logits: a probability of 2e-9 is 0 in float16. A masked LM that is sure of 127 tokens and wrong in one has
# 1.17 in float32 and bfloat16, and infinity in float16, with a gap of 18 already; a `Perplexity` that has seen this
# batch is infinite for the whole evaluation. In bfloat16 it happens at a gap of 102, in float32 at 105.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torcheval==0.0.7 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from torcheval.metrics.functional import perplexity

labels = torch.ones(1, 128, dtype=torch.long)
labels[0, 5] = 2
words = []
for gap in (16.0, 18.0, 20.0, 102.0, 105.0):
    logits = torch.zeros(1, 128, 1000)
    logits[..., 1] = gap
    kinds = (torch.float16, torch.bfloat16, torch.float32)
    values = [perplexity(logits.to(kind), labels) for kind in kinds]
    right = torch.nn.functional.cross_entropy(logits[0], labels[0]).exp()
    words.append(f"{gap:g} below {' '.join(f'{one:.2f}' for one in values)} of {right:.2f}")
version = importlib.metadata.version("torcheval")
print(f"torcheval {version}, one of 128 tokens wrong, float16, bfloat16, float32: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torcheval 0.0.7, one of 128 tokens wrong, float16, bfloat16, float32: 16 below 1.13 1.13 1.13 of\
 1.13; 18 below inf 1.15 1.15 of 1.15; 20 below inf 1.17 1.17 of 1.17; 102 below inf inf 2.22 of 2.22; 105 below inf\
 inf inf of 2.27"
