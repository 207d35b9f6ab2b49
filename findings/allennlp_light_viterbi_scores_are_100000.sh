#!/usr/bin/env bash
# With allowed starts AllenNLP's Viterbi decoder scores the best tags 100,000, and its third best have a tag 4 of three.
#
# Guess before the run: `viterbi_decode(allowed_start_transitions=..., top_k=3)` returns the three best sequences that
# may begin so, with their scores, as it does without the option.
# Seen: allennlp-light 1.0.0, PyTorch 2.13.0. The end is set by a score of 100,000 in place of what the words have
# scored. So the best sequence is right and its score is 100000.00, where it is 1.95; a confidence made of it is none.
# The second one is 0 0 0 where 0 1 1 is right, and the third, 0 2 4, has a tag that is none of the three. Without the
# option all three and their scores are right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    allennlp-light==1.0.0 ai2-tango==1.3.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import itertools

import torch
from allennlp_light.nn.util import viterbi_decode

torch.manual_seed(0)
scores, transitions = torch.randn(3, 3), torch.randn(3, 3)
starts = torch.tensor([0.0, 0.0, -torch.inf])


def total(tags):
    steps = sum(transitions[pair] for pair in itertools.pairwise(tags))
    return float(starts[tags[0]] + sum(scores[place, tag] for place, tag in enumerate(tags)) + steps)


def words(pairs):
    return ", ".join(f"{' '.join(str(int(tag)) for tag in tags)} ({float(score):.2f})" for tags, score in pairs)


best = sorted(itertools.product(range(3), repeat=3), key=total, reverse=True)[:3]
print(
    f"allennlp-light {importlib.metadata.version('allennlp_light')}:",
    f"right {words((tags, total(tags)) for tags in best)};",
    f"decoded {words(zip(*viterbi_decode(scores, transitions, allowed_start_transitions=starts, top_k=3)))};",
    f"without the option {words(zip(*viterbi_decode(scores, transitions, top_k=3)))}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "allennlp-light 1.0.0: right 0 0 1 (1.95), 0 1 1 (1.80), 0 0 0 (1.71); decoded 0 0 1 (100000.00), 0 0 0\
 (0.00), 0 2 4 (0.00); without the option 0 0 1 (1.95), 0 1 1 (1.80), 0 0 0 (1.71)"
