#!/usr/bin/env bash
# The log of a sum of impossible scores is NaN in Paddle, not minus infinity: one closed tag makes a CRF's loss NaN.
#
# Guess before the run: `logsumexp` of minus infinities is minus infinity, as in PyTorch, NumPy and SciPy, as exp(-inf)
# is 0 and the log of 0 is -inf.
# Seen: PaddlePaddle 3.3.1 on a CPU. `logsumexp` and `logaddexp` of minus infinities are NaN: the greatest score is
# taken away first, and -inf less -inf is NaN. `logcumsumexp` gives -3.4e38. A CRF that starts with all tags but one
# closed, and has a tag that no tag leads to, has a NaN in the second step and in its partition; with -1e4 for minus
# infinity it is 1.39, the log of 4.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    paddlepaddle==3.3.1 setuptools==81.0.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
import paddle

infinity = float("inf")
closed = paddle.to_tensor([-infinity] * 3)


def partition(low):
    """Returns the log-sum of two words' tags, of which the first can't be reached."""
    start = paddle.to_tensor([low, 0.0, low])
    # From tag (row) to tag (column).
    transitions = paddle.to_tensor([[low, 0.0, 0.0], [low, 0.0, 0.0], [low, 0.0, 0.0]])
    states = start
    for _ in range(2):
        states = paddle.logsumexp(states[:, None] + transitions, 0)
    return f"{float(paddle.logsumexp(states)):.2f}"


print(
    f"PaddlePaddle {paddle.__version__}: logsumexp {float(paddle.logsumexp(closed))},",
    f"logaddexp {float(paddle.logaddexp(closed, closed)[0])},",
    f"logcumsumexp {float(paddle.logcumsumexp(closed)[-1])}, NumPy {np.logaddexp(-infinity, -infinity)};",
    f"partition {partition(-infinity)}, with -1e4 {partition(-1e4)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "PaddlePaddle 3.3.1: logsumexp nan, logaddexp nan, logcumsumexp -3.4028234663852886e+38, NumPy -inf;\
 partition nan, with -1e4 1.39"
