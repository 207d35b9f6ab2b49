#!/usr/bin/env bash
# If FedLab asks a tenth of the clients in a round, its FedNova takes a step ten times as long as that of the clients.
#
# Guess before the run: clients that all move every weight from 1 to 2, in as many steps, move the server's weight to 2,
# whatever share of them is asked.
# Seen: FedLab 1.3.0. With all of 10 clients it is 2, with 5 of 10 it is 3, and with 10 of 100 it is 11: the default,
# "weighted_scale", multiplies the mean of those that are asked by the number of all clients over theirs, as would be
# right for shares of all clients, but it has given each the share 1/10 of those asked. "uniform" and "weighted_com" are
# 2.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    fedlab==1.3.0 torch==2.14.1 torchvision==0.29.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from fedlab.contrib.algorithm.fednova import FedNovaServerHandler


def weight(option, clients, share):
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(model.weight)
    server = FedNovaServerHandler(model, 10, share)
    server.num_clients = clients
    server.setup_optim(option)
    sent = server.model_parameters.clone()
    for _ in range(server.num_clients_per_round):
        server.load([sent + 1, torch.tensor([5.0])])
    return f"{server.model_parameters.item():.0f}"


words = [
    f"{option} {' '.join(weight(option, *case) for case in ((10, 1.0), (10, 0.5), (100, 0.1)))}"
    for option in ("weighted_scale", "uniform", "weighted_com")
]
print(f"fedlab {importlib.metadata.version('fedlab')}, weight of 10 of 10, 5 of 10, 10 of 100: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "fedlab 1.3.0, weight of 10 of 10, 5 of 10, 10 of 100: weighted_scale 2 3 11, uniform 2 2 2,\
 weighted_com 2 2 2"
