#!/usr/bin/env bash
# MindSpore's Dice coefficient of perfect tags is 1.00 in batches of one text and .125 in batches of eight.
#
# Guess before the run: `Dice` of predictions that are equal to the labels is 1, in batches of any size.
# Seen: MindSpore 2.10.0. `update` adds one coefficient for a whole batch, and `eval` divides by the number of texts. In
# batches of 1, 2 and 8 the perfect tagger has 1.00, .50 and .12, and one that is wrong in a fifth of the tags .81, .40
# and .10: the wrong one of batch size 1 is better than the perfect one of batch size 2. The best checkpoint is that of
# the smallest batch.
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
from mindspore import Tensor
from mindspore.train import Dice

random = np.random.default_rng(0)
labels = random.integers(0, 2, (8, 100)).astype(np.float32)
flipped = np.where(random.uniform(size=labels.shape) < 0.2, 1 - labels, labels)


def dice(tags, size):
    metric = Dice()
    for start in range(0, len(labels), size):
        metric.update(Tensor(tags[start : start + size]), Tensor(labels[start : start + size]))
    return metric.eval()


parts = [f"batches of {size} {dice(labels, size):.2f} {dice(flipped, size):.2f}" for size in (1, 2, 8)]
print(f"mindspore {mindspore.__version__}, Dice of perfect tags and of a fifth wrong: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mindspore 2.10.0, Dice of perfect tags and of a fifth wrong: batches of 1 1.00 0.81, batches of 2 0.50\
 0.40, batches of 8 0.12 0.10"
