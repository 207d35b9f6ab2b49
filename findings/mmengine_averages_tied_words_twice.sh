#!/usr/bin/env bash
# With `update_buffers=True` MMEngine's averages count tied word embeddings twice: they follow the weights too fast.
#
# Guess before the run: an average of weights treats all parameters alike: after a step from 0 to 1 an exponential
# moving average with a momentum of .1 is at .1 for each of them, and SWA at .5, with and without the buffers.
# Seen: mmengine 0.10.7. With `update_buffers=True` the word embedding of a BERT, which the output layer shares, is at
# .19 and .75, all other weights at .1 and .5. The averages then run over the state dict, in which a tied weight has two
# names: it is averaged once under each. Word embeddings forget twice as fast, and SWA's are no mean of the weights.
# Without the buffers each weight has one name, and all is as guessed.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 addict==2.4.0 termcolor==3.3.0 rich==15.0.0 yapf==0.43.0 matplotlib==3.11.2 \
    pyyaml==6.0.4 opencv-python-headless==5.0.0.93
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    mmengine==0.10.7
cat > "$folder/program.py" <<'PYTHON'
import mmengine
import torch
from mmengine.model import ExponentialMovingAverage, StochasticWeightAverage


class MaskedLm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(5, 1)
        self.dense = torch.nn.Linear(1, 1, bias=False)
        self.output = torch.nn.Linear(1, 5, bias=False)
        self.output.weight = self.words.weight


def averages(kind, **options):
    texts = []
    for update_buffers in (False, True):
        model = MaskedLm()
        for weight in model.parameters():
            torch.nn.init.zeros_(weight)
        average = kind(model, update_buffers=update_buffers, **options)
        # The first call copies the weights, the second one averages.
        average.update_parameters(model)
        for weight in model.parameters():
            torch.nn.init.ones_(weight)
        average.update_parameters(model)
        words, dense = average.module.words.weight[0].item(), average.module.dense.weight.item()
        texts.append(f"buffers {update_buffers} words {words:.2f}, dense {dense:.2f}")
    return "; ".join(texts)


ema = averages(ExponentialMovingAverage, momentum=0.1)
swa = averages(StochasticWeightAverage)
print(f"mmengine {mmengine.__version__}: EMA {ema}; SWA {swa}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mmengine 0.10.7: EMA buffers False words 0.10, dense 0.10; buffers True words 0.19, dense 0.10; SWA bu\
ffers False words 0.50, dense 0.50; buffers True words 0.75, dense 0.50"
