#!/usr/bin/env bash
# With warmup and linear decay Snorkel's Trainer takes its first step at the full rate: 1, .25, .5, .75, 1, not 0 first.
#
# Guess before the run: `Trainer(lr_scheduler="linear", lr_scheduler_config={"warmup_steps": 4})`, as BERT is
# fine-tuned, begins at a rate of 0 and rises to 1 in four steps, as it does with a constant rate.
# Seen: snorkel 0.10.0. Ten steps have the rates 1.00, .25, .50, .75, 1.00, .83 and so on to .17. Each of its two
# schedulers sets the rate when it is made, and the linear one comes last. With "constant", "exponential" and "step" the
# first rate is 0. So the one step for which the warmup is there, with Adam's moments of a single batch, is a full one.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 pandas==2.3.3 scikit-learn==1.9.1 scipy==1.17.1 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    snorkel==0.10.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys
from unittest.mock import MagicMock

sys.modules["torch.utils.tensorboard"] = MagicMock()  # It writes logs, and the package imports it.

import torch
from snorkel.classification import DictDataLoader, DictDataset, MultitaskClassifier, Operation, Task, Trainer

x = torch.randn(320, 4, generator=torch.Generator().manual_seed(0))
y = (x[:, 0] > 0).long()
clip = torch.nn.utils.clip_grad_norm_


def rates(scheduler):
    """The learning rate at each of ten steps, read where the trainer clips gradients before it takes a step."""
    seen = []
    task = Task("class", torch.nn.ModuleDict({"head": torch.nn.Linear(4, 2)}), [Operation("head", [("_input_", "x")])])
    loader = DictDataLoader(DictDataset("texts", "train", {"x": x}, {"class": y}), batch_size=32)
    trainer = Trainer(lr=1.0, progress_bar=False, lr_scheduler=scheduler, lr_scheduler_config={"warmup_steps": 4})

    def note(*arguments):
        seen.append(f"{trainer.optimizer.param_groups[0]['lr']:.2f}")
        return clip(*arguments)

    torch.nn.utils.clip_grad_norm_ = note
    trainer.fit(MultitaskClassifier([task]), [loader])
    return " ".join(seen)


parts = [f"{name} {rates(name)}" for name in ("constant", "linear", "exponential")]
print(f"snorkel {importlib.metadata.version('snorkel')}, rates after a warmup of 4 steps: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "snorkel 0.10.0, rates after a warmup of 4 steps: constant 0.00 0.25 0.50 0.75 1.00 1.00 1.00 1.00 1.00\
 1.00; linear 1.00 0.25 0.50 0.75 1.00 0.83 0.67 0.50 0.33 0.17; exponential 0.00 0.25 0.50 0.75 1.00 0.90 0.81 0.73\
 0.66 0.59"
