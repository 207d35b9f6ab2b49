#!/usr/bin/env bash
# CANINE of transformers reads padding: what it says of a text depends on the longest text of its batch.
#
# Guess before the run: `CanineTokenizer` gives a mask, and with it the vectors of a text and its pooled one are the
# same alone and beside a longer text, as in BERT.
# Seen: transformers 5.24.0, random weights. Beside a text of 100 characters more the vectors of a text differ by 1.56
# from those that it has alone, and the pooled vector, which a classifier reads, by 0.47. Characters are put together in
# fours, and are taken apart again, by convolutions that know no mask. In BERT it is 0.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    transformers==5.24.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import torch
import transformers
from transformers import BertConfig, BertModel, CanineConfig, CanineModel, CanineTokenizer

sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
text = "Padding is no text."
tokenizer = CanineTokenizer()
alone = tokenizer([text], return_tensors="pt")
beside = tokenizer([text, text + " " + "A longer text. " * 7], padding=True, return_tensors="pt")


def differences(model, names):
    torch.manual_seed(0)
    for parameter in model.eval().parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    length = alone["input_ids"].shape[1]
    with torch.no_grad():
        one, two = (
            model(**{name: batch[name] if name != "input_ids" else batch[name] % 1000 for name in names})
            for batch in (alone, beside)
        )
    words = (one[0][0] - two[0][0, :length]).abs().max()
    return f"characters {words:.2f} pooled {(one[1][0] - two[1][0]).abs().max():.2f}"


names = ["input_ids", "attention_mask"]
bert = BertModel(BertConfig(vocab_size=1000, **sizes))
parts = [f"CANINE {differences(CanineModel(CanineConfig(**sizes)), names)}", f"BERT {differences(bert, names)}"]
print(f"transformers {transformers.__version__}: alone or beside a longer text: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers 5.24.0: alone or beside a longer text: CANINE characters 1.56 pooled 0.47, BERT character\
s 0.00 pooled 0.00"
