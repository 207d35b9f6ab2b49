#!/usr/bin/env bash
# QFedAvg of flwr.server gives a client with a loss of 10 no more weight than one with .1, whatever its q is.
#
# Guess before the run: with q=2 the client whose loss is a hundred times as large moves the model by far the most: that
# is what q-FedAvg, "fair resource allocation", is for.
# Seen: flwr 1.42.0. `flwr.server.strategy.QFedAvg` takes one loss for all clients, that of the server's own evaluation:
# two clients of losses .1 and 10 move the model equally, and q only shortens the step. `flwr.serverapp`'s QFedAvg, of
# the same name in the same package, reads the clients' losses, and weights them 1 to 10,000.
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
from flwr.server.strategy import QFedAvg
from flwr.serverapp.strategy.qfedavg import compute_delta_and_h


def moves():
    """What clients send that have moved one weight each, the first with a loss of .1, the other one with 10."""
    return [(np.array([1.0, 0.0], np.float32), 0.1), (np.array([0.0, 1.0], np.float32), 10.0)]


words = []
for q in (0.0, 2.0):
    strategy = QFedAvg(q_param=q, qffl_learning_rate=0.1, evaluate_fn=lambda *_: (1.0, {}))
    strategy.pre_weights = [np.zeros(2, np.float32)]
    replies = []
    for weights, loss in moves():
        sent = ndarrays_to_parameters([weights])
        replies.append((None, FitRes(Status(Code.OK, ""), sent, 10, {"loss": loss, "train_loss": loss})))
    averaged, _ = strategy.aggregate_fit(1, replies, [])
    old = parameters_to_ndarrays(averaged)[0]
    deltas = [compute_delta_and_h([np.zeros(2, np.float32)], [weights], q, 10.0, loss) for weights, loss in moves()]
    total = sum(h for _, h in deltas)
    new = -sum(delta[0] for delta, _ in deltas) / total
    words.append(f"q={q:g} server {old[0]:.4f} {old[1]:.4f}, serverapp {new[0]:.4f} {new[1]:.4f}")
print(f"flwr {flwr.__version__}, moves of the weights of clients with losses .1 and 10: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "flwr 1.42.0, moves of the weights of clients with losses .1 and 10: q=0 server 0.5000 0.5000,\
 serverapp 0.5000 0.5000; q=2 server 0.0238 0.0238, serverapp 0.0000 0.3311"
