#!/usr/bin/env bash
# Annotators who always agree have a Fleiss' kappa of .28 in TorchMetrics if one of 400 texts has four, others three.
#
# Guess before the run: `FleissKappa(mode="counts")` is given how many annotators chose each class of a text. Where all
# always agree it is 1.00, also if some texts have more annotators than others; or it is refused.
# Seen: torchmetrics 1.9.0, 400 texts. With five annotators for all texts it is 1.00, with five for half and three for
# the others .49, with five for a tenth .17, and with a fourth one for a single text .28; Krippendorff's alpha is 1.00
# each time. Where all guess it is -.06. The greatest number of annotators is taken for the number of each text, so that
# those who did not read a text disagree with everybody. One text that is read once more makes all labels for a BERT
# seem bad. Nothing is said.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torchmetrics==1.9.0 torch==2.13.0 krippendorff==0.9.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import krippendorff
import torch
from torchmetrics.nominal import FleissKappa


def scores(counts):
    metric = FleissKappa(mode="counts")
    metric.update(counts)
    alpha = krippendorff.alpha(value_counts=counts.numpy(), level_of_measurement="nominal")
    return f"{float(metric.compute()):.2f} ({alpha:.2f})"


random = torch.Generator().manual_seed(0)
labels = torch.randint(0, 3, (400,), generator=random)
agree = torch.nn.functional.one_hot(labels, 3)
guess = torch.stack([torch.bincount(row, minlength=3) for row in torch.randint(0, 3, (400, 3), generator=random)])
extra = torch.stack([torch.bincount(row, minlength=3) for row in torch.randint(0, 3, (200, 2), generator=random)])
mixed = guess.clone()
mixed[:200] += extra
parts = []
for name, share in (("all texts", 400), ("half of the texts", 200), ("a tenth", 40)):
    counts = agree * 3
    counts[:share] = agree[:share] * 5
    parts.append(f"five annotators for {name}, three for others {scores(counts)}")
counts = agree * 3
counts[0] = agree[0] * 4
parts.append(f"a fourth annotator for one text {scores(counts)}")
parts.append(f"where all guess, five for half {scores(mixed)}")
version = importlib.metadata.version("torchmetrics")
print(f"torchmetrics {version} (Krippendorff's alpha), where all agree: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchmetrics 1.9.0 (Krippendorff's alpha), where all agree: five annotators for all texts, three for\
 others 1.00 (1.00); five annotators for half of the texts, three for others 0.49 (1.00); five annotators for a tenth,\
 three for others 0.17 (1.00); a fourth annotator for one text 0.28 (1.00); where all guess, five for half -0.06 (0.00)"
