#!/usr/bin/env bash
# A RandomSampler of fastNLP that is resumed goes on in the next epoch's order: texts are left out, others come twice.
#
# Guess before the run: of 1,000 texts, 400 before `state_dict` and the rest after `load_state_dict` in another process,
# each is there once, in the order of a run that was not interrupted; the class exists for that.
# Seen: fastNLP 1.0.1. Where nobody calls `set_epoch`, which the source allows for, 242 come twice and 242 never: the
# number of the epoch, of which the order is drawn, is counted on when an epoch begins, and saved with the state, so
# that the resumed epoch has the order of the one after it. After set_epoch(0) all is as guessed.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 fastNLP==1.0.1 setuptools==80.8.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from fastNLP import DataSet
from fastNLP.core.samplers import RandomSampler

texts = DataSet({"text": list(range(1000))})
parts = []
for called in (True, False):
    whole, begun, resumed = (RandomSampler(texts, shuffle=True, seed=3) for _ in range(3))
    if called:
        whole.set_epoch(0)
        begun.set_epoch(0)
    iterator = iter(begun)
    first = [next(iterator) for _ in range(400)]
    resumed.load_state_dict(begun.state_dict())
    rest = list(resumed)
    same = first + rest == list(whole)
    twice, never = len({*first} & {*rest}), 1000 - len({*first} | {*rest})
    parts.append(f"{'with' if called else 'without'} set_epoch: same order {same}, {twice} twice, {never} never")
print(f"fastNLP {importlib.metadata.version('fastNLP')}, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "fastNLP 1.0.1, with set_epoch: same order True, 0 twice, 0 never; without set_epoch: same order\
 False, 242 twice, 242 never"
