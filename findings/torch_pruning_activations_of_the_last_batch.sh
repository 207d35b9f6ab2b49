#!/usr/bin/env bash
# Activation importance of torch-pruning is that of the last batch of calibration data: earlier ones are overwritten.
#
# Guess before the run: inside of `with importance.compute_importance(model)` the sizes of activations of all batches
# that are run add up, so that the order of the batches is without effect.
# Seen: torch-pruning 1.6.1. Each forward pass sets the scores anew. Of eight batches of 16 texts the scores are those
# of the last one alone; in the reverse order they are those of the first, and of the 16 units of 64 that would be
# pruned 10 are others; five of the 16 are others than by all batches together. The last batch of a data set is often a
# small one.
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
model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.GELU(), torch.nn.Linear(64, 2)).eval()
batches = torch.randn(8, 16, 16)
graph = tp.DependencyGraph().build_dependency(model, batches[0])
group = graph.get_pruning_group(model[0], tp.prune_linear_out_channels, idxs=list(range(64)))


def scores(order):
    importance = tp.importance.ActivationImportance(normalizer=None)
    with importance.compute_importance(model), torch.no_grad():
        for number in order:
            model(batches[number])
    return importance(group)


forward, reverse = scores(range(8)), scores(range(7, -1, -1))
last, first = scores([7]), scores([0])
with torch.no_grad():
    right = model[1](model[0](batches.reshape(-1, 16))).abs().sum(0)
pruned = [set(one.argsort()[:16].tolist()) for one in (forward, reverse, right)]
version = importlib.metadata.version("torch-pruning")
print(
    f"torch-pruning {version}: as of the last batch {torch.allclose(forward, last)},",
    f"in reverse as of the first {torch.allclose(reverse, first)}; of 16 pruned units {len(pruned[0] - pruned[1])} are",
    f"others in reverse, {len(pruned[0] - pruned[2])} others than by all batches",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torch-pruning 1.6.1: as of the last batch True, in reverse as of the first True; of 16 pruned units\
 10 are others in reverse, 5 others than by all batches"
