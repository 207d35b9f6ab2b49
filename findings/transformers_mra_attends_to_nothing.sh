#!/usr/bin/env bash
# Without a GPU the attention of MRA in transformers is zero: no word sees another one, and nothing is said.
#
# Guess before the run: `MraModel` computes its attention in plain PyTorch where its CUDA kernel can't be built, or
# raises an error.
# Seen: transformers 5.24.0 on a CPU. If all words of a text but the first are replaced, the output of the first word
# changes by 0.0 in MRA, and by 1.5, 1.2 and 0.3 in BERT, Nystromformer and YOSO. The function of the attention returns
# zeros where the kernel is missing: each word passes by alone, and a classifier of the first token has the same answer
# for all texts. A fine-tuned MRA that is moved to a machine without a GPU says the same of all of them.
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
from transformers import AutoConfig, AutoModel


def change(name):
    """The change of the first word's vector where all other words are replaced."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    model = AutoModel.from_config(AutoConfig.for_model(name, vocab_size=100, **sizes)).eval()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    words = torch.randint(5, 100, (2, 64))
    words[1, 0] = words[0, 0]
    with torch.no_grad():
        first, second = model(words, attention_mask=torch.ones(2, 64, dtype=torch.long))[0][:, 0]
    return f"{name} {(first - second).abs().max():.1f}"


names = ["mra", "bert", "nystromformer", "yoso"]
print(f"transformers {transformers.__version__}, change of the first word: {', '.join(map(change, names))}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers 5.24.0, change of the first word: mra 0.0, bert 1.5, nystromformer 1.2, yoso 0.3"
