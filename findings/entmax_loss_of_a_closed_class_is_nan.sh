#!/usr/bin/env bash
# Losses of the package entmax are NaN if a class is closed by minus infinity, though all its probabilities are right.
#
# Guess before the run: logits of minus infinity, as for words that may not be predicted, have a probability of 0 in
# sparsemax and entmax, and a loss of the other classes is finite, as the cross entropy is.
# Seen: entmax 1.3. Probabilities and gradients are right: .83, .17, 0 and 0. The loss adds up probabilities times
# logits, and 0 times infinity is NaN, in `SparsemaxLoss`, `Entmax15Loss` and `EntmaxBisectLoss`; one such text makes
# the mean of a batch NaN, and every early stopping, gradient scaler or best checkpoint that looks at the loss goes
# wrong. The cross entropy is .41. With -10,000 in place of infinity all are finite.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    entmax==1.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import entmax
import torch

words = []
for name, loss in (
    ("SparsemaxLoss", entmax.SparsemaxLoss()),
    ("Entmax15Loss", entmax.Entmax15Loss()),
    ("EntmaxBisectLoss", entmax.EntmaxBisectLoss()),
    ("cross entropy", torch.nn.CrossEntropyLoss()),
):
    values = []
    for closed in (-torch.inf, -10000.0):
        logits = torch.tensor([[2.0, 1.0, 0.0, closed]], requires_grad=True)
        value = loss(logits, torch.tensor([0]))
        value.backward()
        values.append(f"{value:.2f}, gradient {'NaN' if logits.grad.isnan().any() else 'finite'}")
    words.append(f"{name} {values[0]}; -10000 {values[1]}")
probabilities = entmax.entmax15(torch.tensor([[2.0, 1.0, 0.0, -torch.inf]]))[0]
shown = " ".join(f"{one:.2f}" for one in probabilities)
version = importlib.metadata.version("entmax")
print(f"entmax {version}, probabilities {shown}, a class of minus infinity: {' | '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "entmax 1.3, probabilities 0.83 0.17 0.00 0.00, a class of minus infinity: SparsemaxLoss nan, gradient\
 finite; -10000 0.00, gradient finite | Entmax15Loss nan, gradient finite; -10000 0.06, gradient finite |\
 EntmaxBisectLoss nan, gradient finite; -10000 0.06, gradient finite | cross entropy 0.41, gradient finite; -10000\
 0.41, gradient finite"
