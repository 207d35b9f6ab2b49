#!/usr/bin/env bash
# The BLEU of fastai is above 1 for perfect short texts, and .64 for a text that is wrong in every word and padded.
#
# Guess before the run: `CorpusBLEUMetric` of predictions that are their targets is 1, and at most that; padding is no
# text.
# Seen: fastai 2.8.12. A text that is too short to have four words in a row adds half a hit, though it adds nothing to
# what is counted: of 20 perfect texts of three words and one of five the BLEU is 1.57. Padding counts as words: three
# words that are all wrong, padded to ten, have .64, padded to 100 .97. The one text of four wrong words has .08.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    fastai==2.8.12 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
from types import SimpleNamespace

import fastai
import torch
from fastai.metrics import CorpusBLEUMetric


def bleu(*batches):
    metric = CorpusBLEUMetric(vocab_sz=200)
    metric.reset()
    for said, right in batches:
        scores = torch.nn.functional.one_hot(torch.tensor(said), 200)
        metric.accumulate(SimpleNamespace(pred=scores, y=torch.tensor(right), training=False))
    return f"{metric.value:.2f}"


short = [[number, number + 1, number + 2] for number in range(1, 21)]
text = [[1, 2, 3, 4, 5]]
wrong = [[5, 6, 7, 8]], [[1, 2, 3, 4]]
padded = [([[7, 8, 9] + [0] * padding], [[1, 2, 3] + [0] * padding]) for padding in (7, 97)]
print(
    f"fastai {fastai.__version__}, BLEU: perfect {bleu((text, text))},",
    f"with short ones {bleu((short, short), (text, text))}; wrong {bleu(wrong)},",
    f"wrong and padded to ten {bleu(padded[0])}, to a hundred {bleu(padded[1])}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "fastai 2.8.12, BLEU: perfect 1.00, with short ones 1.57; wrong 0.08, wrong and padded to ten 0.64, to\
 a hundred 0.97"
