#!/usr/bin/env bash
# The probabilities that uncertainty-loss makes of evidence add up to 11 for an unsure text, and are infinite for none.
#
# Guess before the run: `evidence_to_proba` ("converts logits to probabilities") returns for each text numbers that add
# up to 1, the mean or the mode of the Dirichlet distribution.
# Seen: uncertainty-loss 0.1.2. The divisor is the one of the mode, the numerator the one of the mean. With evidence of
# 30, 10 and 0 for the three classes the sum is 1.07, with 3, 1 and 0 it is 1.75, with .2, .1 and 0 it is 11.00, and
# with none at all each of them is infinite. The order of the classes is right. But a threshold or a calibration error
# takes the text that a model knows least about for the surest.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    uncertainty-loss==0.1.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
import uncertainty_loss

evidence = torch.tensor([[30.0, 10.0, 0.0], [3.0, 1.0, 0.0], [0.2, 0.1, 0.0], [0.0, 0.0, 0.0]])
rows = []
for text, row in zip(evidence, uncertainty_loss.evidence_to_proba(evidence)):
    name = " ".join(f"{value:g}" for value in text.tolist())
    rows.append(f"{name}: {' '.join(f'{value:.2f}' for value in row.tolist())}, sum {row.sum().item():.2f}")
print(f"uncertainty-loss {importlib.metadata.version('uncertainty-loss')}: evidence {'; '.join(rows)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "uncertainty-loss 0.1.2: evidence 30 10 0: 0.77 0.28 0.03, sum 1.07; 3 1 0: 1.00 0.50 0.25, sum 1.75;\
 0.2 0.1 0: 4.00 3.67 3.33, sum 11.00; 0 0 0: inf inf inf, sum inf"
