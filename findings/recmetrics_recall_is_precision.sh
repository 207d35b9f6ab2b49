#!/usr/bin/env bash
# The "mean average recall" of recmetrics has no recall in it: a ranking that finds all scores .10, of 20 at most .50.
#
# Guess before the run: `mark` is the mean recall of the first 1, 2, ... k results, or the recall at k; it is 1 for the
# best ranking, and what matters is the share of the right documents that is found.
# Seen: recmetrics 0.1.5. The one right document at place 10 of 10: .10, though all is found. Twenty right ones and ten
# of them in the first ten places: .50 at k=10, as no ranking has more. What is summed is the precision at each hit, and
# it is divided by the number of right documents, so that it is the average precision (without the bound by k that
# `mapk` has). (The module's function is taken out of its file: the package's import wants Plotly and seaborn.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    recmetrics==0.1.5
cat > "$folder/program.py" <<'PYTHON'
import ast
import importlib.metadata

import numpy as np

package = importlib.metadata.distribution("recmetrics")
tree = ast.parse(package.locate_file("recmetrics/metrics.py").read_text())
tree.body = [part for part in tree.body if getattr(part, "name", None) in ("_ark", "mark")]
names = {"np": np, "List": list}
exec(compile(tree, "metrics.py", "exec"), names)
mark = names["mark"]
last = mark([["right"]], [[*"abcdefghi", "right"]], k=10)
first = mark([["right"]], [["right", *"abcdefghi"]], k=10)
many = [f"right {number}" for number in range(20)]
print(
    f"recmetrics {package.version}, k=10: right one first {first:.2f}, last {last:.2f};",
    f"20 right ones, best ranking {mark([many], [many], k=10):.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "recmetrics 0.1.5, k=10: right one first 1.00, last 0.10; 20 right ones, best ranking 0.50"
