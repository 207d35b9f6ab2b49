#!/usr/bin/env bash
# A boolean mask of packed rows keeps texts apart under transformers' SDPA attention, and does nothing under "eager".
#
# Guess before the run: [batch, 1, from, to], true where a token may be seen, means the same to each of the attention
# implementations of a BERT: two texts in one row have the states that the first has alone.
# Seen: transformers 5.23.0, torch 2.13.0, no warning. A mask of four dimensions is handed on as it is. "sdpa" takes
# booleans for what may be seen; "eager" adds them to the scores, 1 to those that may be seen and 0 to the others, so
# that every token sees both texts, and its states are other ones. "eager" is what attention maps
# (`output_attentions`) need. A mask of 0 and 1 in float32 is added by both; -1e9 where nothing may be seen is right in
# both.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import torch
import transformers

torch.manual_seed(0)
config = transformers.BertConfig(
    vocab_size=50,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    initializer_range=0.3,
)
model = transformers.BertModel(config).eval()
ids = torch.arange(5, 37).reshape(2, 16)
seen = torch.zeros(2, 1, 16, 16, dtype=torch.bool)
seen[:, :, :8, :8] = True
seen[:, :, 8:, 8:] = True
masks = {
    "boolean": seen,
    "0 and 1": seen.float(),
    "0 and -1e9": torch.where(seen, 0.0, -1e9),
    "all seen": torch.zeros(2, 1, 16, 16),
}
words = []
for name in ("eager", "sdpa"):
    model.set_attn_implementation(name)
    with torch.no_grad():
        alone = model(input_ids=ids[:, :8]).last_hidden_state
        found = {
            kind: model(input_ids=ids, attention_mask=mask).last_hidden_state[:, :8]
            for kind, mask in masks.items()
        }
    far = [f"{kind} {(states - alone).abs().max():.1f}" for kind, states in found.items()]
    words.append(f"{name}: {', '.join(far)}")
print(f"transformers {transformers.__version__}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers 5.23.0: eager: boolean 1.5, 0 and 1 1.5, 0 and -1e9 0.0, all seen 1.6;\
 sdpa: boolean 0.0, 0 and 1 1.5, 0 and -1e9 0.0, all seen 1.6"
