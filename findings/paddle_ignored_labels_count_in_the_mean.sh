#!/usr/bin/env bash
# Words with the label -100 cost nothing in Paddle, and count in the mean: a masked LM's loss is .15 of what it is.
#
# Guess before the run: the mean of `cross_entropy` is over the labels that are not ignored, as in PyTorch, whose
# default `ignore_index=-100` is Paddle's as well.
# Seen: PaddlePaddle 3.3.1 on a CPU. Of 1,000 words 150 have a label, the others -100: the loss is .31 where the mean of
# the 150 is 2.06, and so it is with -1 and `ignore_index=-1`. With `weight=` of ones it is 2.06, with a padding label
# of 0 or more and that `ignore_index`, too. The page says that a negative value means "that no label value needs to be
# ignored"; they are ignored all the same, and their number is not. Gradients are .15 of what they are elsewhere, and of
# batches with fewer labels less.
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
import paddle.nn.functional as F

random = np.random.default_rng(0)
logits = paddle.to_tensor(random.normal(size=(1000, 6)).astype("float32"))
labels = random.integers(0, 5, 1000)
hidden = np.arange(1000) < 150
right = F.cross_entropy(logits[:150], paddle.to_tensor(labels[:150]))


def loss(ignored, **options):
    """Returns the loss where words without a label have this one."""
    marked = paddle.to_tensor(np.where(hidden, labels, ignored))
    return f"{float(F.cross_entropy(logits, marked, **options)):.2f}"


print(
    f"PaddlePaddle {paddle.__version__}: of the 150 {float(right):.2f}; -100 {loss(-100)};",
    f"-1 {loss(-1, ignore_index=-1)}; -100 and weights of 1 {loss(-100, weight=paddle.ones([6]))};",
    f"5 {loss(5, ignore_index=5)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "PaddlePaddle 3.3.1: of the 150 2.06; -100 0.31; -1 0.31; -100 and weights of 1 2.06; 5 2.06"
