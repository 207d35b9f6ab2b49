#!/usr/bin/env bash
# A learning rate of 0 in the first steps is skipped by praxis' PiecewiseConstant: a frozen BERT is trained.
#
# Guess before the run: `PiecewiseConstant(boundaries=[100, 200], values=[0.0, 1.0, 0.1])` is 0 before step 100, 1
# before step 200 and .1 after it.
# Seen: praxis 1.4.0, JAX 0.10.2. It is 1.0 from the first step on: a value that is not above 0 is taken for one that
# has not been found yet, and that of the next interval comes in its place. A zero in one of the last two intervals is
# right, so that a pause may be kept or skipped by what comes after it.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    praxis==1.4.0
cat > "$folder/program.py" <<'PYTHON'
import ast
import importlib.metadata
from types import SimpleNamespace

import jax
import jax.numpy as jnp

package = importlib.metadata.distribution("praxis")
tree = ast.parse(package.locate_file("praxis/schedules.py").read_text())
(schedule,) = [part for part in tree.body if getattr(part, "name", "") == "PiecewiseConstant"]
(method,) = [part for part in schedule.body if getattr(part, "name", "") == "value_at"]
names = {"jax": jax, "jnp": jnp}
exec(compile(ast.Module([method], []), "schedules.py", "exec"), names)


def rates(*values):
    settings = SimpleNamespace(boundaries=[100, 200], values=values)
    return " ".join(f"{float(names['value_at'](settings, jnp.uint32(step))):g}" for step in (50, 150, 250))


parts = [f"{' '.join(map(str, values))} gives {rates(*values)}" for values in ((0, 1, 0.1), (1, 0, 0.1), (1, 0.1, 0))]
print(f"praxis {package.version}, steps 50, 150, 250: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "praxis 1.4.0, steps 50, 150, 250: 0 1 0.1 gives 1 1 0.1; 1 0 0.1 gives 1 0 0.1; 1 0.1 0 gives 1 0.1 0"
