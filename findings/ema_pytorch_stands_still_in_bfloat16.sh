#!/usr/bin/env bash
# The average of a bfloat16 BERT in ema-pytorch stands still: weights double, and it stays as it was.
#
# Guess before the run: the average of weights that move from 1 to 2 in 10,000 steps follows them at a distance, in
# bfloat16 as in float32, up to its three digits: 1.9 or so with ema-pytorch's default decay.
# Seen: ema-pytorch 0.8.3. The average is kept in the type of the model, and a step of it is a few thousandths of the
# distance, which bfloat16 rounds away: it is 1.00 at the end, where a float32 model has 1.96. It stops as soon as the
# distance times (1 - decay) is below half of the last digit. With `coerce_dtype=True` and a float32 `ema_model` it is
# 1.96. PyTorch's AveragedModel with a decay of .999 is 1.90 in float32 and 1.00 in bfloat16, too. Nothing is said.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    ema-pytorch==0.8.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from ema_pytorch import EMA
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


def follow(kind, average_kind=None):
    model = torch.nn.Linear(1, 1, bias=False, dtype=kind)
    model.weight.data.fill_(1.0)
    options = {}
    if average_kind is not None:
        options = {"ema_model": torch.nn.Linear(1, 1, bias=False, dtype=average_kind), "coerce_dtype": True}
    average = EMA(model, update_after_step=0, update_every=1, **options)
    for step in range(10001):
        model.weight.data.fill_(1 + step / 10000)
        average.update()
    return average.ema_model.weight.item()


def torch_average(kind):
    model = torch.nn.Linear(1, 1, bias=False, dtype=kind)
    model.weight.data.fill_(1.0)
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))
    for step in range(10001):
        model.weight.data.fill_(1 + step / 10000)
        average.update_parameters(model)
    return average.module.weight.item()


bfloat16, float32 = torch.bfloat16, torch.float32
print(
    f"ema-pytorch {importlib.metadata.version('ema-pytorch')}: float32 {follow(float32):.2f},",
    f"bfloat16 {follow(bfloat16):.2f}, with a float32 average {follow(bfloat16, float32):.2f};",
    f"PyTorch {torch_average(float32):.2f} {torch_average(bfloat16):.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ema-pytorch 0.8.3: float32 1.96, bfloat16 1.00, with a float32 average 1.96; PyTorch 1.90 1.00"
