#!/usr/bin/env bash
# Paddle's logcumsumexp turns NaN into numbers: a broken score counts as another one of the largest so far, unseen.
#
# Guess before the run: a cumulative log sum over scores is NaN from the first NaN on, as in PyTorch, so that a model
# that has diverged shows it.
# Seen: paddlepaddle 3.3.1, PyTorch 2.13.0. A NaN in the middle counts as the largest score so far: of 1, NaN, 3 the
# sums are 1, 1.69, 3.24, those of 1, 1, 3. Only a NaN in front is one in the result. In float32 and float64, and along
# each axis, it is the same; `paddle.logsumexp` of the same scores is NaN. A CTC or an HMM recursion that is built on it
# goes on with a finite loss over broken states.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    paddlepaddle==3.3.1 torch==2.13.0 numpy==2.4.6 setuptools==80.8.0
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
import paddle
import torch

nan = float("nan")
words = []
for scores in ([1.0, nan, 3.0], [1.0, 1.0, 3.0], [nan, 1.0, 3.0], [5.0, 1.0, nan]):
    ours = paddle.logcumsumexp(paddle.to_tensor(scores), 0).numpy()
    theirs = torch.logcumsumexp(torch.tensor(scores), 0).numpy()
    words.append(f"{scores} {[round(float(x), 2) for x in ours]} (PyTorch {[round(float(x), 2) for x in theirs]})")
whole = float(paddle.logsumexp(paddle.to_tensor([1.0, nan, 3.0])))
print(f"paddlepaddle {paddle.__version__}, logcumsumexp: {', '.join(words)}; logsumexp of 1, NaN, 3: {whole}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "paddlepaddle 3.3.1, logcumsumexp: [1.0, nan, 3.0] [1.0, 1.69, 3.24] (PyTorch [1.0, nan, nan]), [1.0, 1\
.0, 3.0] [1.0, 1.69, 3.24] (PyTorch [1.0, 1.69, 3.24]), [nan, 1.0, 3.0] [-3.4028234663852886e+38, 1.0, 3.13] (PyTorch \
[nan, nan, nan]), [5.0, 1.0, nan] [5.0, 5.02, 5.71] (PyTorch [5.0, 5.02, nan]); logsumexp of 1, NaN, 3: nan"
