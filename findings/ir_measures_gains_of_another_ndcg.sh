#!/usr/bin/env bash
# In some processes ir-measures gives a plain nDCG the gains of another one that is asked for: .498 for .447, and 0.
#
# Guess before the run: `calc_aggregate([nDCG@3, nDCG(gains={3: 100})@3], qrels, run)` has the two values that the
# measures have when each is asked for alone, in each process.
# Seen: ir_measures 0.4.3. Alone they are .447 and .498. Together they are that in some processes; in others the plain
# nDCG@3 has .498, and the one with gains 0.000. By the provider pytrec_eval itself it depends on their order in the
# list. A plain nDCG is computed together with whatever measure comes first, also where its grades have been replaced by
# gains, and then the two have one name. The measures are put in a set, so that the order, and what a re-ranker scores,
# is another one in each run of the same program. Nothing is said.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    ir_measures==0.4.3 pandas==3.1.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import os
import subprocess
import sys

import ir_measures
from ir_measures import Qrel, ScoredDoc, nDCG

qrels = [Qrel("1", "a", 3), Qrel("1", "b", 1), Qrel("1", "c", 0), Qrel("1", "d", 2)]
run = [ScoredDoc("1", "c", 5.0), ScoredDoc("1", "b", 4.0), ScoredDoc("1", "a", 3.0), ScoredDoc("1", "d", 2.0)]
plain, steep = nDCG @ 3, nDCG(gains={3: 100}) @ 3


def scores(measures, provider=ir_measures):
    results = provider.calc_aggregate(measures, qrels, run)
    return " ".join(f"{results[measure]:.3f}" for measure in (plain, steep) if measure in measures)


if sys.argv[1:] == ["once"]:
    print(scores([plain, steep]))
    sys.exit()
alone = f"{scores([plain])} and {scores([steep])}"
orders = [scores(measures, ir_measures.pytrec_eval) for measures in ([plain, steep], [steep, plain])]
seen = set()
for seed in range(24):
    command = [sys.executable, __file__, "once"]
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    seen.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip())
print(
    f"ir_measures {importlib.metadata.version('ir_measures')}, nDCG@3 without and with gains: alone {alone}, both"
    f" {orders[0]}, in the other order {orders[1]}; in 24 processes: {', or '.join(sorted(seen))}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ir_measures 0.4.3, nDCG@3 without and with gains: alone 0.447 and 0.498, both 0.447 0.498, in the\
 other order 0.498 0.000; in 24 processes: 0.447 0.498, or 0.498 0.000"
