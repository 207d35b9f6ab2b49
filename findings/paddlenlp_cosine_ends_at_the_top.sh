#!/usr/bin/env bash
# The cosine schedule of PaddleNLP ends at the full learning rate: it falls to 0 in the middle and rises again.
#
# Guess before the run: `CosineDecayWithWarmup(1.0, 100, 10)`, by which after the warmup the rate "would be decreased
# following the values of the cosine function", falls from 1 at step 10 to 0 at step 100, as that of transformers.
# Seen: PaddleNLP 2.8.1, Paddle 3.3.1. It is a whole wave: 1.00 at step 10, 0.00 at step 55 and 1.00 at step 99, so that
# fine-tuning ends with its largest steps. The half wave of transformers can't be asked for: `num_cycles=0.5` is refused
# without hard restarts. With `with_hard_restarts=True` the default is half a wave of the saw: the rate falls to .51 and
# from there to 0 in the last step; `num_cycles=1.0` with hard restarts is the usual cosine.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    paddlepaddle==3.3.1 numpy==2.4.6 setuptools==81.0.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    paddlenlp==2.8.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util

path = importlib.metadata.distribution("paddlenlp").locate_file("paddlenlp/transformers/optimization.py")
spec = importlib.util.spec_from_file_location("optimization", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


def rates(**options):
    """The learning rates at five of 100 steps, ten of which are warmup."""
    schedule = module.CosineDecayWithWarmup(1.0, 100, 10, **options)
    values = []
    for _ in range(101):
        values.append(schedule())
        schedule.step()
    return " ".join(f"{values[step]:.2f}" for step in (10, 55, 77, 99, 100))


kinds = {
    "default": {},
    "hard restarts": {"with_hard_restarts": True},
    "one of them": {"with_hard_restarts": True, "num_cycles": 1.0},
}
try:
    half = rates(num_cycles=0.5)
except AssertionError:
    half = "refused"
parts = [f"{name} {rates(**options)}" for name, options in kinds.items()]
print(f"paddlenlp {importlib.metadata.version('paddlenlp')}: {', '.join(parts)}; half a wave is {half}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "paddlenlp 2.8.1: default 1.00 0.00 0.48 1.00 1.00, hard restarts 1.00 0.85 0.70 0.51 0.00, one of them\
 1.00 0.50 0.15 0.00 0.00; half a wave is refused"
