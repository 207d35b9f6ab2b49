#!/usr/bin/env bash
# The annealed sampling of tasks in the TensorFlow Model Garden is an epoch late: RTE has .01 % of the steps, not .6 %.
#
# Guess before the run: `AnnealingTaskSampler` draws a task of n texts as often as n**(1 - 0.8 (e - 1) / (E - 1)) in
# epoch e of E, as the paper that it names (Stickland and Murray 2019): by size in the first epoch, nearly alike in the
# last.
# Seen: tf-models-official 2.20.0 with TensorFlow 2.20.0. Its epochs count from 0. The first one has an exponent over
# 1, in which small tasks are drawn less often than their size says (in 2 epochs 1.8: 0.01 % of the steps are RTE's,
# where it has 0.6 % of the texts), and the last one that of the last but one: the share of 26.7 % in which the paper
# ends is never reached. In one epoch the exponent is infinite and the shares are NaN.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 tf_keras==2.20.1 numpy==2.4.6 gin-config==0.5.0 pyyaml==6.0.3 scipy==1.17.0 \
    tensorflow-datasets==4.9.10
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tf-models-official==2.20.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tf_keras
from official.modeling.multitask import task_sampler

sizes = {"MNLI": 392_702, "RTE": 2_490}


def shares(epochs, steps_per_epoch=10):
    sampler = task_sampler.AnnealingTaskSampler(sizes, steps_per_epoch, epochs * steps_per_epoch)
    rates = []
    for epoch in range(epochs):
        first = sampler.task_cumulative_distribution(epoch * steps_per_epoch).numpy()
        rates.append(f"{1 - first[0]:.3f}")
    return " ".join(rates)


def of_the_paper(epochs):
    rates = []
    for epoch in range(1, epochs + 1):
        alpha = 1 - 0.8 * (epoch - 1) / (epochs - 1)
        weights = np.array(list(sizes.values())) ** alpha
        rates.append(f"{weights[1] / weights.sum():.3f}")
    return " ".join(rates)


print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"RTE's share of the steps in 2 epochs: {shares(2)} (paper {of_the_paper(2)}), in 4: {shares(4)} (paper",
    f"{of_the_paper(4)}), in 1: {shares(1)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, RTE's share of the steps in 2 epochs: 0.000 0.006 (paper\
 0.006 0.267), in 4: 0.002 0.006 0.024 0.086 (paper 0.006 0.024 0.086 0.267), in 1: nan"
