#!/usr/bin/env bash
# LabelSmoothing of Composer teaches tokens that the loss ignores (-100) to be of all classes alike, padding included.
#
# Guess before the run: the loss that Composer has for it, soft_cross_entropy, leaves tokens of label -100 out, smoothed or
# not, as PyTorch's cross_entropy does with `label_smoothing`, so that a tagger learns nothing about them.
# Seen: Composer 0.32.1. It warns that negative labels "are being ignored in conversion to one-hot labels", makes rows of
# zeros of them, and adds smoothing / classes to all rows. With a factor of 0.1 the words that have no label go from any
# class to the same probability of all five; of 40 words 6 have a label, and the loss is another one as well.
#
# Installs pinned packages (5 GB) into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mosaicml==0.32.1 torch==2.7.0 numpy==2.2.6
cat > "$folder/program.py" <<'PYTHON'
import composer
import torch
from composer.algorithms import LabelSmoothing
from composer.loss import soft_cross_entropy
from torch.utils.data import DataLoader, TensorDataset

words = torch.arange(40).repeat(16, 1)
labels = torch.full_like(words, -100)
labels[:, :6] = torch.arange(6) % 5


class Tagger(composer.ComposerModel):
    """Has five logits for each of 40 words."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = torch.nn.Embedding(40, 5)
        self.first_loss = None

    def forward(self, batch):
        return self.table(batch[0]).transpose(1, 2)

    def loss(self, outputs, batch):
        loss = soft_cross_entropy(outputs, batch[1])
        if self.first_loss is None:
            self.first_loss = loss.item()
        return loss


def train(*algorithms):
    model = Tagger()
    trainer = composer.Trainer(
        model=model,
        train_dataloader=DataLoader(TensorDataset(words, labels), batch_size=8),
        max_duration="50ep",
        optimizers=torch.optim.Adam(model.parameters(), 0.05),
        algorithms=list(algorithms),
        device="cpu",
        progress_bar=False,
    )
    trainer.fit()
    # The largest probability of a class for the words without a label.
    return model.first_loss, model.table.weight[6:].softmax(-1).max().item()


logits = Tagger()([words])
right = torch.nn.functional.cross_entropy(logits, labels, label_smoothing=0.1).item()
_, untouched = train()
loss, probability = train(LabelSmoothing(0.1))
print(
    f"Composer {composer.__version__}: PyTorch's smoothed loss {right:.3f}, Composer's {loss:.3f};",
    f"words without label: {untouched:.2f} at most without smoothing, {probability:.2f} with it",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "Composer 0.32.1: PyTorch's smoothed loss 2.062, Composer's 2.009;\
 words without label: 0.79 at most without smoothing, 0.20 with it"
