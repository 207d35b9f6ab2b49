#!/usr/bin/env bash
# With 4 steps of accumulation pytorch-accelerated reports a quarter of the training loss: .29 beside 1.15.
#
# Guess before the run: `train_loss_epoch` is the mean loss of the training texts; on the same texts, with a learning
# rate of 0, it is the evaluation's loss, however many batches make an update.
# Seen: pytorch-accelerated 0.1.61. With `gradient_accumulation_steps=4` the training loss is .287 and the evaluation
# loss of the same weights on the same texts 1.147; without accumulation both are 1.147. The loss is divided by the
# steps for the gradients before it is counted. A gap between the two curves looks like overfitting, and runs with other
# batches can't be compared.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-accelerated==0.1.61 accelerate==1.15.0 torch==2.13.0 numpy==2.4.6 tqdm==4.70.1
cat > "$folder/program.py" <<'PYTHON'
import contextlib
import importlib.metadata
import io

import pytorch_accelerated
import torch

torch.manual_seed(0)
data = torch.utils.data.TensorDataset(torch.randn(64, 8), torch.arange(64) % 3)


def losses(accumulation):
    torch.manual_seed(0)
    network = torch.nn.Linear(8, 3)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.0)
    trainer = pytorch_accelerated.Trainer(network, torch.nn.CrossEntropyLoss(), optimizer, callbacks=[])
    with contextlib.redirect_stdout(io.StringIO()):
        trainer.train(
            train_dataset=data,
            eval_dataset=data,
            num_epochs=1,
            per_device_batch_size=8,
            gradient_accumulation_steps=accumulation,
        )
    history = trainer.run_history
    train, evaluation = (history.get_latest_metric(f"{name}_loss_epoch") for name in ("train", "eval"))
    return f"train / eval {train / evaluation:.3f}"


version = importlib.metadata.version('pytorch-accelerated')
print(f"pytorch-accelerated {version}: 1 step {losses(1)}; 4 steps {losses(4)}")
PYTHON
seen=$(ACCELERATE_USE_CPU=true "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-accelerated 0.1.61: 1 step train / eval 1.000; 4 steps train / eval 0.250"
