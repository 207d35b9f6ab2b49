#!/usr/bin/env bash
# torchtext's causal mask hides what was before a word and shows what comes after it: it is turned round.
#
# Guess before the run: `generate_square_subsequent_mask(1, 3)`, "the masked positions are filled with True", is True
# above the diagonal, and MultiheadAttentionContainer of the same file, which masks where it is True, lets a word see
# itself and the words before it.
# Seen: torchtext 0.18.0, PyTorch 2.13.0. The mask is True on and below the diagonal. With equal scores and the values
# 1, 4, 7 the three words read 5.5, 7.0 and 4.0 where 1.0, 2.5 and 4.0 is right: each reads the words after it, and the
# last one, whose scores are all masked, reads all. A language model trained so reads its answer; the inverse of the
# mask is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    torchtext==0.18.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util

import torch

package = importlib.metadata.distribution("torchtext")
path = package.locate_file("torchtext/nn/modules/multiheadattention.py")
spec = importlib.util.spec_from_file_location("attention", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

zeros = torch.zeros(3, 1, 1)
values = torch.tensor([1.0, 4.0, 7.0]).reshape(3, 1, 1)


def read(mask):
    output, _ = module.ScaledDotProduct()(zeros, zeros, values, attn_mask=mask)
    return " ".join(f"{number:.1f}" for number in output.flatten())


mask = module.generate_square_subsequent_mask(1, 3)
rows = ["".join("x" if cell else "." for cell in row) for row in mask[0]]
print(f"torchtext {package.version}: mask {' '.join(rows)}, words read {read(mask)}; its inverse {read(~mask)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchtext 0.18.0: mask x.. xx. xxx, words read 5.5 7.0 4.0; its inverse 1.0 2.5 4.0"
