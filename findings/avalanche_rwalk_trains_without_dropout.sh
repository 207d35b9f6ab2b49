#!/usr/bin/env bash
# RWalk and LFL of Avalanche train a BERT without its dropout: they set the model to `eval` and leave it there.
#
# Guess before the run: a plugin that protects earlier tasks adds a penalty to the loss, and the model is trained as
# it is without one: in training mode, with dropout.
# Seen: avalanche-lib 0.6.0. Two tasks of 8 steps each. Without a plugin, and with EWC, MAS or SI, all 16 steps have
# dropout. With `RWalkPlugin` none of them has, with `LFLPlugin` 9: the first task and one step more. Both compute
# gradients or features in evaluation mode before a step, and do not go back to training mode. Nothing is said.
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
from avalanche.core import SupervisedPlugin
from avalanche.models.base_model import BaseModel
from avalanche.training.plugins import EWCPlugin, LFLPlugin, MASPlugin, RWalkPlugin, SynapticIntelligencePlugin
from avalanche.training.supervised import Naive

x, y = torch.randn(512, 8), torch.randint(0, 2, (512,))
benchmark = tensors_benchmark(train_tensors=[(x, y)] * 2, test_tensors=[(x, y)] * 2, task_labels=[0, 0])


class Model(BaseModel, torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.5))
        self.classifier = torch.nn.Linear(16, 2)

    def get_features(self, x):
        return self.encoder(x)

    def forward(self, x):
        return self.classifier(self.get_features(x))


class Watch(SupervisedPlugin):
    def __init__(self):
        super().__init__()
        self.steps = []

    def after_forward(self, strategy, **kwargs):
        self.steps.append(strategy.model.training)


plugins = {
    "none": [],
    "EWC": [EWCPlugin(1.0)],
    "MAS": [MASPlugin()],
    "SI": [SynapticIntelligencePlugin(1.0)],
    "RWalk": [RWalkPlugin()],
    "LFL": [LFLPlugin(1.0)],
}
parts = []
for name, chosen in plugins.items():
    model, watch = Model(), Watch()
    strategy = Naive(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), 0.1),
        criterion=torch.nn.CrossEntropyLoss(),
        train_mb_size=64,
        evaluator=None,
        plugins=[*chosen, watch],
    )
    for experience in benchmark.train_stream:
        strategy.train(experience)
    parts.append(f"{name} {sum(watch.steps)}")
version = importlib.metadata.version("avalanche-lib")
print(f"avalanche-lib {version}: steps with dropout, of {len(watch.steps)}: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "avalanche-lib 0.6.0: steps with dropout, of 16: none 16, EWC 16, MAS 16, SI 16, RWalk 0, LFL 9"
