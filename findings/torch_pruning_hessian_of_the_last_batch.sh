#!/usr/bin/env bash
# Hessian importance of torch-pruning adds up nothing: of 64 gradients that it was given it scores by the last one.
#
# Guess before the run: `GroupHessianImportance.accumulate_grad(model)`, called after the backward pass of each
# example, adds up squared gradients, so that the scores of units are those of the mean over all examples.
# Seen: torch-pruning 1.6.1. Sums are kept by parameter, but whether there is one is asked by the parameter's name:
# there never is, so that each call begins anew. After 64 examples all scores are those of the last example alone, and
# of the eight units of 32 that would be pruned five are others than by the mean; in the reverse order of the examples
# the scores are those of the first one, and two units are others. Feed-forward units and heads of a BERT are chosen by
# the example that came last.
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


class FeedForward(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 32, bias=False)
        self.outer = torch.nn.Linear(32, 2, bias=False)

    def forward(self, states):
        return self.outer(torch.nn.functional.gelu(self.inner(states)))


torch.manual_seed(0)
model = FeedForward()
states, labels = torch.randn(64, 8), torch.randint(0, 2, (64,))
graph = tp.DependencyGraph().build_dependency(model, states[:2])
group = graph.get_pruning_group(model.inner, tp.prune_linear_out_channels, idxs=list(range(32)))


def backward(number):
    model.zero_grad()
    torch.nn.functional.cross_entropy(model(states[number : number + 1]), labels[number : number + 1]).backward()


def scores(examples):
    importance = tp.importance.GroupHessianImportance(normalizer=None, group_reduction="sum")
    for number in examples:
        backward(number)
        importance.accumulate_grad(model)
    return importance(group)


right = torch.zeros(32)
for number in range(64):
    backward(number)
    parts = [(one.weight.detach() * one.weight.grad) ** 2 for one in (model.inner, model.outer)]
    right += (parts[0].sum(1) + parts[1].sum(0)) / 64
alone = {number: scores([number]) for number in (0, 63)}
words = []
for name, order, last in (("", range(64), 63), ("in reverse ", range(63, -1, -1), 0)):
    seen = scores(order)
    equal = torch.allclose(seen, alone[last])
    pruned, wanted = (set(one.argsort()[:8].tolist()) for one in (seen, right))
    words.append(f"{name}as the last one: {equal}, {len(pruned - wanted)} of 8 pruned units are others")
print(f"torch-pruning {importlib.metadata.version('torch-pruning')}, 64 examples {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torch-pruning 1.6.1, 64 examples as the last one: True, 5 of 8 pruned units are others; in reverse as\
 the last one: True, 2 of 8 pruned units are others"
