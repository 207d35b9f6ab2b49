#!/usr/bin/env bash
# TracInCPFast of Captum, "exactly the same" as TracInCP, forgets the bias of a BERT's classifier: other texts matter most.
#
# Guess before the run: of the last layer of a BERT TracInCPFast gives the influence scores that TracInCP gives for this
# layer, as it says: "exactly the same as when naive back-propagation is used - there is no loss in accuracy".
# Seen: Captum 0.9.0. TracInCP's are the dot products of the gradients of kernel and bias; the fast ones are those of the
# kernel alone, as if the inputs had no constant 1 beside them. For a classifier without a bias they agree to 1e-4. With
# one, as BERT's has it, on a freshly initialized BERT of 32 units, they are smaller, and for 18 of 32 test texts another
# training text is the first. The longer the pooled vector, the less it matters.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    captum==0.9.0 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import torch
from captum.influence import TracInCP, TracInCPFast
from transformers import BertConfig, BertModel

path = f"{sys.argv[1]}/checkpoint.pt"
config = BertConfig(
    vocab_size=50,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    initializer_range=0.02,
)


class Classifier(torch.nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.bert = BertModel(config)
        self.classifier = torch.nn.Linear(32, 2, bias=bias)

    def forward(self, ids):
        return self.classifier(self.bert(ids).pooler_output)


def load(model, path):
    model.load_state_dict(torch.load(path))
    return 1.0


def compare(bias):
    torch.manual_seed(0)
    model = Classifier(bias).eval()
    torch.save(model.state_dict(), path)
    train = torch.randint(5, 50, (64, 12)), torch.randint(0, 2, (64,))
    test = torch.randint(5, 50, (32, 12)), torch.randint(0, 2, (32,))
    settings = {
        "model": model,
        "train_dataset": torch.utils.data.TensorDataset(*train),
        "checkpoints": [path],
        "checkpoints_load_func": load,
        "loss_fn": torch.nn.CrossEntropyLoss(reduction="sum"),
        "batch_size": 16,
    }
    slow = TracInCP(layers=["classifier"], sample_wise_grads_per_batch=True, **settings).influence(test)
    fast = TracInCPFast(final_fc_layer=model.classifier, **settings).influence(test)
    # The gradients of the classifier, from its inputs: (p - y) x for the kernel, p - y for the bias.
    with torch.no_grad():
        inputs, errors = [], []
        for ids, labels in (train, test):
            inputs.append(model.bert(ids).pooler_output)
            errors.append(model(ids).softmax(-1) - torch.nn.functional.one_hot(labels, 2))
        exact = (errors[1] @ errors[0].T) * (inputs[1] @ inputs[0].T + bias)
    right = ["exact" if torch.allclose(scores, exact, atol=1e-4) else "other" for scores in (slow, fast)]
    first = (slow.argmax(1) == fast.argmax(1)).sum().item()
    return f"TracInCP {right[0]}, fast {right[1]}, first text {first} of 32"


print(
    f"Captum {importlib.metadata.version('captum')}: without a bias {compare(False)}; with one {compare(True)}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "Captum 0.9.0: without a bias TracInCP exact, fast exact, first text 32 of 32;\
 with one TracInCP exact, fast other, first text 14 of 32"
