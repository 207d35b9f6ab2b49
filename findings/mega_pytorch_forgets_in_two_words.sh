#!/usr/bin/env bash
# The moving average of Mega-pytorch forgets in two words where Mega keeps twenty: its decay is (1 - a) d, not 1 - a d.
#
# Guess before the run: MultiHeadedEMA is the damped average of the paper, y = a x + (1 - a d) y of the word before:
# with a=.1 and d=.5 a word keeps .95 of its weight from place to place.
# Seen: Mega-pytorch 0.1.0. The factor is (1 - a) d = .45. Of a word that weighs .100 at first .045 is left after one
# place, .002 after five and nothing after twenty, where the paper's average has .095, .077 and .036. Without damping (d
# = 1) both are the same, so that damping, which is there to make the average remember longer than 1 - a, makes it
# forget sooner.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mega-pytorch==0.1.0 torch==2.13.0 numpy==2.4.6 einops==0.8.2 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from mega_pytorch.mega_pytorch import MultiHeadedEMA

layer = MultiHeadedEMA(dim=1, heads=1)
parts = []
for alpha, damping in ((0.1, 0.5), (0.1, 0.999999)):
    with torch.no_grad():
        layer.expansion.fill_(1.0)
        layer.reduction.fill_(1.0)
        layer.alphas.copy_(torch.logit(torch.tensor([alpha])))
        layer.dampen_factors.copy_(torch.logit(torch.tensor([damping])))
        text = torch.zeros(1, 64, 1)
        text[0, 0] = 1.0  # one word, and what is left of it at later places
        left = layer(text)[0, :, 0]
    paper = [alpha * (1 - alpha * damping) ** place for place in range(64)]
    words = [f"{place}: {left[place] + 0.0:.3f} for {paper[place]:.3f}" for place in (0, 1, 5, 20)]
    parts.append(f"d={damping:.1f} {', '.join(words)}")
version = importlib.metadata.version("mega-pytorch")
print(f"Mega-pytorch {version}, left of a word with a=.1 at place: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "Mega-pytorch 0.1.0, left of a word with a=.1 at place: d=0.5 0: 0.100 for 0.100, 1: 0.045 for 0.095,\
 5: 0.002 for 0.077, 20: 0.000 for 0.036; d=1.0 0: 0.100 for 0.100, 1: 0.090 for 0.090, 5: 0.059 for 0.059, 20: 0.012\
 for 0.012"
