#!/usr/bin/env bash
# Early stopping of PyTorch Ignite takes a loss that grows by 5 % in every epoch for an improvement: -1.05 is over -1.1.
#
# Guess before the run: `EarlyStopping(patience=2, threshold=0.1, threshold_mode="rel")` with minus the loss as score,
# as its page has it, stops two epochs after the best one: nothing that is worse is 10 % better.
# Seen: pytorch-ignite 0.5.5. The score must exceed the best one times 1.1, and of a negative score that is a lower
# one: -1 asks for -1.1. Losses of 1, 1.05, 1.1025 and so on count as better in every epoch, and the worse becomes the
# best score; training runs through all 20 epochs, to a loss of 2.53. With `mode="min"` and the loss itself it stops
# after epoch 3, and so it does with an absolute threshold. A loss that falls by 5 % in each epoch, too little, is an
# improvement in the first way, too, and none in the others.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-ignite==0.5.5 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import logging

from ignite.engine import Engine, Events
from ignite.handlers import EarlyStopping

logging.disable(logging.CRITICAL)


def epochs(factor, sign, **options):
    """Epochs until training stops, if the loss is multiplied by `factor` in each."""
    trainer = Engine(lambda engine, batch: None)

    def score(engine):
        return sign * factor ** (engine.state.epoch - 1)

    handler = EarlyStopping(patience=2, score_function=score, trainer=trainer, threshold=0.1, **options)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, handler)
    return trainer.run([0], max_epochs=20).epoch


cases = {
    "minus the loss, relative": (-1, {"threshold_mode": "rel"}),
    "the loss, relative": (1, {"threshold_mode": "rel", "mode": "min"}),
    "minus the loss, absolute": (-1, {"threshold_mode": "abs"}),
}
words = [
    f"{name} {epochs(1.05, sign, **options)} and {epochs(0.95, sign, **options)}"
    for name, (sign, options) in cases.items()
]
version = importlib.metadata.version("pytorch-ignite")
print(f"pytorch-ignite {version}, epochs of a loss that grows and one that falls: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-ignite 0.5.5, epochs of a loss that grows and one that falls: minus the loss, relative 20 and\
 20; the loss, relative 3 and 3; minus the loss, absolute 3 and 3"
