#!/usr/bin/env bash
# The cross-entropy of thinc, spaCy's library, is a sum of squares: a sure error costs 2, or .02 in a batch of 100.
#
# Guess before the run: `CategoricalCrossentropy().get_loss` of texts whose right class has a probability of .01 is -log
# .01, 4.61, or that times their number; "normalize" makes it the same for every batch size.
# Seen: thinc 8.3.14. It is the squared length of the gradient. A text costs 1.96 however small its probability is, 2.00
# at 1e-9. The normalized gradients of a batch are divided by its size before they are squared, so that the loss of 100
# such texts is .0196: it falls with the batch size, and a run whose batches grow, as spaCy's `compounding` makes them,
# seems to learn. Loss and gradient don't belong together: the loss is not what training makes smaller.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    thinc==8.3.14 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
import thinc
from thinc.api import CategoricalCrossentropy

loss = CategoricalCrossentropy()


def cost(probability, count):
    """What texts cost whose right class has the probability."""
    guesses = np.tile(np.array([[1 - probability, probability]], np.float32), (count, 1))
    return float(loss.get_loss(guesses, np.ones(count, np.int32)))


parts = [f"{count} texts {cost(0.01, count):.4f}" for count in (1, 10, 100)]
parts += [f"one of {value:g} {cost(value, 1):.2f}, -log {-np.log(value):.2f}" for value in (1e-9, 0.5)]
print(f"thinc {thinc.__version__}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "thinc 8.3.14: 1 texts 1.9602; 10 texts 0.1960; 100 texts 0.0196; one of 1e-09 2.00, -log 20.72; one of\
 0.5 0.50, -log 0.69"
