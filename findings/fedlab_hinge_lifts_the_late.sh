#!/usr/bin/env bash
# With "hinge" FedLab's asynchronous server can give a client that is late more weight than one that is in time.
#
# Guess before the run: `setup_optim(alpha, "hinge", a, b)` of FedLab weighs a client that is s rounds late by alpha up
# to s = b and by alpha / (a (s - b) + 1) after that, as the paper that it names: always less.
# Seen: fedlab 1.3.0. It divides by a (s - b + 1). With alpha=.6, a=.1, b=4 a client that is 5 rounds late weighs 3.00,
# the paper says .55: the server's model becomes three times the client's less two times its own, and a weight of 1.00
# that meets a client's 1.10 is 1.30. Up to 13 rounds late are not weighed below .6. With the default a=10 it is the
# other way round: .03 for .05.
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
from fedlab.contrib.algorithm.basic_server import AsyncServerHandler


def server(late, a):
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(model.weight)
    handler = AsyncServerHandler(model, global_round=100)
    handler.setup_optim(0.6, "hinge", a=a, b=4)
    handler.round = late
    return handler


parts = []
for a in (0.1, 10):
    weights = [f"{float(server(late, a).adapt_alpha(0)):.2f}" for late in (0, 4, 5, 8, 13)]
    paper = [f"{0.6 / (a * max(late - 4, 0) + 1):.2f}" for late in (0, 4, 5, 8, 13)]
    parts.append(f"a={a} {' '.join(weights)} for {' '.join(paper)}")
handler = server(5, 0.1)
handler.load([torch.tensor([1.1]), torch.tensor([0.0])])
weight = handler.model_parameters.item()
version = importlib.metadata.version("fedlab")
print(f"fedlab {version}: weights 0, 4, 5, 8, 13 rounds late: {'; '.join(parts)}; 1.00 and 1.10 make {weight:.2f}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "fedlab 1.3.0: weights 0, 4, 5, 8, 13 rounds late: a=0.1 0.60 0.60 3.00 1.20 0.60 for 0.60 0.60 0.55 0.\
43 0.32; a=10 0.60 0.60 0.03 0.01 0.01 for 0.60 0.60 0.05 0.01 0.01; 1.00 and 1.10 make 1.30"
