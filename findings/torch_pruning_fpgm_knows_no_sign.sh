#!/usr/bin/env bash
# FPGM of torch-pruning takes a unit and its negative for duplicates: it compares the squares of their weights.
#
# Guess before the run: `FPGMImportance` scores units by the sum of their distances from the others, as in the paper
# (filter pruning via geometric median): a unit that does what no other one does is kept.
# Seen: torch-pruning 1.6.1. Weights are squared (`abs().pow(p)`, p=2) before distances are taken. Of six units of a
# feed-forward layer four are equal, w, and one is their negative, which no other unit can stand for; the last is
# random. The distances of the five are 0 from each other, so that the negative has the same score as the four and is
# pruned as the first. By the distances of the weights it is the one to be kept. With `p=1` it is the same.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch-pruning==1.6.1 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
import torch_pruning as tp

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 6, bias=False), torch.nn.GELU(), torch.nn.Linear(6, 2, bias=False))
unit = torch.randn(8)
with torch.no_grad():
    model[0].weight.copy_(torch.stack([-unit, unit, unit, unit, unit, torch.randn(8)]))
graph = tp.DependencyGraph().build_dependency(model, torch.randn(2, 8))
group = graph.get_pruning_group(model[0], tp.prune_linear_out_channels, idxs=list(range(6)))
words = []
for power in (2, 1):
    scores = tp.importance.FPGMImportance(p=power, group_reduction="first", normalizer=None)(group)
    words.append(f"p={power} " + " ".join(f"{one:.1f}" for one in scores))
right = torch.cdist(model[0].weight, model[0].weight).sum(0)
words.append("distances of weights " + " ".join(f"{one:.1f}" for one in right))
version = importlib.metadata.version("torch-pruning")
print(f"torch-pruning {version}, scores of -w, w, w, w, w and another unit: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torch-pruning 1.6.1, scores of -w, w, w, w, w and another unit: p=2 5.1 5.1 5.1 5.1 5.1 25.4; p=1 2.4\
 2.4 2.4 2.4 2.4 11.9; distances of weights 27.6 8.5 8.5 8.5 8.5 14.4"
