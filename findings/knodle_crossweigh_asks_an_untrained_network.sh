#!/usr/bin/env bash
# CrossWeigh of knodle asks an untrained network which labels are wrong: right ones lose as much weight as wrong ones.
#
# Guess before the run: The weights that WSCrossWeighWeightsCalculator gives are low for texts whose rule is wrong: a
# network that is trained on the other folds disagrees with their labels.
# Seen: knodle 0.1.4. For each fold a copy of the model is trained, and the original, which nothing trains, is asked.
# The copy learns nothing either, for the optimizer was made of the model before it. So the answers are those of random
# weights. Of 240 texts, 15 % of which have a wrong rule, the right ones get mean weights of 1.36 to 1.46, and the wrong
# ones 1.53 to 1.74, of 2. If the copy has an optimizer of its own and is asked, they get 1.92 to 1.93 and 1.00 to 1.06.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 pandas==3.1.1 scipy==1.17.1 scikit-learn==1.9.1 joblib==1.6.0 tqdm==4.70.1 \
    matplotlib==3.11.2 munkres==3.0.0 tabulate==0.10.0 networkx==3.6.1 tensorboard==2.21.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    knodle==0.1.4 snorkel==0.10.0 annoy==1.17.3 skorch==1.4.0 cleanlab==1.0.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import logging
import random
import sys

import numpy as np
import torch
from knodle.trainer import WSCrossWeighConfig
from knodle.trainer.wscrossweigh.wscrossweigh_weights_calculator import WSCrossWeighWeightsCalculator
from torch.utils.data import TensorDataset

logging.disable(logging.CRITICAL)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
labels = rng.integers(0, 2, 240)
texts = rng.normal(size=(240, 10)).astype("float32")
texts[:, 0] += (2 * labels - 1) * 2
said = np.where(rng.random(240) < 0.15, 1 - labels, labels)  # what the rule of a text says
rules = np.zeros((240, 20))
rules[np.arange(240), said * 10 + rng.integers(0, 10, 240)] = 1
classes = np.repeat(np.eye(2), 10, axis=0)


class Trained(WSCrossWeighWeightsCalculator):
    """Trains the copy of a fold with an optimizer of its own, and asks it."""

    def _train_loop(self, *arguments, **options):
        self.trainer_config.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)
        super()._train_loop(*arguments, **options)

    def cw_test(self, loader):
        original, self.wscrossweigh_model = self.wscrossweigh_model, self.model
        super().cw_test(loader)
        self.wscrossweigh_model = original


def weights(kind, seed):
    random.seed(seed)
    torch.manual_seed(seed)
    np.random.seed(seed)
    config = WSCrossWeighConfig(
        partitions=1, folds=3, epochs=10, batch_size=32, lr=0.1, optimizer=torch.optim.SGD,
        caching_folder=sys.argv[1], caching_suffix="a", filter_non_labelled=True,
    )  # fmt: skip
    calculator = kind(
        model=torch.nn.Linear(10, 2), mapping_rules_labels_t=classes, rule_matches_z=rules.copy(),
        model_input_x=TensorDataset(torch.tensor(texts)), trainer_config=config,
    )  # fmt: skip
    values = calculator.calculate_weights().numpy()
    return values[said == labels].mean(), values[said != labels].mean()


parts = []
for name, kind in (("as it is", WSCrossWeighWeightsCalculator), ("trained and asked", Trained)):
    runs = [weights(kind, seed) for seed in range(3)]
    parts.append(f"{name} {', '.join(f'{right:.2f} {wrong:.2f}' for right, wrong in runs)}")
print(f"knodle {importlib.metadata.version('knodle')}, weights of right and wrong labels: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "knodle 0.1.4, weights of right and wrong labels: as it is 1.36 1.74, 1.39 1.68, 1.46 1.53; trained and\
 asked 1.93 1.03, 1.93 1.06, 1.92 1.00"
