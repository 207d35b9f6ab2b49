#!/usr/bin/env bash
# Students of KD_Lib have dropout in the first epoch alone: validation leaves them in evaluation mode for the others.
#
# Guess before the run: `train_student` trains a student with its dropout in all epochs, and evaluates it without.
# Seen: KD_Lib 0.0.32. `train()` is called once, before the first epoch, and the validation after each epoch calls
# `eval()` and nothing that takes it back. Of five epochs four are trained without dropout, and with the fixed means of
# a batch normalization, so that the student overfits as if it had no dropout. A teacher is trained with its dropout in
# all five: its loop calls `train()` in each.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 matplotlib==3.10.8 tensorboard==2.21.0 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    KD-Lib==0.0.32
cat > "$folder/program.py" <<'PYTHON'
import contextlib
import importlib.metadata
import io
import sys
import types

import torch
from torch.utils.data import DataLoader, TensorDataset

text = types.ModuleType("KD_Lib.KD.text")  # needs torchtext of 2021, and is not used here
text.BERT2LSTM = text.get_essentials = None
sys.modules["KD_Lib.KD.text"] = text
from KD_Lib.KD import VanillaKD  # noqa: E402

torch.manual_seed(0)
data = DataLoader(TensorDataset(torch.randn(64, 8), torch.randint(0, 2, (64,))), 16)


def network():
    return torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Dropout(0.5), torch.nn.Linear(32, 2))


teacher, student = network(), network()
drops = {"teacher": [], "student": []}
for name, module in (("teacher", teacher), ("student", student)):

    def count(module, inputs, output, name=name):
        if torch.is_grad_enabled():
            drops[name].append(int((output == 0).any()))

    module[1].register_forward_hook(count)
optimizers = [torch.optim.SGD(module.parameters(), 0.01) for module in (teacher, student)]
distiller = VanillaKD(teacher, student, data, data, *optimizers)
with contextlib.redirect_stdout(io.StringIO()):
    distiller.train_teacher(epochs=5, plot_losses=False, save_model=False, save_model_pth=f"{sys.argv[1]}/teacher.pt")
    taught = list(drops["teacher"])
    distiller.train_student(epochs=5, plot_losses=False, save_model=False, save_model_pth=f"{sys.argv[1]}/student.pt")
print(
    f"KD_Lib {importlib.metadata.version('KD-Lib')}, training batches with dropout in each of 5 epochs:",
    f"teacher {[sum(taught[i : i + 4]) for i in range(0, 20, 4)]},",
    f"student {[sum(drops['student'][i : i + 4]) for i in range(0, 20, 4)]} of 4",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "KD_Lib 0.0.32, training batches with dropout in each of 5 epochs: teacher [4, 4, 4, 4, 4], student [4,\
 0, 0, 0, 0] of 4"
