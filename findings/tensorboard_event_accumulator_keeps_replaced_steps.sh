#!/usr/bin/env bash
# TensorBoard's EventAccumulator shows the steps of a killed run twice, which its pages show once
#
# Guess before the run: a run that is killed after step 4 and goes on from step 2 marks its start in the event file.
# EventAccumulator, with which scripts read curves, forgets the steps after 2, as the pages of TensorBoard do: its
# argument purge_orphaned_data is true.
# Seen: tensorboard 2.20.0: it forgets the scalars that TensorFlow 1 and PyTorch write as plain values, and none of the
# tensors that TensorFlow 2 writes: 1, 2, 3, 4, 3, 4, 5. The class of the same name in plugin_event_accumulator, which
# the pages use, forgets both. A mean, a maximum or a plot of a resumed run made with the first has losses of steps that
# were thrown away: read with the second, or keep the last value of every step.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    "tensorboard==2.20.0" "setuptools<82" "numpy==2.4.6" "protobuf==6.33.5"
cat > "$folder/program.py" <<'PYTHON'
import logging
import tempfile

from tensorboard.backend.event_processing import event_accumulator, plugin_event_accumulator
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.scalar.summary_v2 import scalar_pb
from tensorboard.summary.writer.event_file_writer import EventFileWriter

logging.disable(logging.CRITICAL)
old = lambda loss: Summary(value=[Summary.Value(tag="loss", simple_value=loss)])
new = lambda loss: scalar_pb("loss", loss)
found = []
for kind, summary in (("values", old), ("tensors", new)):
    folder = tempfile.mkdtemp()
    writer = EventFileWriter(folder)
    # Killed after step 4, begun again from a checkpoint of step 2.
    for first, last in ((1, 4), (3, 5)):
        start = Event(step=first, wall_time=1.0, session_log=SessionLog(status=SessionLog.START))
        writer.add_event(start)
        for step in range(first, last + 1):
            writer.add_event(Event(step=step, wall_time=1.0, summary=summary(float(first))))
    writer.close()
    for module in (event_accumulator, plugin_event_accumulator):
        reader = module.EventAccumulator(folder)
        reader.Reload()
        events = reader.Tensors("loss") if "loss" in reader.Tags()["tensors"] else reader.Scalars("loss")
        found.append(f"{kind} {module.__name__.split('.')[-1]} {[event.step for event in events]}")
print("; ".join(found))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "values event_accumulator [1, 2, 3, 4, 5]; values plugin_event_accumulator [1, 2, 3, 4, 5]; tensors \
event_accumulator [1, 2, 3, 4, 3, 4, 5]; tensors plugin_event_accumulator [1, 2, 3, 4, 5]"
