#!/usr/bin/env bash
# A ModernBERT that transformers 5 saves gets the bases and layers of another model in mlx-embeddings.
#
# Guess before the run: rotary bases and the kinds of layers are those of config.json, in transformers 4's keys
# (`global_rope_theta`, `global_attn_every_n_layers`) and in transformers 5's (`rope_parameters`, `layer_types`).
# Seen: mlx-embeddings 0.1.0, transformers 5.23.0, MLX 0.32.4 on a CPU. Only the old keys are read; of a file with the
# new ones the defaults of the first ModernBERT are taken, 160,000 and 10,000, and every third layer is global. A model
# with these values is right. With a local base of 160,000, or with alternating layers, its vectors are others, and with
# the same model's old keys they are right again. Nothing is said.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mlx-embeddings==0.1.0 mlx==0.32.4 mlx-cpu==0.32.4 transformers==5.23.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys
from pathlib import Path

import mlx.core as mx
import numpy as np
import torch
from mlx_embeddings.utils import load_model
import json

from transformers import ModernBertConfig, ModernBertModel

ids = np.random.default_rng(0).integers(5, 90, (2, 40))
sizes = {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 2}
sizes |= {"intermediate_size": 64, "initializer_range": 0.3, "initializer_cutoff_factor": 9.0, "pad_token_id": 0}
sizes |= {"bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2, "local_attention": 16}


def difference(model, path, old_keys=None):
    """Returns the largest difference from transformers' vectors; old keys are added to config.json."""
    path = Path(path)
    model.eval().save_pretrained(path)
    config = json.loads((path / "config.json").read_text()) | (old_keys or {})
    (path / "config.json").write_text(json.dumps(config))
    states = load_model(path, path_to_repo=str(path)).model(
        mx.array(ids), attention_mask=mx.ones(ids.shape, mx.int32)
    )
    with torch.no_grad():
        other = model(torch.tensor(ids)).last_hidden_state.numpy()
    return f"{np.abs(np.array(states['last_hidden_state']) - other).max():.1f}"


def model(local_base=10000.0, **options):
    torch.manual_seed(0)
    bases = {"full_attention": 160000.0, "sliding_attention": local_base}
    bases = {kind: {"rope_type": "default", "rope_theta": base} for kind, base in bases.items()}
    return ModernBertModel(ModernBertConfig(rope_parameters=bases, **options, **sizes))


path = sys.argv[1]
base = {"local_rope_theta": 160000.0}
alternating = {"layer_types": ["full_attention", "sliding_attention"] * 2}
print(
    f"mlx-embeddings {importlib.metadata.version('mlx-embeddings')}: defaults {difference(model(), f'{path}/a')};",
    f"local base {difference(model(160000.0), f'{path}/b')},",
    f"with the old key {difference(model(160000.0), f'{path}/c', base)};",
    f"alternating layers {difference(model(**alternating), f'{path}/d')},",
    f"with the old key {difference(model(**alternating), f'{path}/e', {'global_attn_every_n_layers': 2})}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mlx-embeddings 0.1.0: defaults 0.0; local base 1.0, with the old key 0.0; alternating layers 2.0,\
 with the old key 0.0"
