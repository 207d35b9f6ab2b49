#!/usr/bin/env bash
# mlxtend's p-value of a difference of two accuracies is .0002 or .9998, as the worse or the better one is named first.
#
# Guess before the run: `proportion_difference` tests whether two proportions differ, so that .85 and .79 of 1,000 texts
# have one p-value, whichever comes first: .0005 on both sides.
# Seen: mlxtend 0.25.0. With the better one first z is 3.50 and p .9998, and with the worse first .0002: p is the
# distribution function at z, of one side. Its docstring calls it "the p-value" of the test, without a side; who
# compares a new model with an old one finds no difference, the larger it is the less.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mlxtend==0.25.0 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from mlxtend.evaluate import proportion_difference
from scipy.stats import norm

parts = []
for first, second in ((0.85, 0.79), (0.79, 0.85)):
    z, p = proportion_difference(first, second, 1000)
    parts.append(f"{first}, {second}: z {z:.2f}, p {p:.4f}, both sides {2 * norm.sf(abs(z)):.4f}")
print(f"mlxtend {importlib.metadata.version('mlxtend')}; {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mlxtend 0.25.0; 0.85, 0.79: z 3.50, p 0.9998, both sides 0.0005; 0.79, 0.85: z -3.50, p 0.0002, both\
 sides 0.0005"
