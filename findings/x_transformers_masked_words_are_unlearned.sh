#!/usr/bin/env bash
# x-transformers teaches masked words backward by default: its loss is negative, and right words become unlikely.
#
# Guess before the run: NonAutoregressiveWrapper, which masks words as MaskGIT does and predicts them, has by default
# the weights of simple masked diffusion, which are positive, larger where few words are masked, and brings the cross
# entropy down.
# Seen: x-transformers 2.31.10. The weight is the slope of the schedule over 1 minus its value; the schedule is the
# share of masked words, which falls, so that the slope is -1, and the quotient -1/t is negative, and largest where
# nearly all is masked. So the loss is about -30 at the start and falls: after 400 steps the cross entropy of a masked
# word is above 6, where a guess has 3.0, and no more are predicted than by chance. With
# `use_simple_mdlm_loss_weight=False` all are.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    x-transformers==2.31.10 torch==2.13.0 numpy==2.4.6 einops==0.8.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from x_transformers import Encoder, NonAutoregressiveWrapper, TransformerWrapper

torch.set_num_threads(1)
MASK = 20
parts = []
for name, options in (("default", {}), ("without the weights", {"use_simple_mdlm_loss_weight": False})):
    torch.manual_seed(0)
    texts = (torch.arange(16) + torch.randint(0, 20, (512, 1))) % 20  # each word follows from the others
    layers = Encoder(dim=32, depth=2, heads=2)
    network = TransformerWrapper(num_tokens=21, max_seq_len=16, attn_layers=layers)
    model = NonAutoregressiveWrapper(network, mask_id=MASK, no_replace_prob=0.0, random_token_prob=0.0, **options)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    losses = []
    for _ in range(400):
        losses.append(model(texts[torch.randint(0, 512, (32,))]).loss)
        optimizer.zero_grad()
        losses[-1].backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    masked = texts.clone()
    masked[:, 5] = MASK
    with torch.no_grad():
        scores = network(masked)[:, 5]
    entropy = torch.nn.functional.cross_entropy(scores, texts[:, 5])
    right = (scores.argmax(1) == texts[:, 5]).float().mean()
    signs = "negative" if max(losses) < 0 else "positive" if min(losses) > 0 else "mixed"
    size = "above 6" if entropy > 6 else f"{entropy:.0f}"
    parts.append(f"{name}: {signs} losses, cross entropy {size}, right {right:.1f}")
print(f"x-transformers {importlib.metadata.version('x-transformers')}, after 400 steps: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "x-transformers 2.31.10, after 400 steps: default: negative losses, cross entropy above 6, right 0.1;\
 without the weights: positive losses, cross entropy 0, right 1.0"
