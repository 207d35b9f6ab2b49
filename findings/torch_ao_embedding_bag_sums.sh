#!/usr/bin/env bash
# A quantized EmbeddingBag of PyTorch sums: the mean of 3 words, the default, is three times too large; padding counts.
#
# Guess before the run: `quantize_dynamic` of a classifier on bags of words keeps `mode` and `padding_idx` of its
# EmbeddingBag, and its outputs are off by the rounding to 8 bits, one percent or so.
# Seen: PyTorch 2.13.0. The quantized module has the layer of sums alone, and is made of weights and sizes: a mean of
# three words is three times and of ten words ten times the right one, the largest of three is their sum, and a padding
# token is added where the float module leaves it out, so that a text depends on the longest of its batch. Sums without
# padding are right. No mode is rejected, and no warning says so: the logits of a classifier on the mean of words, as
# fastText's, grow with the length of the text.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import warnings

warnings.simplefilter("ignore")
import torch
from torch.ao.quantization import float_qparams_weight_only_qconfig, quantize_dynamic


def quantize(model):
    return quantize_dynamic(
        model, {torch.nn.EmbeddingBag: float_qparams_weight_only_qconfig}, dtype=torch.quint8
    )


words = []
for mode in ("sum", "mean", "max"):
    for length in (3, 10):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.EmbeddingBag(100, 64, mode=mode))
        texts = torch.randint(100, (50, length))
        error = (quantize(model)(texts) - model(texts)).norm() / model(texts).norm()
        words.append(f"{mode} of {length} {error:.2f}")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.EmbeddingBag(100, 64, mode="sum", padding_idx=0))
torch.nn.init.normal_(model[0].weight)
texts = torch.cat([torch.randint(1, 100, (50, 3)), torch.zeros(50, 3, dtype=torch.int64)], 1)
error = (quantize(model)(texts) - model(texts)).norm() / model(texts).norm()
words.append(f"sum of 3 and 3 of padding {error:.2f}")
print(f"torch {torch.__version__.split('+')[0]}, relative error of the quantized layer: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torch 2.13.0, relative error of the quantized layer: sum of 3 0.01, sum of 10 0.01, mean of 3 2.00, me\
an of 10 9.00, max of 3 1.41, max of 10 2.16, sum of 3 and 3 of padding 1.86"
