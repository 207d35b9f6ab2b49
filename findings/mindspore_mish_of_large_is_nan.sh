#!/usr/bin/env bash
# Mish of a unit of 45 is NaN in MindSpore on a CPU, and infinite at 44: the gradient beside it is 1, as it should be.
#
# Guess before the run: mish(x), x times tanh of softplus(x), is x itself for large x, as in PyTorch and as its page
# draws it.
# Seen: MindSpore 2.10.0. It is 40 at 40, infinite at 44, and NaN from 44.5 on, by `ops.mish`, by `nn.Mish` and by the
# activation "mish" of a Dense, in float16, too: it computes a ratio with the square of exp(x), which is infinite then.
# The gradient is 1 all the while, so that nothing of it shows in a backward pass. GELU and SiLU are right. Units of 45
# are usual where an encoder has outliers: one of them makes all outputs of a text NaN.
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

units = (20, 40, 44, 45, 100)


def shown(function, type="float32"):
    return " ".join(f"{float(function(Tensor(np.array([unit], type))).asnumpy()[0]):g}" for unit in units)


slope = mindspore.grad(lambda inputs: ops.mish(inputs).sum())
dense = nn.Dense(1, 1, weight_init="ones", bias_init="zeros", activation="mish")
parts = [
    f"ops.mish {shown(ops.mish)}",
    f"float16 {shown(ops.mish, 'float16')}",
    f"nn.Mish {shown(nn.Mish())}",
    f"Dense {shown(lambda inputs: dense(inputs[None])[0])}",
    f"its gradient {shown(slope)}",
    f"gelu {shown(ops.gelu)}",
    f"silu {shown(ops.silu)}",
]
print(f"mindspore {mindspore.__version__}, at {' '.join(map(str, units))}: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mindspore 2.10.0, at 20 40 44 45 100: ops.mish 20 40 inf nan nan, float16 20 40 inf nan nan, nn.Mish\
 20 40 inf nan nan, Dense 20 40 inf nan nan, its gradient 1 1 1 1 1, gelu 20 40 44 45 100, silu 20 40 44 45 100"
