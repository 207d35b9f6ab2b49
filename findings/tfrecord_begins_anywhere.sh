#!/usr/bin/env bash
# TFRecordDataset of the package tfrecord begins at a random record if it has an index: a test set's predictions shift.
#
# Guess before the run: without a shuffle_queue_size the records come in the order of the file, with the index file that
# its README recommends or without it.
# Seen: tfrecord 1.14.6, PyTorch 2.13.0. Without an index: 0 to 9. With one, and no workers: from a random record to the
# end, then from the beginning, another one in every epoch, by NumPy's global generator; so the rows of a prediction are
# those of other lines of the test set. With one worker they are in order: a shard begins where it should.
# The README names as an index's purpose that workers share a file, and shuffles "when you provide a queue size".
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tfrecord==1.14.6 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import numpy as np
import tfrecord
import torch
from tfrecord.tools.tfrecord2idx import create_index
from tfrecord.torch.dataset import TFRecordDataset

path, index_path = f"{sys.argv[1]}/test.tfrecord", f"{sys.argv[1]}/test.index"
writer = tfrecord.TFRecordWriter(path)
for row in range(10):
    writer.write({"row": (row, "int")})
writer.close()
create_index(path, index_path)
np.random.seed(0)


def read(index_path, workers):
    dataset = TFRecordDataset(path, index_path, {"row": "int"})
    loader = torch.utils.data.DataLoader(dataset, batch_size=1, num_workers=workers)
    return "".join(str(int(batch["row"])) for batch in loader)


print(
    f"tfrecord {importlib.metadata.version('tfrecord')}: no index {read(None, 0)}, index {read(index_path, 0)}",
    f"{read(index_path, 0)}, a worker {read(index_path, 1)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tfrecord 1.14.6: no index 0123456789, index 5678901234 0123456789, a worker 0123456789"
