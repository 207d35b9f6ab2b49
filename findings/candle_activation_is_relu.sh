#!/usr/bin/env bash
# The BERT of candle's Python package computes every activation but "gelu" as ReLU, "gelu_new" and "silu" among them.
#
# Guess before the run: `hidden_act` of the configuration is computed, or refused where it is unknown.
# Seen: candle-nn 0.4.2. With "gelu" and "relu" the vectors are those of transformers. With "gelu_new", the tanh form
# that the original BERT was trained with and that transformers writes under this name, they differ by 0.5, with "silu"
# by 1.1: all that is not "gelu" is ReLU. In float32 GELU itself is exact.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    candle-nn==0.4.2 transformers==5.23.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import candle
import numpy as np
import torch
from candle.models.bert import BertModel, Config
from transformers import BertConfig
from transformers import BertModel as TorchModel

ids = np.random.default_rng(0).integers(5, 90, (2, 12))
sizes = {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
sizes |= {"intermediate_size": 64, "initializer_range": 0.3}


def tensor(values):
    """Returns an array as a tensor of candle."""
    return candle.Tensor(values.reshape(-1).tolist()).reshape(tuple(values.shape))


rows = []
for name in ("gelu", "relu", "gelu_new", "silu"):
    torch.manual_seed(0)
    right = TorchModel(BertConfig(hidden_act=name, **sizes)).eval()
    model = BertModel(Config(hidden_act=name, **sizes))
    weights = {key: tensor(value) for key, value in right.state_dict().items()}
    weights["embeddings.position_ids"] = model.embeddings.position_ids
    model.load_state_dict(weights)
    states, _ = model(tensor(ids), tensor(np.zeros_like(ids)))
    with torch.no_grad():
        expected = right(torch.tensor(ids)).last_hidden_state
    rows.append(f"{name} {(states.to_torch() - expected).abs().max():.1f}")
print(f"candle-nn {importlib.metadata.version('candle-nn')}, differences from transformers:", ", ".join(rows))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "candle-nn 0.4.2, differences from transformers: gelu 0.0, relu 0.0, gelu_new 0.5, silu 1.1"
