#!/usr/bin/env bash
# `random_state` of rliable, for "reproducibility in uncertainty estimates", does nothing: intervals differ each time.
#
# Guess before the run: `get_interval_estimates(..., random_state=RandomState(0))` has the same interval in each call,
# as arch's bootstrap, which it is made of, has, and leaves NumPy's own state alone.
# Seen: rliable 1.2.0. The state is handed to arch and never asked: the runs are drawn by `numpy.random.choice`. Of 5
# runs of 4 tasks the lower end of the 95 % interval of a mean is another one in each of three calls with the same
# state, and the global state of NumPy, by which another part of a program may be seeded, has moved. With
# `numpy.random.seed(0)` before it each call agrees. `create_performance_profile` has no such argument. An interval that
# a paper reports can't be computed again.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    rliable==1.2.0 arch==7.2.0 numpy==1.26.4 pandas==2.2.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from arch.bootstrap import IIDBootstrap
from numpy.random import RandomState
from rliable.library import get_interval_estimates

scores = RandomState(1).normal(0.8, 0.05, size=(5, 4))  # the accuracies of five seeds on four tasks
np.random.seed(7)


def mean(scores):
    return np.array([scores.mean()])


def lower(seed=None):
    if seed is not None:
        np.random.seed(seed)
    _, intervals = get_interval_estimates({"bert": scores}, mean, reps=200, random_state=RandomState(0))
    return intervals["bert"][0, 0]


with_state = [lower() for _ in range(3)]
seeded = [lower(0) for _ in range(3)]
arch = [IIDBootstrap(scores, seed=RandomState(0)).conf_int(mean, 200, method="percentile")[0, 0] for _ in range(3)]
version = importlib.metadata.version("rliable")
print(
    f"rliable {version}: different lower ends of three calls: random_state {len(set(with_state))},",
    f"numpy.random.seed {len(set(seeded))}, arch with its state {len(set(arch))}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "rliable 1.2.0: different lower ends of three calls: random_state 3, numpy.random.seed 1, arch with its\
 state 1"
