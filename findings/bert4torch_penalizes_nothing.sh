#!/usr/bin/env bash
# The gradient penalty of bert4torch penalizes nothing: whatever its weight is, the gradients of the loss count twice.
#
# Guess before the run: AdversarialTraining("gradient_penalty") adds epsilon / 2 times the squared gradient of the word
# embeddings to the loss, so that another epsilon trains other weights, as in autograd.
# Seen: bert4torch 0.6.2 with torch4keras 0.3.4 and torch 2.13.0, one step of SGD. The embeddings move exactly twice as
# far as without a penalty, in the same direction, for epsilon 1 and 100; by autograd they move 1.69 times as far for
# 100. The penalty is computed of the gradients that are stored, which have no graph, so that its own gradient is zero,
# and the loss is run backward a second time. (The module is loaded by its path: the package's own import wants
# torchvision, which it does not use.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 torch4keras==0.3.4 requests==2.34.2 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    bert4torch==0.6.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util

import torch
from torch4keras.trainer import Trainer

path = importlib.metadata.distribution("bert4torch").locate_file("bert4torch/callbacks.py")
spec = importlib.util.spec_from_file_location("callbacks", path)
callbacks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(callbacks)


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.word_embeddings = torch.nn.Embedding(20, 8)
        self.output = torch.nn.Linear(8, 2)

    def forward(self, ids):
        return self.output(torch.tanh(self.word_embeddings(ids)).mean(dim=1))


ids, labels = torch.arange(20).reshape(4, 5), torch.tensor([0, 1, 1, 0])
entropy = torch.nn.CrossEntropyLoss()


def step(*arguments):
    """Returns how far the embeddings move in one step of training."""
    model = Classifier()
    before = model.word_embeddings.weight.detach().clone()
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(ids, labels), batch_size=4)
    trainer = Trainer(model)
    trainer.compile(loss=entropy, optimizer=torch.optim.SGD(model.parameters(), lr=1.0))
    added = [callbacks.AdversarialTraining(*arguments)] if arguments else []
    trainer.fit(data, epochs=1, callbacks=added, verbose=0)
    return before - model.word_embeddings.weight.detach()


model = Classifier()
loss = entropy(model(ids), labels)
gradient = torch.autograd.grad(loss, model.word_embeddings.weight, create_graph=True)[0]
right = torch.autograd.grad(loss + 0.5 * 100 * gradient.square().sum(), model.word_embeddings.weight)[0]
plain = step()
parts = [f"by autograd, epsilon 100: {(right.norm() / plain.norm()).item():.2f}"]
for epsilon in (1, 100):
    moved = step("gradient_penalty", {"epsilon": epsilon, "emb_name": "word_embeddings"})
    cosine = torch.nn.functional.cosine_similarity(moved.flatten(), plain.flatten(), dim=0)
    parts.append(f"epsilon {epsilon}: {(moved.norm() / plain.norm()).item():.2f}, cosine {cosine.item():.2f}")
print(f"bert4torch {importlib.metadata.version('bert4torch')}; {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bert4torch 0.6.2; by autograd, epsilon 100: 1.69; epsilon 1: 2.00, cosine 1.00; epsilon 100: 2.00,\
 cosine 1.00"
