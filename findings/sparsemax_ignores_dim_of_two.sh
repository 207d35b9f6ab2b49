#!/usr/bin/env bash
# `Sparsemax(dim=0)` of the package sparsemax works along the last axis of a matrix: its columns sum to 2.49 and .73.
#
# Guess before the run: scores [tokens, texts] and `dim=0`, "The dimension we want to cast the operation over", give
# weights of the tokens of each text: columns sum to 1, as with `torch.softmax(scores, 0)`.
# Seen: sparsemax 0.1.9. With two axes the rows sum to 1 whatever `dim` says, and columns sum to anything. The same
# scores with a third axis of length 1, and dim=1, are right, as is sparsemax of entmax with dim=0. So attention over
# tokens of one text becomes a choice of texts, and the gradients are of that choice, too.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    sparsemax==0.1.9 entmax==1.3 torch==2.14.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import entmax
import sparsemax
import torch

torch.manual_seed(0)
scores = torch.randn(4, 3)


def sums(weights, axis):
    return " ".join(f"{value:.2f}" for value in weights.sum(axis).flatten().tolist())


two = sparsemax.Sparsemax(dim=0)(scores)
three = sparsemax.Sparsemax(dim=1)(scores[None])
print(
    f"sparsemax {sparsemax.__version__}, sums over 4 tokens of 3 texts: two axes {sums(two, 0)},",
    f"three axes {sums(three, 1)}, entmax {sums(entmax.sparsemax(scores, dim=0), 0)},",
    f"softmax {sums(scores.softmax(0), 0)}; over texts with two axes {sums(two, 1)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "sparsemax 0.1.9, sums over 4 tokens of 3 texts: two axes 2.49 0.73 0.79, three axes 1.00 1.00 1.00,\
 entmax 1.00 1.00 1.00, softmax 1.00 1.00 1.00; over texts with two axes 1.00 1.00 1.00 1.00"
