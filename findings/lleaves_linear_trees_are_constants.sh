#!/usr/bin/env bash
# lleaves, a compiler for LightGBM, drops the linear models of linear trees: 99 % of the ratings are others, and worse.
#
# Guess before the run: a model that LightGBM has trained with `linear_tree=True`, as for ratings from a BERT's vectors,
# is compiled with its linear models, or refused as objectives are that lleaves does not know.
# Seen: lleaves 1.3.0, LightGBM 4.7.0. Plain trees agree to the last bit, with categories, missing values and ten
# objectives. Linear trees are read as plain ones: each leaf has a constant, its slopes are left out. The error of the
# ratings is .65 instead of .32, worse than that of plain trees, .44. Nothing is said.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    lleaves==1.3.0 llvmlite==0.44.0 lightgbm==4.7.0 numpy==2.2.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import pathlib

import lightgbm
import lleaves
import numpy as np

random = np.random.default_rng(0)
x = random.normal(size=(4000, 16))
y = x[:, 0] * 2 + np.sin(x[:, 1]) + random.normal(0, 0.1, 4000)
train, test = slice(0, 3000), slice(3000, None)
path = pathlib.Path(__file__).with_name("model.txt")
parts = []
for linear in (False, True):
    options = {"linear_tree": linear, "num_leaves": 8, "verbose": -1, "num_threads": 1, "seed": 0}
    booster = lightgbm.train(options, lightgbm.Dataset(x[train], y[train], params={"verbose": -1}), 20)
    booster.save_model(path)
    model = lleaves.Model(model_file=str(path))
    model.compile()
    expected, seen = booster.predict(x[test]), model.predict(x[test])
    errors = [float(np.sqrt(np.mean((y[test] - array) ** 2))) for array in (expected, seen)]
    parts.append(
        f"{'linear trees' if linear else 'plain trees'}: RMSE {errors[0]:.2f} and {errors[1]:.2f},"
        f" {np.mean(np.abs(expected - seen) > 0.01):.0%} of ratings are others"
    )
print(f"lleaves {importlib.metadata.version('lleaves')}, LightGBM and lleaves: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "lleaves 1.3.0, LightGBM and lleaves: plain trees: RMSE 0.44 and 0.44, 0% of ratings are others; linear\
 trees: RMSE 0.32 and 0.65, 99% of ratings are others"
