#!/usr/bin/env bash
# FedAvg of FedLab gives a client with 10 texts as much weight as one with 990: the sizes are never sent.
#
# Guess before the run: `FedAvgSerialClientTrainer` and `FedAvgServerHandler` average models with the shares of the
# clients' examples, n_k / n, as the algorithm of that name does.
# Seen: FedLab 1.3.0. A client sends its weights and nothing else, and the server takes the plain mean. Of clients with
# 10 and 990 texts each has half of the average: the server's model lies at .50 of the way from the first to the second,
# where .99 is FedAvg. `Aggregators.fedavg_aggregate` has `weights=`, which is never used here.
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
from fedlab.contrib.algorithm.fedavg import FedAvgSerialClientTrainer, FedAvgServerHandler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
texts = torch.randn(1000, 2)
labels = (texts[:, 0] > 0).long()
labels[:10] = 1 - labels[:10]
parts = [slice(0, 10), slice(10, 1000)]


class Texts:
    def get_dataloader(self, client, batch_size):
        return DataLoader(TensorDataset(texts[parts[client]], labels[parts[client]]), batch_size)


torch.manual_seed(0)
model = torch.nn.Linear(2, 2)
server = FedAvgServerHandler(model, 10, 1.0)
server.num_clients = 2
clients = FedAvgSerialClientTrainer(torch.nn.Linear(2, 2), 2)
clients.setup_dataset(Texts())
clients.setup_optim(20, 10, 0.5)
clients.local_process(server.downlink_package, [0, 1])
sent = clients.uplink_package
for package in sent:
    server.load(package)
few, many = (package[0] for package in sent)
way = ((server.model_parameters - few) @ (many - few) / (many - few).square().sum()).item()
print(
    f"fedlab {importlib.metadata.version('fedlab')}: a client sends {len(sent[0])} tensor,",
    f"the average is at {way:.2f} of the way from 10 texts to 990",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "fedlab 1.3.0: a client sends 1 tensor, the average is at 0.50 of the way from 10 texts to 990"
