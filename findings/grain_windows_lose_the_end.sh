#!/usr/bin/env bash
# Grain's WindowShuffleMapDataset loses examples and repeats others if the window is no divisor of their number.
#
# Guess before the run: a shuffle within windows is an order of the same examples: of 1,000 texts in windows of 300 each
# is there once, those of the last 100 among themselves.
# Seen: grain 0.2.18. In windows of 300 72 of the 1,000 texts are lost, of 700 176, and as many are there twice; of 250
# none. Its page speaks of a one-to-one mapping. The last window is shuffled as if it were whole, and numbers that are
# past the end begin at the first example again. `shuffle` of the whole and WindowShuffleIterDataset lose nothing.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    grain==0.2.18 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import grain

parts = []
for name, make in (
    ("map", grain.experimental.WindowShuffleMapDataset),
    ("iter", lambda texts, **options: grain.experimental.WindowShuffleIterDataset(texts.to_iter_dataset(), **options)),
):
    for window in (250, 300, 700):
        found = [int(text) for text in make(grain.MapDataset.range(1000), window_size=window, seed=0)]
        parts.append(f"{name}, window {window}: {len(found)} texts, {1000 - len(set(found))} lost")
found = list(grain.MapDataset.range(1000).shuffle(seed=0))
print(f"grain {importlib.metadata.version('grain')}; {'; '.join(parts)}; shuffle: {1000 - len(set(found))} lost")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "grain 0.2.18; map, window 250: 1000 texts, 0 lost; map, window 300: 1000 texts, 72 lost; map, window\
 700: 1000 texts, 176 lost; iter, window 250: 1000 texts, 0 lost; iter, window 300: 1000 texts, 0 lost; iter, window\
 700: 1000 texts, 0 lost; shuffle: 0 lost"
