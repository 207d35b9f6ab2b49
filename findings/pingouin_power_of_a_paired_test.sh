#!/usr/bin/env bash
# pingouin says that a paired t-test of two models has a power of .26; by its own function it is .92.
#
# Guess before the run: `ttest(paired=True)` of the accuracies of two models on the same 20 seeds gives the power of
# this test: that of the mean of the differences over their standard deviation.
# Seen: pingouin 0.7.0. `cohen_d` is the difference over the spread of the models, as documented, and `power`, called
# that of the test, is reckoned from it as if it were the effect of the differences. So p is .0023 and the power .26:
# seeds that move both models alike count against it. `power_ttest` with the effect of the differences says .92, and so
# does a simulation. Who plans the number of seeds by it pays for several times as many.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pingouin==0.7.0 numpy==2.4.6 scipy==1.17.1 pandas==3.0.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import pingouin

random = np.random.default_rng(0)
first = random.normal(0.8, 0.02, 20)
second = first + random.normal(0.005, 0.01, 20)
test = pingouin.ttest(second, first, paired=True).iloc[0]
differences = second - first
effect = differences.mean() / differences.std(ddof=1)
power = pingouin.power_ttest(d=effect, n=20, contrast="paired")
simulated = 0
for _ in range(4000):
    sample = random.normal(effect, 1, 20)
    simulated += abs(sample.mean() / sample.std(ddof=1) * 20**0.5) > 2.093
print(
    f"pingouin {importlib.metadata.version('pingouin')}: p {test['p_val']:.4f}, power {test['power']:.2f}, "
    f"of the differences {power:.2f}, simulated {simulated / 4000:.1f}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pingouin 0.7.0: p 0.0023, power 0.26, of the differences 0.92, simulated 0.9"
