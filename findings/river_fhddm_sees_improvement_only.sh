#!/usr/bin/env bash
# FHDDM of river reports a drift when a model gets better, and hardly ever when it gets worse: 50 of 50 and 3 of 50.
#
# Guess before the run: `drift.binary.FHDDM`, whose page says of its input "1 indicates error/failure", detects that a
# classifier's errors rise from 10 to 50 %, as the other four detectors of `drift.binary` do.
# Seen: river 0.26.1. In 3 of 50 streams it detects a drift after errors rise from 10 to 50 %, and in 50 of 50 after
# they fall from 50 to 10 %: it compares with the greatest share of ones, which is the paper's rule for right
# predictions, not for errors. DDM, EDDM, HDDMA and HDDMW detect the rise in 50 of 50, and the fall in 0, 4, 0 and 0.
# The example on its page is of errors that fall. A monitor of a BERT with it stays quiet while the BERT fails; given
# 1 for right answers it detects the rise in 50 of 50.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    river==0.26.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import random

from river.drift import binary

names = {"FHDDM": binary.FHDDM, "DDM": binary.DDM, "EDDM": binary.EDDM, "HDDMA": binary.HDDMA, "HDDMW": binary.HDDMW}


def detections(make, before, after, turn=False):
    """In how many of 50 streams a drift is detected in the second half, where the share of errors has changed."""
    count = 0
    for seed in range(50):
        source = random.Random(seed)
        detector = make()
        errors = [source.random() < before for _ in range(1000)] + [source.random() < after for _ in range(1000)]
        found = False
        for place, error in enumerate(errors):
            detector.update(int(error != turn))
            found |= place >= 1000 and detector.drift_detected
        count += found
    return count


parts = [
    f"{name} {detections(make, 0.1, 0.5)} worse, {detections(make, 0.5, 0.1)} better" for name, make in names.items()
]
turned = detections(binary.FHDDM, 0.1, 0.5, turn=True)
print(f"river {importlib.metadata.version('river')}, of 50: {'; '.join(parts)}; FHDDM of right answers {turned} worse")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "river 0.26.1, of 50: FHDDM 3 worse, 50 better; DDM 50 worse, 0 better; EDDM 50 worse, 4 better; HDDMA\
 50 worse, 0 better; HDDMW 50 worse, 0 better; FHDDM of right answers 50 worse"
