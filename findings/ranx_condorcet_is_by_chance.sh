#!/usr/bin/env bash
# Condorcet fusion of ranx puts passages that one ranker found in any order, last ones first, and another in each run.
#
# Guess before the run: `fuse(method="condorcet")` puts a passage before another if more rankers have it so, and a
# passage that a ranker has not found counts as behind all that it has, as in the paper by Montague and Aslam.
# Seen: ranx 0.3.21. Of three rankers with ten passages each and none in common, the fusion keeps 550 or 690 of the
# 1350 pairs that one ranker has found and no other has anything to say about; RRF keeps all, and so does Condorcet
# where all rankers have the same passages. Rankers without both passages count as votes against the first one of a
# pair, whichever is named first, so that each of the two is "behind" the other and the sort ends anyhow. It begins
# with the order of a Python set, which is drawn anew for each process. Of two rankers that contradict each other,
# which is no majority, the winner is a6 or a0: an evaluation of the same two files has another nDCG each time.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    ranx==0.3.21 numba==0.68.1 numpy==2.4.6 setuptools==84.2.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import os
import subprocess
import sys

from ranx import Run, fuse


def ranking(names):
    return {name: float(-place) for place, name in enumerate(names)}


def kept(runs, method):
    """Pairs whose order in one run is that of the fusion, where no run has the other order."""
    fused = fuse([Run(run) for run in runs], norm=None, method=method).run
    count = 0
    for question, lists in [(name, [list(run[name]) for run in runs]) for name in runs[0]]:
        places = {document: place for place, document in enumerate(fused[question])}
        for names in {tuple(names) for names in lists}:
            count += sum(places[a] < places[b] for i, a in enumerate(names) for b in names[i + 1 :])
    return count


if len(sys.argv) == 2:
    parts = []
    for seed in "0", "1":
        command = [sys.executable, __file__, sys.argv[1], "again"]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        parts.append(f"hash seed {seed}: {result.stdout.strip().splitlines()[-1]}")
    print(f"ranx {importlib.metadata.version('ranx')}: pairs kept: {'; '.join(parts)}")
else:
    questions = [f"q{number}" for number in range(10)]
    apart = [{q: ranking(f"{letter}{place}" for place in range(10)) for q in questions} for letter in "abc"]
    names = [[f"{letter}{place}" for place in range(10) for letter in "abc"]] * 3
    alike = [{q: ranking(names[0][:10]) for q in questions}] * 3
    forward = [f"a{place}" for place in range(10)]
    against = [{"q": ranking(forward)}, {"q": ranking(forward[::-1])}]
    first = list(fuse([Run(run) for run in against], norm=None, method="condorcet").run["q"])[0]
    print(
        f"of 3 rankers with other passages {kept(apart, 'condorcet')} of 1350, RRF {kept(apart, 'rrf')},",
        f"with the same {kept(alike, 'condorcet')} of 450; of two that contradict, {first} wins",
    )
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ranx 0.3.21: pairs kept: hash seed 0: of 3 rankers with other passages 550 of 1350, RRF 1350, with\
 the same 450 of 450; of two that contradict, a6 wins; hash seed 1: of 3 rankers with other passages 690 of 1350, RRF\
 1350, with the same 450 of 450; of two that contradict, a0 wins"
