#!/usr/bin/env bash
# The hyperbolic distance of Flair's prototypes leaves out the first unit: a vector is far from itself, 19 % are right.
#
# Guess before the run: HyperbolicDistance, which PrototypicalDecoder takes for `distance_function="hyperbolic"`, is the
# distance on the hyperboloid, with a root of 1 and the squares as one more coordinate: 0 from a vector to itself.
# Seen: flair 0.15.1. The first unit counts in the lengths and not in the product: [2, 0] has a squared distance of 5.26
# to itself, to [0, 2] and to its opposite, where 0, 5.26 and 8.34 are right; [0, 2] has 0 to itself. Of 1,000 vectors
# that lie around five prototypes, which differ most in the first unit, 19 of 100 have their own prototype as the
# nearest one, and 100 by the definition. The file is run by itself here, without Flair's other packages.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    flair==0.15.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import sys
from pathlib import Path

import torch

folder = next(Path(path) for path in sys.path if (Path(path) / "flair").is_dir())
spec = importlib.util.spec_from_file_location("hyperbolic", folder / "flair" / "nn" / "distance" / "hyperbolic.py")
hyperbolic = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hyperbolic)


def by_hand(first, second):
    product = torch.outer((1 + first.pow(2).sum(1)).sqrt(), (1 + second.pow(2).sum(1)).sqrt()) - first @ second.T
    return torch.acosh(product.clamp(min=1)).pow(2)


vectors = torch.tensor([[2.0, 0.0], [0.0, 2.0], [-2.0, 0.0]])
distance = hyperbolic.HyperbolicDistance()
parts = []
for name, place in (("to itself", 0), ("to another", 1), ("to the opposite", 2)):
    pair = vectors[:1], vectors[place : place + 1]
    parts.append(f"[2, 0] {name} {distance(*pair).item():.2f} of {by_hand(*pair).item():.2f}")
second = vectors[1:2], vectors[1:2]
parts.append(f"[0, 2] to itself {distance(*second).item():.2f} of {by_hand(*second).item():.2f}")
generator = torch.Generator().manual_seed(0)
centres = torch.randn(5, 8, generator=generator) * torch.tensor([3.0] + [0.2] * 7)
labels = torch.randint(5, (1000,), generator=generator)
texts = centres[labels] + 0.2 * torch.randn(1000, 8, generator=generator)
right = [(function(texts, centres).argmin(1) == labels).float().mean().item() for function in (distance, by_hand)]
print(
    f"flair {importlib.metadata.version('flair')}: squared distances {', '.join(parts)};",
    f"texts nearest to their prototype {right[0]:.2f} of {right[1]:.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "flair 0.15.1: squared distances [2, 0] to itself 5.26 of 0.00, [2, 0] to another 5.26 of 5.26, [2, 0]\
 to the opposite 5.26 of 8.34, [0, 2] to itself 0.00 of 0.00; texts nearest to their prototype 0.19 of 1.00"
