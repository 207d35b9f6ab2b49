#!/usr/bin/env bash
# Attention of AllenNLP is zero for all words if their scores are below -104 and the text is padded: no word is read.
#
# Guess before the run: `masked_softmax` of scores -200 and -201 and one of padding is .73, .27 and 0, as without the
# padding; `memory_efficient` is about memory.
# Seen: allennlp-light 1.0.0, PyTorch 2.13.0. Masked scores are set to 0, not to minus infinity, and take part in the
# softmax: beside them scores below -104 vanish in float32, and what is left is divided by nearly nothing. All weights
# are 0 with padding and .73 .27 without. In float16 scores of -12 are enough: .06 and .02 are left, which add up to
# .08. DotProductAttention, which is not scaled, of a word and its negative of BERT's length 15 has -225.
# `memory_efficient=True` is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    allennlp-light==1.0.0 ai2-tango==1.3.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from allennlp_light.modules.attention import DotProductAttention
from allennlp_light.nn.util import masked_softmax


def weights(scores, mask, **options):
    return " ".join(f"{value:.2f}" for value in masked_softmax(scores, mask, **options)[0])


low = torch.tensor([[-200.0, -201.0, 5.0]])
mask = torch.tensor([[True, True, False]])
half = torch.tensor([[-12.0, -13.0, 0.0]]).half()
words = torch.stack([torch.full((2, 768), -(15 / 768**0.5)), torch.zeros(2, 768)])[None, :, 0]
attention = DotProductAttention()(-words[:, 0], words, torch.tensor([[True, False]]))
print(
    f"allennlp-light {importlib.metadata.version('allennlp_light')}: padded {weights(low, mask)},",
    f"alone {weights(low[:, :2], mask[:, :2])}, memory_efficient {weights(low, mask, memory_efficient=True)};",
    f"float16 {weights(half, mask)}; DotProductAttention {' '.join(f'{value:.2f}' for value in attention[0])}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "allennlp-light 1.0.0: padded 0.00 0.00 0.00, alone 0.73 0.27, memory_efficient 0.73 0.27 0.00; float16\
 0.06 0.02 0.00; DotProductAttention 0.00 0.00"
