#!/usr/bin/env bash
# Adam of objax moves a weight whose gradients are 1e-5 by a fiftieth of the learning rate in each step.
#
# Guess before the run: Adam's steps are about the learning rate for gradients of any size far above its epsilon, 1e-8:
# 100 steps of .001 end at -.1 for gradients of 1, 1e-4 and 1e-6.
# Seen: objax 1.8.0. Epsilon stands under the root, beside the mean square, so that it is 1e-4 beside the gradients, and
# the mean square is not corrected for its start, so that the first steps lose most. 100 steps end at -.1000 for 1,
# -.0864 for 1e-3, -.0203 for 1e-4, -.0021 for 1e-5 and -.0002 for 1e-6. With `eps=1e-16`, which is the epsilon of the
# paper in its place, they end at -.1000, and at -.0997 for 1e-6.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    objax==1.8.0 jax==0.4.38 jaxlib==0.4.38 numpy==2.4.6 scipy==1.17.1 six==1.17.0 sympy==1.14.0
cat > "$folder/program.py" <<'PYTHON'
import jax.numpy as jn
import objax


def end(gradient, **options):
    weight = objax.TrainVar(jn.zeros(1))
    optimizer = objax.optimizer.Adam(objax.VarCollection({"weight": weight}), **options)
    for _ in range(100):
        optimizer(0.001, [jn.full(1, gradient)])
    return f"{float(weight.value[0]):.4f}"


sizes = (1.0, 1e-3, 1e-4, 1e-5, 1e-6)
words = [f"{size:g}: {end(size)} ({end(size, eps=1e-16)})" for size in sizes]
print(f"objax {objax.__version__}, weight after 100 steps of .001 (with eps=1e-16) for gradients of {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "objax 1.8.0, weight after 100 steps of .001 (with eps=1e-16) for gradients of 1: -0.1000 (-0.1000),\
 0.001: -0.0864 (-0.1000), 0.0001: -0.0203 (-0.1000), 1e-05: -0.0021 (-0.1000), 1e-06: -0.0002 (-0.0997)"
