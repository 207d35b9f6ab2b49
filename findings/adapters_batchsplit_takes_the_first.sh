#!/usr/bin/env bash
# `BatchSplit` of the package adapters gives all rows of a batch to the first adapter if it is a ReFT, without a word.
#
# Guess before the run: `BatchSplit("a", "b", batch_sizes=[2, 2])` reads the first two rows with adapter a and the
# others with b, as it does for LoRA, bottleneck and prefix-tuning adapters, or it is refused.
# Seen: adapters 1.3.0 with transformers 4.57.6. A LoReFT layer asks for the first name of any composition: rows 3
# and 4 have exactly the states of a. `Stack("a", "b")` is a alone as well. Of bottleneck adapters with an invertible
# one (`seq_bn_inv`) rows 3 and 4 are those of neither: the invertible part of a, then the rest of b.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    adapters==1.3.0 transformers==4.57.6 tokenizers==0.22.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import adapters
import torch
from adapters.composition import BatchSplit, Stack
from transformers import BertConfig, BertModel

sizes = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
ids = torch.arange(5, 37).reshape(4, 8)


def compare(kind):
    torch.manual_seed(0)
    model = BertModel(BertConfig(**sizes, intermediate_size=64, initializer_range=0.3))
    adapters.init(model)
    for name in "ab":
        model.add_adapter(name, config=kind)
    with torch.no_grad():  # as trained
        for name, parameter in model.named_parameters():
            if ".a." in name or ".b." in name:
                parameter.add_(0.2 * torch.randn_like(parameter))
    model.eval()

    def states(setup):
        model.set_active_adapters(setup)
        with torch.no_grad():
            return model(input_ids=ids).last_hidden_state

    first, second = states("a"), states("b")

    def whose(rows, found):
        of = [name for name, right in (("a", first), ("b", second)) if torch.allclose(right[rows], found, atol=1e-4)]
        return "".join(of) or "neither"

    split = states(BatchSplit("a", "b", batch_sizes=[2, 2]))
    stack = states(Stack("a", "b"))
    return f"{whose(slice(2), split[:2])} {whose(slice(2, 4), split[2:])}, stack {whose(slice(4), stack)}"


print(
    f"adapters {importlib.metadata.version('adapters')}:",
    "; ".join(f"{kind} {compare(kind)}" for kind in ("lora", "seq_bn", "loreft", "seq_bn_inv")),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "adapters 1.3.0: lora a b, stack neither; seq_bn a b, stack neither;\
 loreft a a, stack a; seq_bn_inv a neither, stack neither"
