#!/usr/bin/env bash
# `use_nesterov=True` of MindSpore's `Momentum` does nothing: the steps are those of plain momentum, not of its page.
#
# Guess before the run: `nn.Momentum(use_nesterov=True)` steps by lr (grad + u v) with the new v, as its page says and
# as `nn.SGD(nesterov=True)` of the same package does: the first step is 1.9 lr grad for u = .9.
# Seen: MindSpore 2.10.0 on a CPU, NumPy 1.26.4. The first step is lr grad, and all others are those without Nesterov,
# too: 0.10, 0.19, 0.27, where the page and SGD have 0.19, 0.27, 0.34. What is added is u times the velocity before the
# gradient, and with the gradient that is the plain velocity.
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
from mindspore import Parameter, Tensor, nn

rate, u = 0.1, 0.9
gradients = [1.0, 1.0, 1.0, -2.0]


def steps(optimizer):
    weight = Parameter(Tensor(np.zeros(1, "float32")), name="weight")
    optimizer = optimizer([weight])
    places = [0.0]
    for gradient in gradients:
        optimizer((Tensor(np.array([gradient], "float32")),))
        places.append(float(weight.asnumpy()[0]))
    return -np.diff(places)


def formula():
    velocity, found = 0.0, []
    for gradient in gradients:
        velocity = velocity * u + gradient
        found.append(rate * (gradient + u * velocity))
    return found


def row(values):
    return " ".join(f"{value:.3f}" for value in values)


print(
    f"mindspore {mindspore.__version__}: Momentum {row(steps(lambda w: nn.Momentum(w, rate, u, use_nesterov=True)))},",
    f"SGD {row(steps(lambda w: nn.SGD(w, rate, u, nesterov=True)))}, the page {row(formula())},",
    f"without Nesterov {row(steps(lambda w: nn.Momentum(w, rate, u)))}",
)
PYTHON
seen=$(GLOG_v=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mindspore 2.10.0: Momentum 0.100 0.190 0.271 0.044, SGD 0.190 0.271 0.344 -0.160, the page 0.190\
 0.271 0.344 -0.160, without Nesterov 0.100 0.190 0.271 0.044"
