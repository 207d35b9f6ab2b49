#!/usr/bin/env bash
# The moving average of weights in PaddleNLP grows by its decay, .999, in every step, and is not taken out again.
#
# Guess before the run: the mean of a weight that stays 0.5 is 0.5 after each `update`; `apply_shadow` puts it into the
# model, and `restore` gives the model its own weight back.
# Seen: paddlenlp 2.8.1 with paddlepaddle 3.3.1. The mean is 1.500, 2.499 and 3.499: the decay is added to the mean
# instead of being multiplied by it. After `restore` the model still has 3.499, since what was kept is the parameter
# itself, and is given to a name only. So training goes on from that mean after an evaluation. (The module is loaded by
# its path, without PaddleNLP's own imports, which it does not use.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    paddlepaddle==3.3.1 numpy==2.4.6 setuptools==80.8.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    paddlenlp==2.8.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util

import paddle

path = importlib.metadata.distribution("paddlenlp").locate_file("paddlenlp/ops/optimizer/ema.py")
spec = importlib.util.spec_from_file_location("ema", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

layer = paddle.nn.Linear(1, 1)
layer.weight.set_value(paddle.full([1, 1], 0.5))
mean = module.ExponentialMovingAverage(layer, decay=0.999)
mean.register()
means = []
for _ in range(3):
    mean.update()
    means.append(f"{mean.shadow['weight'].item():.3f}")
mean.apply_shadow()
applied = layer.weight.item()
mean.restore()
print(
    f"paddlenlp {importlib.metadata.version('paddlenlp')}: weight 0.5, mean {', '.join(means)};",
    f"applied {applied:.3f}, restored {layer.weight.item():.3f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "paddlenlp 2.8.1: weight 0.5, mean 1.500, 2.499, 3.499; applied 3.499, restored 3.499"
