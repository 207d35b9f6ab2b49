#!/usr/bin/env bash
# BigBird of transformers has no random blocks outside of training: it reads the first block three times instead.
#
# Guess before the run: with `attention_type="block_sparse"` a query reads the first and the last block, its own with
# the two beside it, and `num_random_blocks` others, each key once, in training and in evaluation.
# Seen: transformers 5.24.0, 1,024 words in blocks of 16, all scores alike. In training a query in the middle reads 7
# blocks with 1/7 of its weight each. In evaluation it reads 5, the two random ones are both block 0: [CLS] and the 15
# words after it have 3/7 of the weight, or (r + 1) / (r + 5) with r random blocks, and no distant word is read but the
# last ones. The model is trained with other attention than it predicts with.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    transformers==5.24.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import torch
import transformers
from transformers import BigBirdConfig, BigBirdModel
from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention

length, block = 1024, 16
mask = torch.ones(1, length)
blocked, band, rows, columns = BigBirdModel.create_masks_for_block_sparse_attn(mask, block)


def weights(training, random):
    """Weights by blocks of the word in the middle: all scores are 0, and values are one-hot."""
    torch.manual_seed(0)
    config = BigBirdConfig(hidden_size=length, num_attention_heads=1, block_size=block, num_random_blocks=random)
    layer = BigBirdBlockSparseAttention(config, seed=0).train(training)
    with torch.no_grad():
        layer.query.weight.zero_()
        layer.query.bias.zero_()
        layer.value.weight.copy_(torch.eye(length))
        layer.value.bias.zero_()
        output = layer(
            torch.eye(length)[None],
            band_mask=band,
            from_mask=rows,
            to_mask=columns,
            from_blocked_mask=blocked,
            to_blocked_mask=blocked,
        )[0]
    of_blocks = output[0, length // 2].view(-1, block).sum(1)
    return f"{int((of_blocks > 1e-6).sum())} {of_blocks[0]:.2f}"


parts = [f"{r} random: {weights(True, r)} in training, {weights(False, r)} in evaluation" for r in (2, 3)]
print(f"transformers {transformers.__version__}, blocks that are read and weight of the first: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers 5.24.0, blocks that are read and weight of the first: 2 random: 7 0.14 in training, 5 0.4\
3 in evaluation; 3 random: 8 0.12 in training, 5 0.50 in evaluation"
