#!/usr/bin/env bash
# A BERT with int8 activations that optimum-quanto saves has other outputs when it is read back, and is further off.
#
# Guess before the run: `requantize` with the saved state and quantization map gives the outputs of the frozen model.
# Seen: optimum-quanto 0.2.7, transformers 5.23.0, torch 2.13.0. With int8 weights alone they are equal. With calibrated
# activations they differ by more than the quantization itself. While it calibrates, quanto finds outputs that are used in
# full precision, as those of LayerNorm here, and no longer rounds them (`streamline`); that isn't in the map or the
# state, so that they are rounded again after reading. With `Calibration(streamline=False)` both are equal, and as far
# off as what is read back.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    optimum-quanto==0.2.7 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import torch
from optimum.quanto import Calibration, freeze, qint8, quantization_map, quantize, requantize
from transformers import BertConfig, BertForMaskedLM

path = f"{sys.argv[1]}/state.pt"
config = BertConfig(
    vocab_size=64,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    initializer_range=0.1,
)
ids = torch.randint(5, 64, (8, 16), generator=torch.Generator().manual_seed(0))


@torch.no_grad()
def compare(activations=None, **options):
    torch.manual_seed(0)
    model = BertForMaskedLM(config).eval()
    exact = model(input_ids=ids).logits
    quantize(model, weights=qint8, activations=activations)
    if activations is not None:
        with Calibration(**options):
            model(input_ids=ids)
    freeze(model)
    torch.save(model.state_dict(), path)
    again = BertForMaskedLM(config).eval()
    state = torch.load(path, weights_only=False)
    requantize(again, state, quantization_map(model), device=torch.device("cpu"))
    before, after = model(input_ids=ids).logits, again(input_ids=ids).logits

    def off(one, other):
        return f"{((one - other).norm() / other.norm()).item():.0%}"

    return f"off by {off(before, exact)}, read back {off(after, exact)}, from each other {off(after, before)}"


print(
    f"optimum-quanto {importlib.metadata.version('optimum-quanto')}: weights {compare()};",
    f"with activations {compare(qint8)}; not streamlined {compare(qint8, streamline=False)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "optimum-quanto 0.2.7: weights off by 1%, read back 1%, from each other 0%;\
 with activations off by 2%, read back 3%, from each other 3%; not streamlined off by 3%, read back 3%, from each other 0%"
