#!/usr/bin/env bash
# LAMB of three PyTorch packages cuts norms to 10: a BERT's word embeddings learn at a tenth of the rate of others.
#
# Guess before the run: LAMB moves every weight by the learning rate times its norm, so that word embeddings and an
# attention's kernel, both drawn with a deviation of 0.02, change by the same 0.001 of themselves.
# Seen: pytorch-lamb 1.0.0, torch_optimizer 0.3.0, pytorch_optimizer 4.1.0; optax 0.2.8 does as guessed. Weights of BERT
# Base's shapes, the second step, in thousandths. Norms are cut to 10 before the ratio: the kernel of 768 x 768, whose
# norm is 15.4, moves by 0.65 of them, the word embeddings of 30,522 x 768, whose norm is 96.8, by 0.10 (times 5.3 in
# pytorch_optimizer, which also divides by the correction of the bias). pytorch-lamb has the 10 in its code, without an
# argument for it, pytorch_optimizer as an attribute of the class, torch_optimizer as `clamp_value`.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-lamb==1.0.0 pytorch_optimizer==4.1.0 torch-optimizer==0.3.0 optax==0.2.8 \
    torch==2.13.0 numpy==2.4.6 jax==0.10.2 tensorboardX==2.6.5
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import jax.numpy as jnp
import optax
import pytorch_lamb
import pytorch_optimizer
import torch
import torch_optimizer

SHAPES = ((768, 768), (30522, 768))


def move(make):
    """Returns by how much of itself a weight of each shape moves in the second step, in thousandths."""
    words = []
    for shape in SHAPES:
        torch.manual_seed(0)
        start = torch.randn(shape) * 0.02
        gradients = torch.randn((2, *shape))
        before, after = make(start, gradients)
        words.append(f"{1000 * float((after - before).norm() / before.norm()):.2f}")
    return " ".join(words)


def by_torch(optimizer_class, **kwargs):
    def make(start, gradients):
        parameter = torch.nn.Parameter(start)
        optimizer = optimizer_class([parameter], lr=0.001, eps=1e-6, **kwargs)
        for gradient in gradients:
            before = parameter.detach().clone()
            parameter.grad = gradient.clone()
            optimizer.step()
        return before, parameter.detach()

    return make


def by_optax(start, gradients):
    optimizer = optax.lamb(0.001)
    parameter = jnp.array(start.numpy())
    state = optimizer.init(parameter)
    for gradient in gradients:
        before = parameter
        update, state = optimizer.update(jnp.array(gradient.numpy()), state, parameter)
        parameter = parameter + update
    return torch.from_dlpack(before), torch.from_dlpack(parameter)


found = {
    "optax": move(by_optax),
    "pytorch-lamb": move(by_torch(pytorch_lamb.Lamb)),
    "torch-optimizer": move(by_torch(torch_optimizer.Lamb)),
    "pytorch_optimizer": move(by_torch(pytorch_optimizer.Lamb, grad_averaging=True)),
}
print("; ".join(f"{name} {importlib.metadata.version(name)} {words}" for name, words in found.items()))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "optax 0.2.8 1.00 1.00; pytorch-lamb 1.0.0 0.65 0.10; torch-optimizer 0.3.0 0.65 0.10;\
 pytorch_optimizer 4.1.0 3.43 0.54"
