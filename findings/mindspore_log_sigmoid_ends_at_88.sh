#!/usr/bin/env bash
# The log probability of a yes or no, `logsigmoid`, is minus infinity below -88 in MindSpore, and its gradient is NaN.
#
# Guess before the run: `ops.logsigmoid(-100)` is -100 and its derivative 1, as the loss
# `binary_cross_entropy_with_logits` of the same package has it.
# Seen: MindSpore 2.10.0 on a CPU, NumPy 1.26.4. At -100 the value is minus infinity and the derivative NaN, for the log
# is taken of a sigmoid that is 0; `nn.LogSigmoid` has a derivative of 0 at -88 already. The ready loss has 100 and 1.
# One text that a classifier, a re-ranker's pairwise loss or ELECTRA's detector is surely wrong about makes all weights
# NaN, if the loss is written with `logsigmoid` or `nn.LogSigmoid`.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mindspore==2.10.0 numpy==1.26.4
cat > "$folder/program.py" <<'PYTHON'
import mindspore
import numpy as np
from mindspore import Tensor, nn, ops

logits = Tensor(np.array([-20.0, -88.0, -100.0], "float32"))
ones = ops.ones_like(logits)
losses = {
    "ops.logsigmoid": lambda x: -ops.logsigmoid(x),
    "nn.LogSigmoid": lambda x: -nn.LogSigmoid()(x),
    "ready loss": lambda x: ops.binary_cross_entropy_with_logits(x, ones, ones, ones, reduction="none"),
}


def row(values):
    return " ".join(f"{value:.2f}" for value in values.asnumpy())


parts = []
for name, loss in losses.items():
    gradient = mindspore.grad(lambda x: loss(x).sum())(logits)
    parts.append(f"{name} {row(loss(logits))}, gradients {row(gradient)}")
print(f"mindspore {mindspore.__version__}: {'; '.join(parts)}")
PYTHON
seen=$(GLOG_v=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mindspore 2.10.0: ops.logsigmoid 20.00 88.00 inf, gradients -1.00 -1.00 nan; nn.LogSigmoid 20.00\
 88.00 inf, gradients -1.00 -0.00 nan; ready loss 20.00 88.00 100.00, gradients -1.00 -1.00 -1.00"
