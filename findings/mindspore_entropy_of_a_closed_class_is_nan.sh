#!/usr/bin/env bash
# The entropy of a prediction is NaN in MindSpore as soon as one class has the probability 0: its 0 log 0 is NaN.
#
# Guess before the run: `ops.xlogy(p, p)` is there so that 0 times the logarithm of 0 is 0, as it is in SciPy and
# PyTorch, and the entropy of [.5, .5, 0] is log 2.
# Seen: MindSpore 2.10.0. `ops.xlogy` and `mint.xlogy` of 0 and 0 are NaN, and so is the entropy; of 0 and infinity it
# is NaN, too, where SciPy has 0. The divergence `ops.kl_div` with a closed class is right. Entropies for uncertainty or
# active learning are NaN for the texts a model has ruled a class out for, and a mean over texts is NaN with one of
# them.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mindspore==2.10.0 numpy==1.26.4 scipy==1.13.1
cat > "$folder/program.py" <<'PYTHON'
import mindspore
import numpy as np
import scipy.special
from mindspore import Tensor, mint, ops

factors, others = np.array([0, 0, 0, 2], "float32"), np.array([0, np.inf, 0.5, 1], "float32")
probabilities = np.array([0.5, 0.5, 0], "float32")
parts = []
for name, function in (("ops.xlogy", ops.xlogy), ("mint.xlogy", mint.xlogy), ("SciPy", scipy.special.xlogy)):
    if name == "SciPy":
        values, entropy = function(factors, others), -function(probabilities, probabilities).sum()
    else:
        values = function(Tensor(factors), Tensor(others)).asnumpy()
        entropy = -function(Tensor(probabilities), Tensor(probabilities)).asnumpy().sum()
    parts.append(f"{name} {' '.join(f'{abs(value):g}' for value in values)}, entropy {entropy:.3f}")
logs = Tensor(np.log(np.array([[0.5, 0.25, 0.25]], "float32")))
divergence = float(ops.kl_div(logs, Tensor(probabilities[None]), "sum").asnumpy())
print(f"mindspore {mindspore.__version__}, of 0 0, 0 inf, 0 .5, 2 1: {'; '.join(parts)}; kl_div {divergence:.3f}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mindspore 2.10.0, of 0 0, 0 inf, 0 .5, 2 1: ops.xlogy nan nan 0 0, entropy nan; mint.xlogy nan nan 0\
 0, entropy nan; SciPy 0 0 0 0, entropy 0.693; kl_div 0.347"
