#!/usr/bin/env bash
# The accuracy that pytorch-nlp has of scores is 0.00 for a perfect classifier: it compares labels with the scores.
#
# Guess before the run: `get_accuracy(targets, outputs, k)` of labels [N] and scores [N, classes], the "2D" outputs of
# its page, is the share of texts whose label is among the k highest scores, and `ignore_index` leaves labels out.
# Seen: pytorch-nlp 0.5.0. It takes the values of the k highest scores, not their places, and looks for a label that
# equals one of them: a perfect classifier has 0.00 at k=1 and at k=3; one whose highest score happens to be the number
# of the class is right, whatever it predicts. `get_token_accuracy` does the same with `max`. With `ignore_index` the
# texts to be ignored count as wrong or right by chance of the other label, and in the total: of 10 texts of class 1
# that are all wrong, among 90 of class 0 to be ignored, the accuracy is .90.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    pytorch-nlp==0.5.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from torchnlp.metrics import get_accuracy

torch.manual_seed(0)
labels = torch.randint(0, 5, (100,))
scores = torch.nn.functional.one_hot(labels, 5).float() * 3 + torch.rand(100, 5)
always_four = torch.zeros(100, 5)
always_four[:, 4] = labels.float()  # scores that are largest for class 4, and equal to the label
words = [f"perfect {get_accuracy(labels, scores)[0]:.2f}, k=3 {get_accuracy(labels, scores, k=3)[0]:.2f}"]
words.append(f"argmax of it {get_accuracy(labels, scores.argmax(1))[0]:.2f}")
words.append(f"always class 4 {get_accuracy(labels, always_four)[0]:.2f}")
labels = torch.zeros(100, dtype=torch.long)
labels[:10] = 1
words.append(f"10 wrong, 90 ignored {get_accuracy(labels, torch.zeros(100, dtype=torch.long), ignore_index=0)[0]:.2f}")
print(f"pytorch-nlp {importlib.metadata.version('pytorch-nlp')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-nlp 0.5.0: perfect 0.00, k=3 0.00; argmax of it 1.00; always class 4 1.00; 10 wrong, 90\
 ignored 0.90"
