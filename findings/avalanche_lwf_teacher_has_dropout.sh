#!/usr/bin/env bash
# The teacher of Learning without Forgetting in Avalanche answers with dropout: a model that forgot nothing pays for it.
#
# Guess before the run: `LwFPlugin` holds a model against what it said before: directly after a task, when it is still
# its own teacher, the distillation loss without dropout is 0.
# Seen: Avalanche 0.6.0. The copy that it keeps is taken in training mode, and never set to `eval`. So the teacher's
# answers are drawn anew for each batch, with other units dropped than in the student. A model compared with itself, its
# own dropout off, has a loss of .02 at dropout .1, and .12 at .5, another one in each call; with the teacher in
# evaluation mode it is 0. A BatchNorm of the teacher goes on learning, too: its means move to those of the new task,
# though it is to stand for the old one.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    avalanche-lib==0.6.0 torch==2.14.1 torchvision==0.29.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from avalanche.benchmarks import tensors_benchmark
from avalanche.training.plugins import LwFPlugin
from avalanche.training.supervised import Naive

torch.manual_seed(0)
x = torch.randn(512, 32)
y = (x[:, 0] > 0).long() + 2 * (x[:, 1] > 0).long()
data = [(x, y), (x + 3.0, y)]
benchmark = tensors_benchmark(train_tensors=data, test_tensors=data, task_labels=[0, 0])
parts = []
for rate in (0.0, 0.1, 0.5):
    torch.manual_seed(0)
    layers = [torch.nn.Linear(32, 64), torch.nn.BatchNorm1d(64), torch.nn.Dropout(rate), torch.nn.Linear(64, 4)]
    model = torch.nn.Sequential(*layers)
    plugin = LwFPlugin(alpha=1.0, temperature=1.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    strategy = Naive(
        model=model, optimizer=optimizer, train_mb_size=64, train_epochs=30, plugins=[plugin], evaluator=None
    )
    strategy.train(benchmark.train_stream[0])
    method = plugin.lwf
    teacher = method.prev_model
    model.eval()
    with torch.no_grad():
        losses = []
        was_training = teacher.training
        for mode in (was_training, False):
            teacher.train(mode)
            losses.append(float(method(x, model(x), model)))
    before = teacher[1].running_mean.clone()
    teacher.train(was_training)
    strategy.train(benchmark.train_stream[1])
    moved = float((teacher[1].running_mean - before).abs().mean())
    parts.append(f"dropout {rate}: {losses[0]:.2f}, in evaluation mode {losses[1]:.2f}, its means move by {moved:.2f}")
print(f"avalanche {importlib.metadata.version('avalanche-lib')}, loss against its own teacher, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "avalanche 0.6.0, loss against its own teacher, dropout 0.0: 0.00, in evaluation mode 0.00, its means\
 move by 1.32; dropout 0.1: 0.02, in evaluation mode 0.00, its means move by 1.33; dropout 0.5: 0.12, in evaluation\
 mode 0.00, its means move by 1.35"
