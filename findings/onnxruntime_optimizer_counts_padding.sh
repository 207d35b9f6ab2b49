#!/usr/bin/env bash
# A BERT that onnxruntime's transformer optimizer has fused reads padding on the left as text, and text as padding.
#
# Guess before the run: `optimizer.optimize_model(path, model_type="bert")` writes a faster graph with the outputs of
# the one that it read, for any attention mask, as the fusion that a session does by itself when it loads a model.
# Seen: onnxruntime 1.32.0, transformers 4.57.6, no warning. By default the fused graph reduces the mask to a number of
# tokens for each row and takes the first ones. Padding on the right is right; on the left, or with positions left
# out in the middle, other tokens are read than the mask says, and all states of the row differ.
# With `FusionOptions.use_raw_attention_mask(True)` the fused graph reads the mask, and is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    onnxruntime==1.32.0 onnx==1.23.2 transformers==4.57.6 tokenizers==0.22.2 torch==2.13.0 numpy==2.4.6 sympy==1.14.0
cat > "$folder/program.py" <<'PYTHON'
import sys

import onnxruntime
import torch
import transformers
from onnxruntime.transformers import optimizer
from onnxruntime.transformers.fusion_options import FusionOptions

path = f"{sys.argv[1]}/model.onnx"
torch.manual_seed(0)
config = transformers.BertConfig(
    vocab_size=100,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    max_position_embeddings=32,
    initializer_range=0.3,
    attn_implementation="eager",
)


class States(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = transformers.BertModel(config, add_pooling_layer=False)

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.model(input_ids, attention_mask, token_type_ids).last_hidden_state


model = States().eval()
ids = torch.arange(5, 29).reshape(3, 8)
whole, segments = torch.ones_like(ids), torch.zeros_like(ids)
names = ["input_ids", "attention_mask", "token_type_ids"]
torch.onnx.export(
    model,
    (ids, whole, segments),
    path,
    input_names=names,
    output_names=["states"],
    dynamic_axes={name: {0: "rows", 1: "tokens"} for name in [*names, "states"]},
    opset_version=17,
    dynamo=False,
)
raw = FusionOptions("bert")
raw.use_raw_attention_mask(True)
for name, options in (("fused", None), ("fused_raw", raw)):
    optimized = optimizer.optimize_model(path, "bert", num_heads=4, hidden_size=32, optimization_options=options)
    assert optimized.get_fused_operator_statistics()["Attention"] == 2
    optimized.save_model_to_file(f"{path}.{name}")
right, left, hole = whole.clone(), whole.clone(), whole.clone()
right[1:, 5:] = 0
left[1:, :3] = 0
hole[1:, 3:5] = 0
sessions = {name: onnxruntime.InferenceSession(f"{path}{name}") for name in ("", ".fused", ".fused_raw")}
words = []
for kind, mask in {"no padding": whole, "right": right, "left": left, "in the middle": hole}.items():
    with torch.no_grad():
        states = model(ids, mask, segments)
    same = []
    for session in sessions.values():
        rows = (ids.numpy(), mask.numpy(), segments.numpy())
        found = torch.tensor(session.run(None, dict(zip(names, rows, strict=True)))[0])
        same.append("equal" if torch.allclose(states[mask > 0], found[mask > 0], atol=1e-3) else "other")
    words.append(f"{kind} {' '.join(same)}")
print(f"onnxruntime {onnxruntime.__version__}, exported, fused, fused with the mask:", ", ".join(words))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "onnxruntime 1.32.0, exported, fused, fused with the mask: no padding equal equal equal,\
 right equal equal equal, left equal other equal, in the middle equal other equal"
