#!/usr/bin/env bash
# The learning rate that ktrain estimates at the steepest fall of the loss is that of 32 steps before: a 15th of it.
#
# Guess before the run: the first number of `LRFinder.estimate_lr()`, the "lr associated with minum numerical gradient",
# is the rate at which the loss falls fastest.
# Seen: ktrain 0.41.4. Of a run whose rate grows by 9 % a step, and whose loss falls fastest at .001, it is .000064; the
# second number, a tenth of the rate of the lowest loss, is right. The first 32 losses are left out before the steepest
# one is looked for, and its place among the others is then looked up in all rates. With 1 % a step, the default, it is
# .00073, and with 20 % .0000032. It is the rate that `lr_plot(suggest=True)` marks.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6 setuptools==80.9.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    ktrain==0.41.4
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import sys
import types
import warnings
from unittest.mock import MagicMock

# The finder alone, without TensorFlow and the models that the whole package imports.
root = importlib.util.find_spec("ktrain").submodule_search_locations[0]
for name, path in (("ktrain", root), ("ktrain.lroptimize", f"{root}/lroptimize")):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [path]

import numpy as np

imports = types.ModuleType("ktrain.imports")
imports.np, imports.warnings = np, warnings
sys.modules.update({"ktrain.imports": imports, "ktrain.utils": MagicMock()})
sys.modules["ktrain"].utils = sys.modules["ktrain.utils"]

from ktrain.lroptimize.lrfinder import LRFinder

parts = []
for factor in (1.01, 1.09, 1.2):
    finder = LRFinder(model=None)
    rates = 1e-7 * factor ** np.arange(np.log(0.1 / 1e-7) // np.log(factor))
    # A loss that falls from 2.3, fastest at a rate of .001, and rises from .01 on.
    losses = 2.3 - 1.5 / (1 + (0.001 / rates) ** 2) + 50 * np.maximum(rates - 0.01, 0)
    finder.lrs, finder.losses = rates.tolist(), losses.tolist()
    finder._compute_stats()
    steepest = rates[np.gradient(losses[: losses.argmin()]).argmin()]
    first, second, _ = finder.estimate_lr()
    parts.append(f"{factor - 1:.0%} a step {first:.2g} for {steepest:.2g}, lowest / 10 {second:.2g}")
print(f"ktrain {importlib.metadata.version('ktrain')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ktrain 0.41.4: 1% a step 0.00073 for 0.001, lowest / 10 0.001; 9% a step 6.4e-05 for 0.001, lowest /\
 10 0.00095; 20% a step 3.2e-06 for 0.0011, lowest / 10 0.00097"
