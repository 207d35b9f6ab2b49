#!/usr/bin/env bash
# With `norm="max"` ranx multiplies negative logits of a re-ranker by 1,000,000,000: it alone decides the fusion.
#
# Guess before the run: `fuse(norm="max")` divides the scores of each ranker by their maximum, so that two rankers count
# alike, whether a re-ranker's logits are 3.9 to 4.2 or, less 10, -6.1 to -5.8; or negative scores are refused.
# Seen: ranx 0.3.21. With the positive logits the sums are 1.93, 1.84, 1.75, 1.11, and the order is that of both
# rankers. With the negative ones they are -5.8e+09 to -6.1e+09, in the order of the re-ranker alone, the reverse. A
# maximum below 0 is replaced by 1e-9, by which the scores are divided. The best logit of a cross-encoder is negative
# for every query without a sure answer: there the other ranker is not asked. With "min-max" the two sums are the same.
# Nothing is said.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    ranx==0.3.21 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from ranx import Run, fuse

words = {"1": {"a": 9.0, "b": 8.0, "c": 7.0, "d": 1.0}}
parts = []
for name, shift in (("positive", 0.0), ("negative", -10.0)):
    # The same re-ranker; a constant on all logits of a query changes no ranking.
    logits = {"1": {"d": 4.2 + shift, "c": 4.1 + shift, "b": 4.0 + shift, "a": 3.9 + shift}}
    for norm in ("min-max", "max"):
        fused = fuse(runs=[Run(words), Run(logits)], norm=norm, method="sum").run["1"]
        scores = " ".join(f"{doc} {score:.3g}" for doc, score in fused.items())
        parts.append(f"{norm} with {name} logits: {scores}")
print(f"ranx {importlib.metadata.version('ranx')}, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ranx 0.3.21, min-max with positive logits: c 1.42 b 1.21 a 1 d 1; max with positive logits: a 1.93 b\
 1.84 c 1.75 d 1.11; min-max with negative logits: c 1.42 b 1.21 a 1 d 1; max with negative logits: d -5.8e+09 c\
 -5.9e+09 b -6e+09 a -6.1e+09"
