#!/usr/bin/env bash
# The last window of Occlusion in zennit goes on at the beginning of the text: first words get the score of the last.
#
# Guess before the run: `Occlusion` with a window of 4 words on a text of 10 words ends with a window of the two words
# that are over, and a word has the scores of the windows that it lies in.
# Seen: zennit 0.5.1. A model that adds up words, of which the last one is 9 and all others are 0. The last two words
# have a score of 36, and the first two as well, though the model reads nothing in them: the window of the words 8 to 11
# is rolled over the end. With 12 words, a multiple of 4, the first ones have 0. A text whose length is no multiple of
# the window has wrong explanations at its beginning, where [CLS] is.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    zennit==0.5.1 torch==2.14.1 torchvision==0.29.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from zennit.attribution import Occlusion


class Sum(torch.nn.Module):
    def forward(self, x):
        return x.sum((1, 2))[:, None]


def scores(length):
    words = torch.zeros(1, length, 4)
    words[0, -1] = 9.0
    attribution = Occlusion(Sum(), window=(4, 4), stride=(4, 4))(words)[1]
    return " ".join(f"{value:g}" for value in attribution[0, :, 0].tolist())


print(f"zennit {importlib.metadata.version('zennit')}: of 10 words {scores(10)}; of 12 words {scores(12)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "zennit 0.5.1: of 10 words 36 36 0 0 0 0 0 0 36 36; of 12 words 0 0 0 0 0 0 0 0 36 36 36 36"
