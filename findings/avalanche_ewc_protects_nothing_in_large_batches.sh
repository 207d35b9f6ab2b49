#!/usr/bin/env bash
# What EWC of Avalanche protects depends on the batch size: of 512 texts at once nothing, of single ones all of it.
#
# Guess before the run: `EWCPlugin` computes the diagonal of the Fisher information of the first task, a mean over texts
# of squared gradients. The batch size changes the speed only.
# Seen: avalanche-lib 0.6.0. A classifier of two classes that has learned its first task to the end, 512 texts. Its
# importances add up to 1.243 with train_mb_size=1, to 0.150 with 8, to 0.017 with 64 and to 0.000 with 512; the Fisher
# information is 1.284. It squares the gradient of a batch's mean loss, in which the gradients of texts cancel. A BERT
# that is fine-tuned in batches of 32 forgets its first task as if `ewc_lambda` were 32 times smaller.
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
from avalanche.training.plugins import EWCPlugin

torch.manual_seed(0)
x = torch.randn(512, 8)
y = (x @ torch.randn(8, 2) + torch.randn(512, 2)).argmax(1)
benchmark = tensors_benchmark(train_tensors=[(x, y)], test_tensors=[(x, y)], task_labels=[0])
model = torch.nn.Linear(8, 2, bias=False)
loss = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=200)


def closure():
    optimizer.zero_grad()
    value = loss(model(x), y)
    value.backward()
    return value


optimizer.step(closure)
with torch.no_grad():
    p = model(x).softmax(1)
    fisher = ((p * (1 - p)).sum(1) * (x**2).sum(1)).mean()
parts = []
for size in (1, 8, 64, 512):
    importances = EWCPlugin(1.0).compute_importances(
        model, loss, torch.optim.SGD(model.parameters(), 0.1), benchmark.train_stream[0].dataset, "cpu", size
    )
    parts.append(f"{size}: {sum(value.data.sum() for value in importances.values()):.3f}")
version = importlib.metadata.version("avalanche-lib")
print(f"avalanche-lib {version}: Fisher {fisher:.3f}; batches of {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "avalanche-lib 0.6.0: Fisher 1.284; batches of 1: 1.243, 8: 0.150, 64: 0.017, 512: 0.000"
