#!/usr/bin/env bash
# In PyTorch Ignite a second moving average with a warmup has none, and warms up the momentum of the first one instead.
#
# Guess before the run: two `EMAHandler`s of one trainer, attached under two names as its page shows, have a momentum
# each: one with a `momentum_warmup` from .5 to .001, one constant at .1.
# Seen: pytorch-ignite 0.5.5. The schedule of a warmup writes to `state.ema_momentum`, whatever name the handler was
# attached with. Attached as "ema_2", its momentum is .001 from the first step on, and after 10 steps from 0 to 1 the
# average is .01, where .96 is right; and the other one, which is attached as "ema_momentum", has momenta from .5 to
# .001 instead of .1, and is .96 where .65 is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-ignite==0.5.5 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from ignite.engine import Engine
from ignite.handlers import EMAHandler


def averages(*names):
    """Averages after 10 steps with a weight that was 0 before and is 1 since, of the constant and the warming one."""
    model = torch.nn.Linear(1, 1, bias=False)
    model.weight.data.fill_(0.0)
    trainer = Engine(lambda engine, batch: model.weight.data.fill_(1.0))
    handlers = {
        "constant": EMAHandler(model, momentum=0.1),
        "warming": EMAHandler(model, momentum=0.001, momentum_warmup=0.5, warmup_iters=10),
    }
    for kind, name in names:
        handlers[kind].attach(trainer, name=name)
    trainer.run([0] * 10, max_epochs=1)
    return ", ".join(f"{kind} {handlers[kind].ema_model.weight.item():.2f}" for kind, _ in names)


parts = [
    f"alone: {averages(('constant', 'ema_momentum'))}, {averages(('warming', 'ema_momentum'))}",
    f"both: {averages(('constant', 'ema_momentum'), ('warming', 'ema_2'))}",
]
print(f"pytorch-ignite {importlib.metadata.version('pytorch-ignite')}, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-ignite 0.5.5, alone: constant 0.65, warming 0.96; both: constant 0.96, warming 0.01"
