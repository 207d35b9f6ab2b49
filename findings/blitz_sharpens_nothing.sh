#!/usr/bin/env bash
# `forward_with_sharpening` of blitz sharpens nothing, and freezing an LSTM with a peephole gives it other outputs.
#
# Guess before the run: an LSTM of blitz with `sharpen=True` returns what weights that are sharpened by the loss say,
# and its parameters of the sharpening, `eta`, have gradients.
# Seen: blitz-bayesian-pytorch 0.2.8. `forward_with_sharpening` has the sharpened call on a line that Python takes for
# an annotation and never runs, so that it returns a plain draw, and no `eta` has a gradient. Given the loss by
# `sharpen_loss=` the same layer uses them. An LSTM with `peephole=True` that is frozen has other outputs than the same
# one with a spread of nothing: frozen, a sigmoid stands where a tanh is.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    blitz-bayesian-pytorch==0.2.8 torch==2.14.1 torchvision==0.29.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from blitz.modules import BayesianLSTM
from blitz.utils import variational_estimator


@variational_estimator
class Tagger(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = BayesianLSTM(4, 8, sharpen=True)
        self.head = torch.nn.Linear(8, 2)

    def forward(self, words, **options):
        return self.head(self.lstm(words, **options)[0][:, -1])


torch.manual_seed(0)
words, labels = torch.randn(5, 6, 4), torch.tensor([0, 1, 1, 0, 1])
tagger, loss = Tagger(), torch.nn.CrossEntropyLoss()


def learned():
    gradients = [value.grad for name, value in tagger.named_parameters() if name.endswith("eta")]
    return f"{sum(value is not None for value in gradients)} of {len(gradients)}"


loss(tagger.forward_with_sharpening(words, labels, loss), labels).backward()
parts = [f"eta with a gradient after forward_with_sharpening {learned()}"]
tagger.zero_grad()
loss(tagger(words, sharpen_loss=loss(tagger(words), labels)), labels).backward()
parts.append(f"after sharpen_loss {learned()}")
lstm = BayesianLSTM(4, 8, peephole=True, posterior_rho_init=-20.0)
drawn = lstm(words)[0]
lstm.freeze = True
frozen = lstm(words)[0]
parts.append(f"peephole from {drawn.min():.2f} to {drawn.max():.2f}, frozen {frozen.min():.2f} to {frozen.max():.2f}")
print(f"blitz {importlib.metadata.version('blitz-bayesian-pytorch')}: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "blitz 0.2.8: eta with a gradient after forward_with_sharpening 0 of 3, after sharpen_loss 3 of 3,\
 peephole from 0.08 to 0.37, frozen 0.52 to 0.60"
