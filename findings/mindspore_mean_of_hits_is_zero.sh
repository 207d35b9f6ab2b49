#!/usr/bin/env bash
# The accuracy of a BERT that is right in 9 of 10 texts is 0 in MindSpore, if it is the mean of hits that are integers.
#
# Guess before the run: `ops.mean` of integers is their mean, .9 of nine ones and a zero, as in NumPy, or an error, as
# in PyTorch.
# Seen: MindSpore 2.10.0 on a CPU, NumPy 1.26.4. It is 0: the mean has the type of its input and is cut off. The mean of
# four lengths of 20 to 24 words, 21.75, is 21. `Tensor.mean` does the same. As floats both are right.
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
from mindspore import Tensor, ops

hits = np.array([1] * 9 + [0], "int32")
lengths = np.array([20, 21, 22, 24], "int32")
parts = []
for name, numbers in (("hits", hits), ("lengths", lengths)):
    found = [ops.mean(Tensor(numbers)), Tensor(numbers).mean(), ops.mean(Tensor(numbers.astype("float32")))]
    values = " ".join(f"{float(value.asnumpy()):g}" for value in found)
    parts.append(f"{name} {values} (NumPy {numbers.mean():g})")
print(f"mindspore {mindspore.__version__}, ops.mean, Tensor.mean, as floats: {', '.join(parts)}")
PYTHON
seen=$(GLOG_v=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mindspore 2.10.0, ops.mean, Tensor.mean, as floats: hits 0 0 0.9 (NumPy 0.9), lengths 21 21 21.75\
 (NumPy 21.75)"
