#!/usr/bin/env bash
# The remainder of a negative integer is negative in ExecuTorch, and not in PyTorch: hashed bigrams have other buckets.
#
# Guess before the run: `(31 * word - 35 * next) % 1000`, the bucket of a pair of ids in a table of hashed bigrams, and
# the place before each, (i - 1) % 5, are the same in ExecuTorch as in PyTorch, where % has the sign of the divisor.
# Seen: executorch 1.5.1 with torch 2.14.1. For integers ExecuTorch gives the remainder of C, with the sign of the
# dividend: -674 instead of 326, a row that no table has, and -1 instead of 4. For floats it gives PyTorch's, so that a
# model which counts in float32 has other places than one in int64.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    executorch==1.5.1 torch==2.14.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch

from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


class Buckets(torch.nn.Module):
    def forward(self, ids):
        return (31 * ids[:-1] - 35 * ids[1:]) % 1000


class Before(torch.nn.Module):
    def forward(self, places):
        return (places - 1) % 5


words = []
for name, model, values in (
    ("buckets", Buckets(), torch.tensor([101, 2023, 3007, 4012, 102])),
    ("places", Before(), torch.arange(5)),
    ("float places", Before(), torch.arange(5.0)),
):
    program = to_edge_transform_and_lower(torch.export.export(model, (values,))).to_executorch()
    found = Runtime.get().load_program(program.buffer).load_method("forward").execute([values])[0]
    words.append(f"{name} {found.int().tolist()} for {model(values).int().tolist()}")
print(f"executorch {importlib.metadata.version('executorch')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "executorch 1.5.1: buckets [-674, -532, -203, 802] for [326, 468, 797, 802]; places [-1, 0, 1, 2, 3] for\
 [4, 0, 1, 2, 3]; float places [4, 0, 1, 2, 3] for [4, 0, 1, 2, 3]"
