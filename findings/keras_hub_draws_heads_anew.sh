#!/usr/bin/env bash
# A masked-LM model or classifier that KerasHub loads from a transformers directory has another random head each time.
#
# Guess before the run: `BertMaskedLM.from_preset` of a directory with the weights of BertForPreTraining, and `BertTextClassifier.from_preset` of a
# fine-tuned BertForSequenceClassification with as many classes, predict as transformers does; or a message says which weights are missing.
# Seen: KerasHub 0.32.0. Both load the encoder alone and draw the rest, without a message: two loads of the same files give
# different logits, neither those of transformers. The decoder's matrix is the word embeddings, so that the
# masked-LM model looks whole; its transformation, LayerNorm and bias are the missing part.
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
import warnings

import keras_hub
import numpy as np
import torch
from transformers import BertConfig, BertForPreTraining, BertForSequenceClassification, BertTokenizer

torch.manual_seed(0)
folder = pathlib.Path(sys.argv[1])
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]
(folder / "vocab.txt").write_text("\n".join(words) + "\n")
sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
config = BertConfig(vocab_size=len(words), initializer_range=0.5, num_labels=3, **sizes)
ids = np.array([[2, 5, 4, 7, 3]])
inputs = {"token_ids": ids, "padding_mask": np.ones_like(ids), "segment_ids": np.zeros_like(ids)}
kinds = {
    "masked-LM": (BertForPreTraining, keras_hub.models.BertMaskedLM, {}, {"mask_positions": np.array([[2]])}),
    "classifier": (BertForSequenceClassification, keras_hub.models.BertTextClassifier, {"num_classes": 3}, {}),
}
seen = [f"keras_hub {keras_hub.__version__}:"]
for name, (torch_class, hub_class, settings, more) in kinds.items():
    path = folder / name
    model = torch_class(config).eval()
    model.save_pretrained(path)
    BertTokenizer(vocab=str(folder / "vocab.txt"), do_lower_case=True).save_pretrained(path)
    (path / "vocab.txt").write_text((folder / "vocab.txt").read_text())
    with torch.no_grad():
        outputs = model(torch.tensor(ids))
    expected = outputs.prediction_logits[0, 2] if more else outputs.logits[0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = [hub_class.from_preset(str(path), **settings) for _ in range(2)]
        first, second = (np.array(each({**inputs, **more})).ravel() for each in loaded)
    about_weights = [one for one in caught if "weight" in str(one.message)]
    equal = np.allclose(first, expected.numpy(), atol=0.01), np.allclose(first, second, atol=0.01)
    seen.append(f"{name} as transformers {equal[0]}, two loads alike {equal[1]}, warnings {len(about_weights)};")
print(*seen)
PYTHON
seen=$(KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" | tail -1)
echo "$seen"
test "$seen" = "keras_hub 0.32.0: masked-LM as transformers False, two loads alike False, warnings 0; classifier as transformers False, two loads alike False, warnings 0;"
