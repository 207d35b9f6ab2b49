#!/usr/bin/env bash
# A layer that is NaN shows nothing in MindSpore: ReLU makes 0 of it, `clamp` a limit, a maximum another number.
#
# Guess before the run: what is NaN stays NaN in ReLU, `clamp`, `maximum` and `amax`, as in NumPy and PyTorch, so that a
# diverged or overflown BERT is seen in its loss.
# Seen: MindSpore 2.10.0 on a CPU, NumPy 1.26.4. ReLU, `clamp` and `maximum` take NaN for 0, for the lower limit and for
# the other number, while GELU, ReLU6 and LeakyReLU keep it. `amax` is NaN only if the first of its numbers is, and
# `argmax` takes the NaN for no maximum elsewhere. So a head of ReLU or max pooling over NaN says something, and says it
# of all texts alike: no loss is NaN, and no check finds it.
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

nan = np.nan
words = Tensor(np.array([[nan, 1, 2], [1, nan, 2], [1, 2, nan]], "float32"))
found = {
    "ReLU": nn.ReLU()(words)[0],
    "clamp": ops.clamp(words, -1, 5)[0],
    "maximum": ops.maximum(words, Tensor(-3.0))[0],
    "GELU": nn.GELU(approximate=False)(words)[0],
    "LeakyReLU": nn.LeakyReLU()(words)[0],
    "amax": ops.amax(words, 1),
    "argmax": ops.argmax(words, 1),
}
numpy = {"amax": np.max(words.asnumpy(), 1), "argmax": np.argmax(words.asnumpy(), 1)}


def row(values):
    return " ".join(f"{value:.3g}" for value in np.asarray(values))


parts = [f"{name} {row(values.asnumpy())}" for name, values in found.items()]
parts += [f"NumPy's {name} {row(values)}" for name, values in numpy.items()]
print(f"mindspore {mindspore.__version__}: {', '.join(parts)}")
PYTHON
seen=$(GLOG_v=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mindspore 2.10.0: ReLU 0 1 2, clamp -1 1 2, maximum -3 1 2, GELU nan 0.841 1.95, LeakyReLU nan 1 2,\
 amax nan 2 2, argmax 0 2 1, NumPy's amax nan nan nan, NumPy's argmax 0 1 2"
