#!/usr/bin/env bash
# transformers 5 loads a BERT with relative positions as one with absolute positions, which it was never trained with.
#
# Guess before the run: a model that transformers 4 saved with "position_embedding_type": "relative_key", as the
# published bert-base-uncased-embedding-relative-key, has the same states in transformers 5, or is refused.
# Seen: saved by 4.57.6, loaded by 5.23.0: other states, no error. Version 5 dropped the key: it lists the tables of
# distances among the unexpected keys of its load report, leaves them out, and adds the table of absolute positions,
# which the file has and version 4 did not read. The key is kept in the configuration that version 5 shows. A model
# with "absolute" stays equal.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for packages in "four transformers==4.57.6 tokenizers==0.22.2" "five transformers==5.23.0 tokenizers==0.23.3"; do
    read -r name packages <<< "$packages"
    python3 -m venv --without-pip "$folder/$name"
    # shellcheck disable=SC2086
    python3 -m pip --python "$folder/$name/bin/python" install --quiet --disable-pip-version-check --no-compile \
        $packages torch==2.13.0 numpy==2.4.6
done
cat > "$folder/program.py" <<'PYTHON'
import sys

import torch
import transformers

KINDS = ("absolute", "relative_key", "relative_key_query")
step, folder = sys.argv[1:]
ids = torch.arange(5, 37).reshape(4, 8)
words = []
for kind in KINDS:
    path = f"{folder}/{kind}"
    if step == "save":
        torch.manual_seed(0)
        config = transformers.BertConfig(
            vocab_size=50,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            max_position_embeddings=16,
            initializer_range=0.3,
            position_embedding_type=kind,
        )
        transformers.BertModel(config).save_pretrained(path)
    model = transformers.BertModel.from_pretrained(path).eval()
    with torch.no_grad():
        states = model(input_ids=ids).last_hidden_state
    if step == "save":
        torch.save(states, f"{path}.pt")
    else:
        same = torch.allclose(states, torch.load(f"{path}.pt"), atol=1e-4)
        words.append(f"{model.config.position_embedding_type} {'equal' if same else 'other'}")
print(f"transformers {transformers.__version__}:", ", ".join(words))
PYTHON
"$folder/four/bin/python" "$folder/program.py" save "$folder" > /dev/null 2>&1
seen=$("$folder/five/bin/python" "$folder/program.py" load "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers 5.23.0: absolute equal, relative_key other, relative_key_query other"
