#!/usr/bin/env bash
# pytorch-accelerated freezes nothing if what is frozen is to be in eval mode, and unfreezes nothing outside of it.
#
# Guess before the run: `ModelFreezer.freeze(set_modules_as_eval=True)` freezes all parts but the last one, as
# `freeze()` does, and puts them in eval mode so that they drop nothing; `unfreeze(set_modules_as_training=False)` makes
# all train again and leaves the mode alone.
# Seen: pytorch-accelerated 0.1.61. `freeze()` freezes the encoder. With `set_modules_as_eval=True` its weights stay
# trainable and its mode is training: nothing is done. `unfreeze(set_modules_as_training=False)` leaves the encoder
# frozen, and puts it in eval mode. The two switches, for gradients and for the mode, are handed over in the wrong order
# to the function that sets them; where both have one value it does not show.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-accelerated==0.1.61 accelerate==1.15.0 torch==2.13.0 numpy==2.4.6 tqdm==4.70.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_accelerated.finetuning import ModelFreezer


def model():
    parts = torch.nn.Module()
    parts.encoder = torch.nn.Linear(8, 8)
    parts.head = torch.nn.Linear(8, 3)
    return parts


def state(parts):
    trains = "trainable" if parts.encoder.weight.requires_grad else "frozen"
    return f"{trains} in {'training' if parts.encoder.training else 'eval'} mode"


plain, in_eval, thawed = model(), model(), model()
ModelFreezer(plain).freeze()
ModelFreezer(in_eval).freeze(set_modules_as_eval=True)
freezer = ModelFreezer(thawed)
freezer.freeze()
freezer.unfreeze(set_modules_as_training=False)
print(
    f"pytorch-accelerated {importlib.metadata.version('pytorch-accelerated')}: freeze() {state(plain)}; "
    f"set_modules_as_eval {state(in_eval)}; unfrozen without training mode {state(thawed)}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-accelerated 0.1.61: freeze() frozen in training mode; set_modules_as_eval trainable in trainin\
g mode; unfrozen without training mode frozen in eval mode"
