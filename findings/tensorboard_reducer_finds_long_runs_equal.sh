#!/usr/bin/env bash
# tensorboard-reducer finds runs of 12,000 and 15,000 steps equally long, and loses a third of the steps of the first.
#
# Guess before the run: where runs differ in their number of steps an error says so, as the documentation promises
# without `--lax-steps`; runs of equal length keep all their steps in the mean.
# Seen: tensorboard-reducer 0.4.0. Two runs of 12,000 and 15,000 steps pass the check, and their mean has 8,002 steps
# with gaps: 0, 2, 5, 7, 8. Of each curve 10,000 values are read, in a sample drawn at random, as in TensorBoard's
# pages; then both curves have 10,000 steps, and only the steps that both samples have are left. Even of two runs of
# 12,000 steps a sixth is lost without a word. Runs of 900 and 1,000 steps are refused.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorboard-reducer==0.4.0 tensorboard==2.20.0 numpy==2.4.6 pandas==3.1.1 tqdm==4.70.1 setuptools==80.9.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import os
import tempfile

import tensorboard_reducer
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter

folder = tempfile.mkdtemp()


def write(name, values):
    path = os.path.join(folder, name)
    writer = EventFileWriter(path)
    for step, value in enumerate(values):
        summary = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag="loss", simple_value=value)])
        writer.add_event(event_pb2.Event(wall_time=step, step=step, summary=summary))
    writer.close()
    return path



def load(lengths):
    paths = []
    for number, length in enumerate(lengths):
        paths.append(write(f"{'-'.join(map(str, lengths))}-{number}", [float(step) for step in range(length)]))
    try:
        return list(tensorboard_reducer.load_tb_events(paths)["loss"].index)
    except ValueError:
        return None


short, equal, other = load([900, 1000]), load([12000, 12000]), load([12000, 15000])
print(
    f"tensorboard-reducer {importlib.metadata.version('tensorboard-reducer')}: 900 and 1,000 "
    f"{'refused' if short is None else 'taken'}; 12,000 twice {len(equal)} steps; "
    f"12,000 and 15,000 {len(other)} steps: {', '.join(map(str, other[:5]))}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorboard-reducer 0.4.0: 900 and 1,000 refused; 12,000 twice 10000 steps; 12,000 and 15,000 8002 ste\
ps: 0, 2, 5, 7, 8"
