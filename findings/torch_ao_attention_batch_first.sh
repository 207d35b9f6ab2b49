#!/usr/bin/env bash
# With batch_first=True the attention that PyTorch prepares for 8 bits mixes up heads and words: it has other outputs.
#
# Guess before the run: `prepare` replaces MultiheadAttention by its quantizable twin, which has the same outputs up to
# the last bits before the conversion, and up to a few percent after it, with and without batch_first.
# Seen: PyTorch 2.13.0. With the batch in front the heads are not moved back before the tensor is given its shape: each
# row of a text is made of the parts that one head has for several words, and the outputs have nothing to do with those
# of the float layer (relative error 1.1) already before anything is quantized. The attention weights are right, and so
# are the shapes, so that nothing shows it; with batch_first=False the outputs are right before the conversion and after
# it.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import copy
import warnings

warnings.simplefilter("ignore")
import torch
from torch.ao import quantization


class Encoder(torch.nn.Module):
    def __init__(self, batch_first):
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.attention = torch.nn.MultiheadAttention(32, 4, batch_first=batch_first)

    def forward(self, x):
        x = self.quant(x)
        output, weights = self.attention(x, x, x)
        return self.dequant(output), self.dequant(weights)


words = []
for batch_first in (False, True):
    torch.manual_seed(0)
    model = Encoder(batch_first).eval()
    texts = torch.randn(4, 6, 32) if batch_first else torch.randn(6, 4, 32)
    output, weights = model(texts)
    model.qconfig = quantization.get_default_qconfig("fbgemm")
    prepared = quantization.prepare(model)
    before, attended = prepared(texts)
    after, _ = quantization.convert(prepared)(texts)
    errors = [((one - output).norm() / output.norm()).item() for one in (before, after)]
    words.append(
        f"batch_first={batch_first} {errors[0]:.1f} before conversion, {errors[1]:.1f} after,"
        f" weights the same: {torch.allclose(weights, attended, atol=1e-5)}"
    )
print(f"torch {torch.__version__.split('+')[0]}, relative error of the outputs: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torch 2.13.0, relative error of the outputs: batch_first=False 0.0 before conversion, 0.0 after, weigh\
ts the same: True; batch_first=True 1.1 before conversion, 1.1 after, weights the same: True"
