#!/usr/bin/env bash
# An average of three equal models in Flower shifts a sixth of a BERT's position ids by one: 7 is 6.999 and then 6.
#
# Guess before the run: clients whose `position_ids`, 0 to 511, are the same have the same ones in the average of
# `flwr.serverapp`, whatever the number of clients is.
# Seen: flwr 1.42.0. Integers are averaged as floats, with shares such as 1/3 whose sum is a little less, and the array
# that is sent back is of float64. PyTorch's `load_state_dict` cuts it to integers: of 512 positions 85 are one too low
# with three clients, 260 with six and 210 with seven; with 4 none is. So words share a position with their neighbours,
# other ones after each round.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    flwr==1.42.0 numpy==2.4.6 torch==2.14.1
cat > "$folder/program.py" <<'PYTHON'
import flwr
import numpy as np
import torch
from flwr.app import Array, ArrayRecord, MetricRecord, RecordDict
from flwr.serverapp.strategy.strategy_utils import aggregate_arrayrecords


class Embeddings(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("position_ids", torch.arange(512))


words = []
for clients in (3, 4, 6, 7):
    replies = []
    for _ in range(clients):
        arrays = ArrayRecord({name: Array(value.numpy()) for name, value in Embeddings().state_dict().items()})
        replies.append(RecordDict({"arrays": arrays, "metrics": MetricRecord({"num-examples": 10})}))
    averaged = aggregate_arrayrecords(replies, "num-examples")
    received = Embeddings()
    received.load_state_dict(averaged.to_torch_state_dict())
    shifts = received.position_ids.numpy() - np.arange(512)
    words.append(f"{clients} clients {np.sum(shifts == -1)}")
print(f"flwr {flwr.__version__}, positions of 512 that are one too low: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "flwr 1.42.0, positions of 512 that are one too low: 3 clients 85, 4 clients 0, 6 clients 260, 7\
 clients 210"
