#!/usr/bin/env bash
# The standard deviation that tensorboard-reducer calls NumPy's is another: of two runs it is 1.41 times as wide.
#
# Guess before the run: the operations that tensorboard-reducer takes are NumPy's, as its help says: `std` of two runs
# with losses 1 and 3 is `np.std`, 1, and `var` is 1; the curves mean+std and mean-std go through the two runs.
# Seen: tensorboard-reducer 0.4.0 with pandas 3.1.1. `std` is 1.41 and `var` is 2: the operations are methods of a
# pandas table, which divide by the number of runs less one. The band of the curves mean+std and mean-std, 0.59 to 3.41,
# is wider than all runs. Of a single run, where NumPy says 0, both are NaN.
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



two = [write("first", [1.0]), write("second", [3.0])]
reduced = tensorboard_reducer.reduce_events(tensorboard_reducer.load_tb_events(two), ["std", "var"])
single = tensorboard_reducer.reduce_events(tensorboard_reducer.load_tb_events(two[:1]), ["std", "var"])
texts = []
for number, result in (("two", reduced), ("one", single)):
    texts.append(f"{number} std {result['std']['loss'].iloc[0]:.2f}, var {result['var']['loss'].iloc[0]:.2f}")
print(f"tensorboard-reducer {importlib.metadata.version('tensorboard-reducer')}: {'; '.join(texts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorboard-reducer 0.4.0: two std 1.41, var 2.00; one std nan, var nan"
