#!/usr/bin/env bash
# Under autocast on PyTorch's CPU the LayerNorm of BERT's masked LM gets a float32 gradient that is half missing.
#
# Guess before the run: autocast keeps parameters and their gradients in float32, so that gradients are as near to
# those of float32 as bfloat16's rounding, 0.4 %, and do not depend on the number of threads.
# Seen: torch 2.13.0, transformers 5.23.0, 64 sequences of 128 with four labels. All biases are near but that of
# `cls.predictions.transform.LayerNorm`, 87 % off on one thread and 74 % on two, in float32. Alone, a LayerNorm of
# float32 gives 256 as the gradient of a bias for 4,096 bfloat16 rows of ones, 512 on two threads, 1,024 on four:
# each thread sums its rows in the type of the inputs, where 256 + 1 is 256, and the result is float32 again. On
# the CPU autocast leaves the type of a LayerNorm's inputs alone. Those of the encoder are float32, since a residual
# is added; the head's comes from a Dense and an activation in bfloat16. A Linear's bias gets all 4,096.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==5.23.0 tokenizers==0.23.3 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import torch
from transformers import BertConfig, BertForMaskedLM


def counted(layer, threads):
    """Returns the gradient of the first bias where each of 4,096 rows gives 1."""
    torch.set_num_threads(threads)
    inputs = torch.ones(4096, 768, dtype=torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        layer(inputs).sum(dtype=torch.float32).backward()
    return f"{layer.bias.grad[0].item():.0f}"


def gradients(model, batch, threads, enabled):
    torch.set_num_threads(threads)
    model.zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
        loss = model(**batch).loss
    loss.backward()
    return {
        name: parameter.grad.clone()
        for name, parameter in model.named_parameters()
        if name.endswith("bias") and parameter.grad is not None and ".key." not in name
    }


words = [f"Linear {counted(torch.nn.Linear(768, 2), 1)} of 4096"]
words += [f"LayerNorm {counted(torch.nn.LayerNorm(768), threads)}" for threads in (1, 2, 4)]
torch.manual_seed(0)
config = BertConfig(
    vocab_size=200,
    hidden_size=64,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=128,
    hidden_dropout_prob=0,
    attention_probs_dropout_prob=0,
)
model = BertForMaskedLM(config)
batch = {"input_ids": torch.randint(0, 200, (64, 128)), "labels": torch.randint(0, 4, (64, 128))}
expected = gradients(model, batch, 1, False)
for threads in (1, 2):
    found = gradients(model, batch, threads, True)
    errors = {
        name: ((found[name] - gradient).norm() / gradient.norm()).item()
        for name, gradient in expected.items()
    }
    far = " ".join(name for name, error in errors.items() if error > 0.5)
    rest = all(error < 0.05 for name, error in errors.items() if name not in far.split())
    words.append(f"BERT's {far} half off, all others near {rest}")
print(f"torch {torch.__version__.split('+')[0]}:", ", ".join(words))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torch 2.13.0: Linear 4096 of 4096, LayerNorm 256, LayerNorm 512, LayerNorm 1024,\
 BERT's cls.predictions.transform.LayerNorm.bias half off, all others near True,\
 BERT's cls.predictions.transform.LayerNorm.bias half off, all others near True"
