#!/usr/bin/env bash
# With `smooth=True` MindSpore's BLEU of a text that has no four words in a row of its reference is 0.00 all the same.
#
# Guess before the run: "whether or not to apply smoothing" is there for texts without a common 4-gram: NLTK's method 2,
# which adds one to n-grams, gives more than 0.
# Seen: MindSpore 2.10.0, NLTK 3.10.0. If any order has no hit the result is 0 before anything is smoothed. Where every
# order has one, smoothing adds a hit to single words as well, which NLTK and the paper of Lin and Och leave as they
# are: .39 where NLTK has .38. So a text with seven of nine words right has .00, and one with four right ones has .39.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mindspore==2.10.0 numpy==1.26.4 nltk==3.10.0
cat > "$folder/program.py" <<'PYTHON'
import mindspore
import nltk
from mindspore.train import BleuScore
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

reference = "the old man sat on a bench all day".split()
texts = {
    "every fourth word wrong": "the old man X on a bench X day".split(),
    "four words in a row": "the old man sat in one corner of it".split(),
}
parts = []
for name, words in texts.items():
    values = []
    for smooth in (False, True):
        metric = BleuScore(smooth=smooth)
        metric.update([words], [[reference]])
        values.append(f"{float(metric.eval()):.2f}")
    second = sentence_bleu([reference], words, smoothing_function=SmoothingFunction().method2)
    parts.append(f"{name} {values[0]}, smoothed {values[1]}, NLTK {second:.2f}")
print(f"mindspore {mindspore.__version__}, BLEU: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mindspore 2.10.0, BLEU: every fourth word wrong 0.00, smoothed 0.00, NLTK 0.39; four words in a row\
 0.30, smoothed 0.39, NLTK 0.38"
