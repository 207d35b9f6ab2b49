#!/usr/bin/env bash
# FedAvg of flwr.server sets all integers of a model to 0 in the first round: every word of a BERT is at position 0.
#
# Guess before the run: two clients send weights and the same `position_ids` 0 to 7, which a BERT may keep as a buffer.
# Their average is the mean of the weights and the positions as they were, for `inplace=True`, the default, as for
# False.
# Seen: flwr 1.42.0. Without `inplace` positions stay, with it all are 0: integers are multiplied in place by the share
# of a client, .25 or .75, which is first turned into an integer. Float weights are right, so that the model seems to be
# averaged well, and its clients go on with one position for all words.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    flwr==1.42.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import flwr
import numpy as np
from flwr.common import Code, FitRes, Status, ndarrays_to_parameters, parameters_to_ndarrays
from flwr.server.strategy import FedAvg


def reply(value, texts):
    arrays = [np.full(2, value, np.float32), np.arange(8)]
    return None, FitRes(Status(Code.OK, ""), ndarrays_to_parameters(arrays), texts, {})


words = []
for inplace in (True, False):
    averaged, _ = FedAvg(inplace=inplace).aggregate_fit(1, [reply(1, 10), reply(3, 30)], [])
    weights, positions = parameters_to_ndarrays(averaged)
    words.append(f"inplace={inplace}: weights {weights.tolist()}, positions {positions.astype(int).tolist()}")
print(f"flwr {flwr.__version__}, {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "flwr 1.42.0, inplace=True: weights [2.5, 2.5], positions [0, 0, 0, 0, 0, 0, 0, 0]; inplace=False:\
 weights [2.5, 2.5], positions [0, 1, 2, 3, 4, 5, 6, 7]"
