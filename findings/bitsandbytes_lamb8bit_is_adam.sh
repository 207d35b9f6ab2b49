#!/usr/bin/env bash
# LAMB8bit of bitsandbytes is Adam: it has no trust ratio, so that a BERT's kernels move 50 times as far as LAMB says.
#
# Guess before the run: LAMB8bit moves a weight by nearly the learning rate times its norm, as LAMB of 32 bits does.
# Seen: bitsandbytes 0.50.2 on the CPU; a kernel of deviation 0.02, the learning rate 0.001; by how much of itself it
# moves in step 1, in thousandths. LAMB 0.32, LAMB8bit 49.9, which is AdamW8bit to the last bit; of the same weight with
# fewer than 4,096 elements, which stay at 32 bits, 0.32. The update of 8 bits, which is blockwise on GPUs too, has no
# argument for "max_unorm", which is all that tells LAMB from Adam here; LARS8bit and LARS differ in the same way.
# The 0.32 are those of a bias correction after the ratio: the same with bias_correction=False, which isn't read.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    bitsandbytes==0.50.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import bitsandbytes
import torch


def move(name, rows=64, **kwargs):
    """Returns by how much of itself a weight moves in step 1, in thousandths, and the weight after ten steps."""
    torch.manual_seed(0)
    parameter = torch.nn.Parameter(torch.randn(rows, 128) * 0.02)
    optimizer = getattr(bitsandbytes.optim, name)([parameter], lr=0.001, weight_decay=0, **kwargs)
    moves = []
    for _ in range(10):
        before = parameter.detach().clone()
        parameter.grad = torch.randn_like(parameter)
        optimizer.step()
        moves.append(1000 * float((parameter.detach() - before).norm() / before.norm()))
    return f"{moves[0]:.2f}", parameter.detach()


first, weight = move("LAMB8bit")
adam, other = move("AdamW8bit")
found = {
    "LAMB": move("LAMB")[0],
    "LAMB8bit": first,
    "LAMB8bit of 2,048": move("LAMB8bit", rows=16)[0],
    "AdamW8bit": adam,
    "equal weights": torch.equal(weight, other),
    "LAMB without correction": move("LAMB", bias_correction=False)[0],
    "LARS": move("LARS", momentum=0.9)[0],
    "LARS8bit": move("LARS8bit", momentum=0.9)[0],
}
version = importlib.metadata.version("bitsandbytes")
print(f"bitsandbytes {version}: {', '.join(f'{name} {value}' for name, value in found.items())}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bitsandbytes 0.50.2: LAMB 0.32, LAMB8bit 49.91, LAMB8bit of 2,048 0.32, AdamW8bit 49.91, equal\
 weights True, LAMB without correction 0.32, LARS 0.02, LARS8bit 50.23"
