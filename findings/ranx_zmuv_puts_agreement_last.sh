#!/usr/bin/env bash
# With `norm="zmuv"` of ranx a passage that both rankers have is below one that one ranker alone has last of all.
#
# Guess before the run: CombSUM favours what several rankers find, and CombMNZ even more: a passage that is third of
# four in both lists is over one that is fourth in one list and not in the other.
# Seen: ranx 0.3.21. It is the last of all with both, -1.46 by CombSUM, where the two that one ranker has last have
# -1.21. After the norm, zero mean and unit variance, the score of half of a list is negative, a passage that a list
# doesn't have gets 0, the mean, and to be found twice below the mean counts against it twice, and by CombMNZ four
# times. With "min-max" it is over them.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    ranx==0.3.21 numpy==2.1.3 numba==0.68.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from ranx import Run, fuse

one = Run({"query": {"a": 9.0, "b": 8.0, "both": 5.0, "last": 4.0}})
other = Run({"query": {"c": 9.0, "d": 8.0, "both": 5.0, "least": 4.0}})
parts = []
for norm in ("min-max", "zmuv"):
    for method in ("sum", "mnz"):
        scores = dict(fuse([one, other], norm=norm, method=method)["query"])
        place = 1 + sum(score > scores["both"] for score in scores.values())
        parts.append(f"{norm} {method} {scores['both']:.2f}, place {place} ({scores['last']:.2f})")
version = importlib.metadata.version("ranx")
print(f"ranx {version}, passage of both lists (and the last one of one list): {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ranx 0.3.21, passage of both lists (and the last one of one list): min-max sum 0.40, place 5 (0.00); m\
in-max mnz 0.80, place 3 (0.00); zmuv sum -1.46, place 7 (-1.21); zmuv mnz -2.91, place 7 (-1.21)"
