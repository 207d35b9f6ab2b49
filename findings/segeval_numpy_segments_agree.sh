#!/usr/bin/env bash
# WindowDiff and Pk of segeval are 0, no error, for any two segmentations whose segments are numbered by NumPy.
#
# Guess before the run: the error is that of the positions' values: of 30 sentences in segments of 10, 10, 10 and of 4,
# 20, 6 both are .68, from a list of integers, an array or a JSON file.
# Seen: segeval 2.0.11. Both are .00 from NumPy integers, and from a JSON file whose numbers of segments begin at 1,001.
# Whether there is a boundary between two sentences is asked with `is not`: CPython has one object for each of the
# integers up to 256, and a new one for each number over that and for each element of an array, so that there is a
# boundary after every sentence, in both. A text of 600 segments of 5 sentences, cut by 3 and 7, has .40 by lengths of
# segments, and .17 by numbers of segments from JSON: all after the 256th agrees.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    segeval==2.0.11 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import json

import numpy as np
import segeval


def number(lengths, first=1):
    """Returns the number of the segment that each sentence is in."""
    return [place for place, length in enumerate(lengths, first) for _ in range(length)]


def from_json(values):
    return json.loads(json.dumps(values))


def score(hypothesis, reference):
    position = segeval.BoundaryFormat.position
    functions = (segeval.window_diff, segeval.pk)
    return " ".join(f"{float(one(hypothesis, reference, boundary_format=position)):.2f}" for one in functions)


hypothesis, reference = (4, 20, 6), (10, 10, 10)
lists = score(number(hypothesis), number(reference))
arrays = score(list(np.array(number(hypothesis))), list(np.array(number(reference))))
high = score(from_json(number(hypothesis, 1001)), from_json(number(reference, 1001)))
long, even = [3, 7] * 300, [5] * 600
lengths = float(segeval.window_diff(long, even))
numbers = score(from_json(number(long)), from_json(number(even))).split()[0]
print(
    f"segeval {importlib.metadata.version('segeval')}, WindowDiff and Pk: lists {lists}, NumPy {arrays}, numbers from",
    f"1,001 on {high}; WindowDiff of 600 segments by lengths {lengths:.2f}, by numbers from JSON {numbers}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "segeval 2.0.11, WindowDiff and Pk: lists 0.68 0.68, NumPy 0.00 0.00, numbers from 1,001 on 0.00 0.00; \
WindowDiff of 600 segments by lengths 0.40, by numbers from JSON 0.17"
