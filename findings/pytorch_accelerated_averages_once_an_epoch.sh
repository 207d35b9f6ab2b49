#!/usr/bin/env bash
# The averaged model of pytorch-accelerated is updated once an epoch: after three epochs it is 97 % untrained.
#
# Guess before the run: ModelEmaCallback with its decay of .99 keeps the moving average of the weights over the steps,
# as TensorFlow's that its documentation refers to: after 3 epochs of 500 steps nothing is left of the weights at the
# beginning, .99 to the power of 1,500.
# Seen: pytorch-accelerated 0.1.61. With a constant gradient the weight has moved from 0 to 1,500, and the average is at
# 29.8: it is updated at the ends of epochs alone, to .99 of itself and .01 of the weight, so that .97 of the random
# beginning stays in it. After an update in every step it is at 1,401. What is saved as the averaged model is hardly
# trained.
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
import tempfile

import pytorch_accelerated
import torch
from pytorch_accelerated.callbacks import ModelEmaCallback

network = torch.nn.Linear(1, 1, bias=False)
torch.nn.init.zeros_(network.weight)
data = torch.utils.data.TensorDataset(torch.ones(500, 1), torch.zeros(500, 1))
path = tempfile.mkdtemp() + "/average.pt"
average = ModelEmaCallback(evaluate_during_training=False, save_path=path)
optimizer = torch.optim.SGD(network.parameters(), lr=1.0)
# The gradient of the output is -1, whatever the target: each step adds 1 to the weight.
trainer = pytorch_accelerated.Trainer(network, lambda output, target: -output.mean(), optimizer, callbacks=[average])
with contextlib.redirect_stdout(io.StringIO()):
    trainer.train(train_dataset=data, num_epochs=3, per_device_batch_size=1)
weight = float(network.weight.detach())
averaged = float(torch.load(path)["model_state_dict"]["weight"])
by_step = 0.0
for step in range(1, 1501):
    by_step = 0.99 * by_step + 0.01 * step
version = importlib.metadata.version('pytorch-accelerated')
print(f"pytorch-accelerated {version}: weight {weight:.0f}, average {averaged:.1f}, over steps {by_step:.0f}")
PYTHON
seen=$(ACCELERATE_USE_CPU=true "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-accelerated 0.1.61: weight 1500, average 29.8, over steps 1401"
