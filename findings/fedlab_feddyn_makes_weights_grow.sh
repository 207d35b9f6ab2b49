#!/usr/bin/env bash
# FedDyn of FedLab makes weights that no client changes 1.9 times as large in a round, and its clients are plain SGD.
#
# Guess before the run: ten clients that send the model back as it came leave it as it is; a client's penalty `alpha`
# keeps it near the model that it was sent.
# Seen: FedLab 1.3.0. The server adds up ten models and takes the old one off once instead of ten times, so that weights
# of 1 are 1.90, 4.51 and 11.18 after three rounds. The penalty of the clients is computed from copies of the weights
# that have no gradient: with an alpha of 0, 1 and 100 a client ends at the same weights, to the last digit.
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
from fedlab.contrib.algorithm.feddyn import FedDynSerialClientTrainer, FedDynServerHandler
from torch.utils.data import DataLoader, TensorDataset


class Texts:
    def get_dataloader(self, client, batch_size):
        torch.manual_seed(0)
        return DataLoader(TensorDataset(torch.randn(64, 2), torch.randint(0, 2, (64,))), batch_size)


model = torch.nn.Linear(1, 1, bias=False)
torch.nn.init.ones_(model.weight)
server = FedDynServerHandler(model, 10, 1.0)
server.num_clients = 10
server.setup_optim(0.1)
weights = []
for _ in range(3):
    sent = server.model_parameters.clone()
    for _ in range(10):
        server.load([sent.clone()])
    weights.append(f"{server.model_parameters.item():.2f}")
moved = []
for alpha in (0.0, 1.0, 100.0):
    torch.manual_seed(1)
    client = FedDynSerialClientTrainer(torch.nn.Linear(2, 2), 1)
    client.setup_dataset(Texts())
    client.setup_optim(5, 8, 0.1, alpha)
    before = client.model_parameters.clone()
    client.local_process([before], [0])
    moved.append(f"{(client.uplink_package[0][0] - before).norm().item():.6f}")
print(
    f"fedlab {importlib.metadata.version('fedlab')}: unchanged weights of 1 become {', '.join(weights)};",
    f"with alpha 0, 1 and 100 a client moves by {', '.join(moved)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "fedlab 1.3.0: unchanged weights of 1 become 1.90, 4.51, 11.18; with alpha 0, 1 and 100 a client moves\
 by 1.048576, 1.048576, 1.048576"
