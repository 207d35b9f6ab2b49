#!/usr/bin/env bash
# mlm-pytorch masks every word of a text that is padded on the left, [CLS] and padding too, and a third of a short one.
#
# Guess before the run: `MLM(mask_prob=0.15)` masks 15 % of the words of each text, rounded up, wherever its padding is
# and however much.
# Seen: mlm-pytorch 0.1.0; electra-pytorch and protein-bert-pytorch have the same function. How many of the chosen words
# are kept is read off the words before each place of the text, not off the number of chosen words. Of 99 words without
# padding 15 % are masked, of 39 with padding on the right 18 %, of 9 33 %. With padding on the left nothing stands
# before the first places: of 39 words 38 % are masked, and of 9 all, with [CLS] and some of the padding, which are
# learned then, too: no word is left to predict another from.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mlm-pytorch==0.1.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from mlm_pytorch import MLM
from mlm_pytorch.mlm_pytorch import get_mask_subset_with_prob

torch.manual_seed(0)
CLS, MASK = 1, 2


class Model(torch.nn.Module):
    """Keeps what it reads, and says nothing about any word."""

    def forward(self, ids):
        self.read = ids
        return torch.zeros(*ids.shape, 1000)


def masked(words, left):
    text = torch.cat([torch.full((500, 1), CLS), torch.randint(10, 1000, (500, words))], 1)
    padding = torch.zeros(500, 99 - words, dtype=torch.long)
    ids = torch.cat([padding, text] if left else [text, padding], 1)
    model = Model()
    MLM(model, mask_prob=0.15, replace_prob=1.0, mask_token_id=MASK, mask_ignore_token_ids=[CLS])(ids)
    chosen = get_mask_subset_with_prob(ids > CLS, 0.15)
    return f"{(model.read == MASK)[ids > CLS].float().mean():.2f}", f"{chosen[ids <= CLS].sum() / 500:.1f}"


words = []
for count, left in ((99, False), (39, False), (9, False), (39, True), (9, True)):
    share, others = masked(count, left)
    side = "" if count == 99 else " left" if left else " right"
    words.append(f"{count} words{side} {share}" + (f" and {others} of [CLS] and padding" if others != "0.0" else ""))
print(f"mlm-pytorch {importlib.metadata.version('mlm-pytorch')}, masked of .15: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mlm-pytorch 0.1.0, masked of .15: 99 words 0.15, 39 words right 0.18, 9 words right 0.33, 39 words\
 left 0.38, 9 words left 1.00 and 6.0 of [CLS] and padding"
