#!/usr/bin/env bash
# The CRF of PaddleNLP reads transitions backward for all tag sequences and forward for one: probabilities add up to 2.
#
# Guess before the run: `LinearChainCrf` gives every sequence of tags a score, and the log of the sum of them all, so
# that the probabilities of all sequences add up to 1.
# Seen: PaddleNLP 2.8.1, Paddle 3.3.1. `gold_score` reads transitions[from, to], `forward` reads transitions[to, from].
# With random scores of three tags and four words the probabilities of the 81 sequences add up to 2.07 without start and
# stop tags and to 2.21 with them; with symmetric transitions to 1.00. A sequence may be more likely than all together:
# where transition and scores agree on B I it has a probability of 145.47. Its loss would be negative, which a ReLU
# hides: it is 0.00, and teaches nothing. `ViterbiDecoder` reads [from, to], but the stop's row where `gold_score` has
# its column.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    paddlepaddle==3.3.1 numpy==2.4.6 setuptools==81.0.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    paddlenlp==2.8.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import itertools
import logging
import sys
import types

import numpy as np
import paddle

package = importlib.metadata.distribution("paddlenlp")
for name in ("paddlenlp", "paddlenlp.layers", "paddlenlp.utils", "paddlenlp.utils.log"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["paddlenlp.utils.log"].logger = logging.getLogger()
for name in ("sequence", "crf"):
    spec = importlib.util.spec_from_file_location(
        f"paddlenlp.layers.{name}", package.locate_file(f"paddlenlp/layers/{name}.py")
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)

random = np.random.default_rng(0)
length = paddle.to_tensor([4])


def total(ends, symmetric):
    """Probabilities of all tag sequences of four words, added up; the greatest log probability of one."""
    crf = module.LinearChainCrf(3, with_start_stop_tag=ends)
    tags = crf.num_tags
    transitions = 2 * random.normal(size=(tags, tags)).astype(np.float32)
    crf.transitions.set_value((transitions + transitions.T) / 2 if symmetric else transitions)
    scores = paddle.to_tensor(random.normal(size=(1, 4, tags)).astype(np.float32))
    everything = crf(scores, length).item()
    logs = [
        crf.gold_score(scores, paddle.to_tensor([sequence]), length).item() - everything
        for sequence in itertools.product(range(tags), repeat=4)
    ]
    return f"{np.exp(logs).sum():.2f} (one of them {np.exp(max(logs)):.2f})"


crf = module.LinearChainCrf(2, with_start_stop_tag=False)
crf.transitions.set_value(np.array([[0.0, 5.0], [0.0, 0.0]], np.float32))
scores = paddle.to_tensor([[[5.0, 0.0], [0.0, 5.0]]])
length_of_two, labels = paddle.to_tensor([2]), paddle.to_tensor([[0, 1]])
sure = (crf.gold_score(scores, labels, length_of_two) - crf(scores, length_of_two)).exp().item()
loss = module.LinearChainCrfLoss(crf)(scores, length_of_two, labels).item()
parts = [
    f"random transitions {total(False, False)}",
    f"with start and stop {total(True, False)}",
    f"symmetric ones {total(False, True)}",
    f"B I alone {sure:.2f}, loss {loss:.2f}",
]
print(f"paddlenlp {package.version}, probabilities of all tag sequences: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "paddlenlp 2.8.1, probabilities of all tag sequences: random transitions 2.07 (one of them 0.60), with\
 start and stop 2.21 (one of them 0.27), symmetric ones 1.00 (one of them 0.83), B I alone 145.47, loss 0.00"
