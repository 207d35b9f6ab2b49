#!/usr/bin/env bash
# KerasTuner never tries a dropout of .5 with `hp.Float("dropout", 0, 0.5, step=0.1)`: the last step is lost.
#
# Guess before the run: a Float with a step takes all values from the minimum to the maximum, "so that max_value may be
# sampled".
# Seen: keras-tuner 1.4.8. Of 0 to .5 in steps of .1 it takes .0 to .4, of 0 to 1 in tenths nothing above .9, of 0 to .3
# in steps of .05 nothing above .25 and of .1 to .7 in steps of .2 nothing above .5: neither a random search, in 2,000
# draws, nor a grid search. The number of steps is a floor division of floats, and .5 // .1 is 4. Of 0 to .2 in steps of
# .05 the last one is there. A best value at the end of the range is so not the end that was asked for.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras-tuner==1.4.8 keras==3.15.1 jax==0.10.2 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 six==1.17.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import keras_tuner

parts = []
for low, high, step in ((0, 0.5, 0.1), (0, 1, 0.1), (0, 0.3, 0.05), (0.1, 0.7, 0.2), (0, 0.2, 0.05)):
    parameters = keras_tuner.HyperParameters()
    parameters.Float("dropout", low, high, step=step)
    space = parameters.space[0]
    drawn = {round(space.random_sample(seed), 9) for seed in range(2000)}
    grid = {round(value, 9) for value in space.values}
    parts.append(f"{low:g} to {high:g} by {step:g}: {len(drawn)} values up to {max(drawn):g}, grid {max(grid):g}")
print(f"keras-tuner {importlib.metadata.version('keras-tuner')}: {'; '.join(parts)}")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-tuner 1.4.8: 0 to 0.5 by 0.1: 5 values up to 0.4, grid 0.4; 0 to 1 by 0.1: 10 values up to 0.9,\
 grid 0.9; 0 to 0.3 by 0.05: 6 values up to 0.25, grid 0.25; 0.1 to 0.7 by 0.2: 3 values up to 0.5, grid 0.5; 0 to 0.2\
 by 0.05: 5 values up to 0.2, grid 0.2"
