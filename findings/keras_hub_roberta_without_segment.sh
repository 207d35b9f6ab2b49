#!/usr/bin/env bash
# KerasHub loads a RoBERTa of transformers without its segment embedding, which is added to every token.
#
# Guess before the run: `RobertaBackbone.from_preset` of a transformers directory has the outputs of transformers; so has
# `XLMRobertaBackbone`, which is the same network.
# Seen: KerasHub 0.32.0, transformers 5.23.0. With one segment, as RoBERTa has, the outputs of a RoBERTa differ by 1.8 (of
# values up to 2.6), those of the same weights as an XLM-RoBERTa by less than 0.00001. The one converter adds the vector
# of the segment to the position embeddings, the other leaves it out, and nothing is said. With a vector of zeros
# both agree. transformers trains that vector like all others, from random numbers.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tensorflow-text==2.20.1 keras==3.15.1 keras-hub==0.32.0 safetensors==0.8.0 \
    transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import pathlib
import sys

import keras_hub
import numpy as np
import torch
import transformers

folder = pathlib.Path(sys.argv[1])
folder.mkdir(exist_ok=True)
sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
ids = np.array([[5, 6, 7, 8, 9, 10]])
words = []
for name in ("Roberta", "XLMRoberta"):
    for is_zero in (True, False):
        torch.manual_seed(0)
        config = getattr(transformers, f"{name}Config")(
            vocab_size=40, type_vocab_size=1, layer_norm_eps=1e-5, max_position_embeddings=22, **sizes
        )
        model = getattr(transformers, f"{name}ForMaskedLM")(config).eval()
        if is_zero:
            model.roberta.embeddings.token_type_embeddings.weight.data.zero_()
        path = folder / f"{name}{is_zero}"
        model.save_pretrained(path)
        backbone = getattr(keras_hub.models, f"{name}Backbone").from_preset(str(path))
        with torch.no_grad():
            expected = model.roberta(torch.tensor(ids)).last_hidden_state.numpy()
        found = np.array(backbone({"token_ids": ids, "padding_mask": np.ones_like(ids)}))
        size = "above 0.5" if np.max(np.abs(found - expected)) > 0.5 else "below 0.0001"
        assert size == "above 0.5" or np.allclose(found, expected, atol=1e-4)
        words.append(f"{name} {'zeros' if is_zero else 'random'} {size};")
print(f"keras_hub {keras_hub.__version__}:", *words)
PYTHON
seen=$(KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder/models" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras_hub 0.32.0: Roberta zeros below 0.0001; Roberta random above 0.5; XLMRoberta zeros below 0.0001; XLMRoberta random below 0.0001;"
