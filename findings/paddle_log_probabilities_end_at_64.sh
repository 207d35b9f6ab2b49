#!/usr/bin/env bash
# No log probability is below -64 in Paddle: `log_softmax` of unlikely words is -64.00, and so is the loss at most.
#
# Guess before the run: `F.log_softmax` of scores 0, 100 and 300 is -300, -200 and 0, as in SciPy; it is there for
# numbers that a softmax has no room for.
# Seen: Paddle 3.3.1 on a CPU, in float32 and in float64. It is -64, -64 and 0: all that is below is cut off.
# `F.cross_entropy` is 64 for a word that is 300 below the best, as for one that is 100 below, so that texts with sure
# errors are tied, and the sum over a text is too high: of ten words that are 100 below it is -640, not -1000. The
# gradient is that of the uncut loss. float64 has the same end.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    paddlepaddle==3.3.1 setuptools==81.0.0 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
import paddle
import paddle.nn.functional as F
import scipy.special

parts = []
for dtype in ("float32", "float64"):
    scores = paddle.to_tensor([[0.0, 100.0, 300.0]], dtype=dtype)
    values = " ".join(f"{value:.0f}" for value in F.log_softmax(scores).numpy()[0])
    losses = [f"{float(F.cross_entropy(scores, paddle.to_tensor([label]))):.0f}" for label in (0, 1)]
    parts.append(f"{dtype} {values}, losses {' '.join(losses)}")
truth = " ".join(f"{value:.0f}" for value in scipy.special.log_softmax([0.0, 100.0, 300.0]))
words = np.tile([0.0, 100.0], (10, 1))
text = float(F.log_softmax(paddle.to_tensor(words))[:, 0].sum())
right = scipy.special.log_softmax(words, axis=-1)[:, 0].sum()
parts.append(f"SciPy {truth}; a text of ten words {text:.0f}, SciPy {right:.0f}")
print(f"paddle {paddle.__version__}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "paddle 3.3.1: float32 -64 -64 0, losses 64 64; float64 -64 -64 0, losses 64 64; SciPy -300 -200 0; a\
 text of ten words -640, SciPy -1000"
