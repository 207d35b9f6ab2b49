#!/usr/bin/env bash
# The ROUGE-1 of each text in rouge-torch is that of its whole batch: two texts in each other's place have 1.00.
#
# Guess before the run: `rouge_n_batch` gives each text of a batch the score that it has alone.
# Seen: rouge-torch 0.1.0. A copy has 1.00 alone and a text without a common word 0.00; in one batch both have .50, and
# two texts that are each the reference of the other have 1.00, as if they were right: the n-grams of all texts are
# added to the counts of every text. So a `compute_rouge_loss` of 0 says that the batch has the right words somewhere.
# This loss, of a package of "differentiable ROUGE scores for PyTorch neural network training", has no gradient: it
# takes the best word of each place first. ROUGE-L of a batch is right for texts of up to 20 words.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    rouge-torch==0.1.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from rouge_torch import ROUGEScoreTorch

scorer = ROUGEScoreTorch(50)


def logits(*texts):
    return torch.nn.functional.one_hot(torch.tensor(texts), 50) * 10.0


def scores(texts, references, name="rouge_n_batch"):
    result = getattr(scorer, name)(logits(*texts), [logits(*references)])["f1"]
    return " ".join(f"{value:.2f}" for value in result)


first, second = list(range(1, 9)), list(range(11, 19))
candidates = logits(first, second).requires_grad_()
loss = scorer.compute_rouge_loss(candidates, [logits(first, second)])
print(
    f"rouge-torch {importlib.metadata.version('rouge-torch')}, ROUGE-1: copy alone {scores([first], [first])},",
    f"other alone {scores([second], [first])}, both in a batch {scores([first, second], [first, first])},",
    f"exchanged {scores([second, first], [first, second])}",
    f"(ROUGE-L {scores([second, first], [first, second], 'rouge_l_batch')});",
    f"the loss has a gradient: {loss.requires_grad}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "rouge-torch 0.1.0, ROUGE-1: copy alone 1.00, other alone 0.00, both in a batch 0.50 0.50, exchanged\
 1.00 1.00 (ROUGE-L 0.00 0.00); the loss has a gradient: False"
