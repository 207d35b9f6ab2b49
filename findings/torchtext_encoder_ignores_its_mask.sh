#!/usr/bin/env bash
# torchtext's encoder, its RoBERTa, ignores `attn_mask` unless all layers are asked for: packed texts read each other.
#
# Guess before the run: `TransformerEncoder(...)(tokens, attn_mask=mask)` keeps words from seeing what the mask hides,
# with `return_all_layers` and without it.
# Seen: torchtext 0.18.0, PyTorch 2.13.0. With `return_all_layers=True` a mask that hides the second half from the first
# one works: other words in the second half change nothing of the first. Without it, which is the default of its
# RoBERTa, the mask is checked for its type and not used: the first half changes by .38, as far as without a mask. A
# causal mask is lost likewise.
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
path = package.locate_file("torchtext/models/roberta/modules.py")
spec = importlib.util.spec_from_file_location("roberta", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

tokens = torch.tensor([[2, 3, 4, 5, 6, 7], [2, 3, 4, 8, 9, 10]])
mask = torch.ones(6, 6, dtype=torch.bool)
mask[:3, :3] = mask[3:, 3:] = False


def change(all_layers, mask):
    """How far the first three words' states differ if the three others differ."""
    torch.manual_seed(0)
    encoder = module.TransformerEncoder(
        vocab_size=12,
        embedding_dim=8,
        padding_idx=1,
        max_seq_len=16,
        num_encoder_layers=2,
        num_attention_heads=2,
        return_all_layers=all_layers,
    ).eval()
    with torch.no_grad():
        states = encoder(tokens, attn_mask=mask)
    states = states[-1] if all_layers else states
    return f"{(states[:3, 0] - states[:3, 1]).abs().max():.2f}"


print(
    f"torchtext {package.version}, change of the masked-out text's neighbour: all layers {change(True, mask)},",
    f"last layer {change(False, mask)}, without a mask {change(False, None)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchtext 0.18.0, change of the masked-out text's neighbour: all layers 0.00, last layer 0.38, without\
 a mask 0.38"
