#!/usr/bin/env bash
# Ties make a sign test of baycomp surer: 6 tasks to 3 have a probability of .86, with 20 ties .99, and with 200 NaN.
#
# Guess before the run: tasks of GLUE on which two BERTs score alike say nothing of which one is better, or something
# for neither: with 20 ties beside 6 better and 3 worse ones the Bayesian sign test is as sure as without them, or less.
# Seen: baycomp 1.0.3, `SignTest.probs(x, y)` with its default rope of 0. The second is better with .855, with 10 ties
# .933, with 20 ties .985, with 200 ties NaN. Ties count for the middle, and of the samples of three shares those in
# which the middle is greatest are thrown away: what stays are the few in which one side is greatest, and there it is
# nearly always the same side. SignedRankTest of the same package has .86 or .87. Two
# BERTs that are compared text by text tie on most texts.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    baycomp==1.0.3 scipy==1.17.1 matplotlib==3.11.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import baycomp
import numpy as np

better, worse = 6, 3
parts = []
for ties in (0, 10, 20, 200):
    difference = np.array([0.01] * better + [-0.01] * worse + [0.0] * ties)
    first = np.full(len(difference), 0.8)
    _, sign = baycomp.SignTest.probs(first, first + difference, random_state=0)
    _, rank = baycomp.SignedRankTest.probs(first, first + difference, nsamples=2000, random_state=0)
    parts.append(f"{ties} ties: {sign:.3f} and {rank:.2f}")
swapped = baycomp.SignTest.probs(first + difference, first, random_state=0)
print(f"baycomp {importlib.metadata.version('baycomp')}, sign test and signed ranks of 6 to 3, {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "baycomp 1.0.3, sign test and signed ranks of 6 to 3, 0 ties: 0.855 and 0.86, 10 ties: 0.933 and 0.86,\
 20 ties: 0.985 and 0.87, 200 ties: nan and 0.86"
