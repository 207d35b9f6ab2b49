#!/usr/bin/env bash
# The "layer normalization" of AllenNLP's ScalarMix is of a whole batch: a text depends on the texts beside it.
#
# Guess before the run: `ScalarMix(do_layer_norm=True)` of allennlp-light, which mixes the layers of a BERT, normalizes
# each token's vector, as layer normalization does: a text has the same vectors alone and in a batch.
# Seen: allennlp-light 1.0.0 with torch 2.13.0. Mean and variance are taken of all tokens and units of the batch: tokens
# have no mean of 0 and deviation of 1, and the vectors of a text change by up to 0.8 if another text, with vectors
# twice as long, is in its batch; without do_layer_norm they don't change.
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
from allennlp_light.modules.scalar_mix import ScalarMix

torch.manual_seed(0)
layers = [torch.randn(2, 6, 16) * torch.tensor([1.0, 2.0])[:, None, None] + 0.5 for _ in range(3)]
mask = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]]).bool()
parts = []
for norm in (False, True):
    mix = ScalarMix(3, do_layer_norm=norm)
    with torch.no_grad():
        alone = mix([layer[:1, :4] for layer in layers], mask[:1, :4])
        beside = mix(layers, mask)[:1, :4]
        single = ScalarMix(1, do_layer_norm=norm)(layers[:1], mask)[mask]
    parts.append(f"{norm}: change {(alone - beside).abs().max():.2f}, means to {single.mean(-1).abs().max():.2f}")
print(f"allennlp-light {importlib.metadata.version('allennlp_light')}, do_layer_norm {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "allennlp-light 1.0.0, do_layer_norm False: change 0.00, means to 0.79; True: change 0.79, means to\
 0.21"
