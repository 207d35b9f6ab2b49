#!/usr/bin/env bash
# With `bias=0` the Tversky index of textdistance is .50 for texts that share 99 of 100 words, and .99 without a bias.
#
# Guess before the run: a bias of 0 is no bias: `Tversky(ks=(.5, 1), bias=0)`, the symmetric index, is Dice's
# coefficient there, as `Tversky(ks=(.5, .5))` is.
# Seen: textdistance 4.6.3. With a bias, whatever it is, the sizes of both texts stand where the definition has the
# numbers of words that only one of them has. 100 words of which 50, 90 and 99 are shared: .333, .474 and .497, where
# Dice's coefficient is .500, .900 and .990. So no texts but equal ones are above .50, and a threshold that was found
# without a bias finds nothing.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==1.26.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    textdistance==4.6.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from textdistance import Sorensen, Tversky

words = []
for shared in (50, 90, 99):
    pair = [" ".join(f"w{number}" for number in range(start, start + 100)) for start in (0, 100 - shared)]
    values = [
        Tversky(ks=(0.5, 1), bias=0, qval=None)(*pair),
        Tversky(ks=(0.5, 0.5), qval=None)(*pair),
        Sorensen(qval=None)(*pair),
    ]
    words.append(f"{shared}: {' '.join(f'{value:.3f}' for value in values)}")
print(
    f"textdistance {importlib.metadata.version('textdistance')}: shared words of 100, with a bias of 0, without, Dice:",
    ", ".join(words),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "textdistance 4.6.3: shared words of 100, with a bias of 0, without, Dice: 50: 0.333 0.500 0.500, 90:\
 0.474 0.900 0.900, 99: 0.497 0.990 0.990"
