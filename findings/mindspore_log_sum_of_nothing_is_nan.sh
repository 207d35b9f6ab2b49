#!/usr/bin/env bash
# The log-sum of tags that are all closed is NaN in MindSpore, where it is minus infinity, and so is a CRF's loss.
#
# Guess before the run: `ops.logsumexp` of scores that are all minus infinity is minus infinity, as in SciPy, and
# infinity where a score is infinite.
# Seen: MindSpore 2.10.0 on a CPU, NumPy 1.26.4, SciPy 1.17.1. Both are NaN: the largest score is taken off, and
# infinity less infinity is NaN. A row with one open tag is right. A CRF's forward pass in which no tag may begin at one
# place, or a word without any candidate, makes the sum of a whole batch NaN. `np.logaddexp.reduce` and SciPy have minus
# infinity, whose weight is 0.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mindspore==2.10.0 numpy==1.26.4 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import mindspore
import numpy as np
from mindspore import Tensor, ops
from scipy.special import logsumexp

inf = np.inf
rows = {"one open": [-inf, 1.0, -inf], "none open": [-inf, -inf, -inf], "one infinite": [inf, 1.0, 2.0]}
parts = []
for name, row in rows.items():
    scores = np.array(row, "float32")
    found = float(ops.logsumexp(Tensor(scores), 0).asnumpy())
    parts.append(f"{name} {found:g} (SciPy {logsumexp(scores):g})")
batch = np.array(list(rows.values())[:2], "float32")
chances = ops.exp(ops.logsumexp(Tensor(batch), 1)).sum()
parts.append(f"sum of both chances {float(chances.asnumpy()):.2f} (SciPy {np.exp(logsumexp(batch, 1)).sum():.2f})")
print(f"mindspore {mindspore.__version__}: {', '.join(parts)}")
PYTHON
seen=$(GLOG_v=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mindspore 2.10.0: one open 1 (SciPy 1), none open nan (SciPy -inf), one infinite nan (SciPy inf), sum\
 of both chances nan (SciPy 2.72)"
