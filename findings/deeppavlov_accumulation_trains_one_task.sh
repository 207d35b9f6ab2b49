#!/usr/bin/env bash
# With accumulated gradients DeepPavlov trains a BERT of three tasks on one of them for a whole epoch.
#
# Guess before the run: `MultiTaskIterator` with `gradient_accumulation_steps=4` draws a task for each step of the
# optimizer, so for four batches, and all tasks have their share of each epoch, as without accumulation.
# Seen: deeppavlov 1.7.0. It counts no steps: `steps_taken` is only lowered by one after an epoch. So the remainder that
# has to be 0 for a new task is one number in all of an epoch. Of 400 batches of three equal tasks all are of one task
# in the first epoch (its texts end after 200 of them, and no others come), in the second one a task is drawn for each
# batch, so that a step adds gradients of several tasks, and the third and the fourth have one task again. Without
# accumulation each epoch has a third of each. The loss of the other tasks is not trained at all where a BERT is
# fine-tuned for one epoch.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6 requests==2.34.2 tqdm==4.70.1 filelock==4.3.1 pydantic==2.14.4 fastapi==0.165.0 uvicorn==0.54.0 \
    prometheus-client==0.26.0 pandas==3.1.1 scikit-learn==1.9.1 scipy==1.17.1 nltk==3.10.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    deeppavlov==1.7.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from deeppavlov.dataset_iterators.multitask_iterator import MultiTaskIterator

tasks = ("mnli", "sst2", "qqp")
parts = []
for accumulated in (1, 4):
    np.random.seed(0)
    rows = {"train": [(f"text {number}", number % 2) for number in range(400)], "valid": [], "test": []}
    iterator = MultiTaskIterator(
        data={task: dict(rows) for task in tasks},
        tasks={task: {"class_name": "basic_classification_iterator"} for task in tasks},
        num_train_epochs=4,
        batch_size=8,
        sampling_mode="uniform",
        gradient_accumulation_steps=accumulated,
        steps_per_epoch=100 * accumulated,
    )
    epochs = []
    for _ in range(4):
        drawn = [[task is not None for task in texts[0]].index(True) for texts, _ in iterator.gen_batches(8)]
        epochs.append("+".join(str(drawn.count(task)) for task in range(3)))
    parts.append(f"{accumulated} accumulated: {', '.join(epochs)}")
print(f"deeppavlov {importlib.metadata.version('deeppavlov')}, batches of tasks in four epochs, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "deeppavlov 1.7.0, batches of tasks in four epochs, 1 accumulated: 37+34+29, 29+36+35, 35+30+35,\
 37+30+33; 4 accumulated: 0+200+0, 138+130+132, 0+200+0, 0+200+0"
