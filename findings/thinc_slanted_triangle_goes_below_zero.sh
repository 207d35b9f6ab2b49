#!/usr/bin/env bash
# The slanted triangular learning rate of thinc, spaCy's library, is negative after its last step: training climbs.
#
# Guess before the run: `slanted_triangular(1.0, num_steps=100)` falls to 1/32 of its maximum in 100 steps, as the paper
# of Howard and Ruder has it, and stays there, as "an infinite series of values".
# Seen: thinc 8.3.14. It is .04 at step 98, -.09 at step 110 and -1.06 at step 200, so that the optimizer undoes what
# was learned, at a rate above the highest one. spaCy trains by `max_epochs` or `patience`, with any number of steps
# after that. `warmup_linear` beside it stays at 0.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    thinc==8.3.14 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import itertools

import thinc
from thinc.api import slanted_triangular, warmup_linear


def rates(schedule):
    values = list(itertools.islice(schedule, 201))
    return " ".join(f"{values[step]:.2f}" for step in (9, 50, 98, 110, 200))


print(
    f"thinc {thinc.__version__}, steps 9, 50, 98, 110, 200: slanted {rates(slanted_triangular(1.0, 100))},",
    f"linear {rates(warmup_linear(1.0, 10, 100))}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "thinc 8.3.14, steps 9, 50, 98, 110, 200: slanted 1.00 0.56 0.04 -0.09 -1.06, linear 0.90 0.56 0.02\
 0.00 0.00"
