#!/usr/bin/env bash
# nlpaug's augmentation by TF-IDF replaces the words that matter: those with a chance of 0.00 in 22 and 14 of 100 cases.
#
# Guess before the run: `TfIdfAug` keeps words with a high TF-IDF, as its source, UDA for BERT, does: the two words of a
# text that are in no other text have a chance of 0, and are replaced only where too few others were chosen, in 2 of 100
# cases.
# Seen: nlpaug 1.1.11, two words of twelve are replaced. The two have a chance of 0.00 and are replaced in .22 and .14
# of the cases, the others in .26; by hand it is .02, .02 and .20. A chosen word is taken from the list that is being
# read, so that those after it get the chances of their neighbours, and one is skipped. A word that is twelve times in
# one text of 50 has an idf of 1.43 instead of 3.91: words are counted, not texts. The label of a text, often in its
# rare words, is not kept.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    nlpaug==1.1.11 pandas==3.1.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import random
import tempfile

import nlpaug.augmenter.word as augmenters
import nlpaug.model.word_stats as statistics
import numpy as np

numbers = np.random.default_rng(0)
common = "the of and to in is for that with as".split()
topics = [first + second for first in "abcde" for second in "klmnopqrst"]
texts = [[*numbers.choice(common, 10).tolist(), f"topic{name}", f"rare{name}"] for name in topics]
texts[0] += [f"topic{topics[0]}"] * 11  # one text names its topic twelve times
model = statistics.TfIdf()
model.train(texts)
weights = [model.w2idf[word] for word in (f"topic{topics[1]}", f"topic{topics[0]}")]
text = texts[1]
chance = model.cal_tfidf(list(range(len(text))), text)


def by_hand():
    """Three rounds in which each word is chosen with its own chance, then two of the chosen ones, or any others."""
    left = list(range(len(text)))
    chosen = []
    for _ in range(3):
        chosen += [place for place in left if random.random() < chance[place]]
        left = [place for place in left if place not in chosen]
    return random.sample(chosen if len(chosen) >= 2 else chosen + random.sample(left, 2 - len(chosen)), 2)


def share(places_of):
    counts = np.zeros(len(text))
    for seed in range(2000):
        random.seed(seed)
        np.random.seed(seed)
        counts[places_of()] += 1
    counts /= 2000
    return f"{counts[:10].mean():.2f}, {counts[10]:.2f}, {counts[11]:.2f}"


with tempfile.TemporaryDirectory() as folder:
    model.save(folder)
    augmenter = augmenters.TfIdfAug(model_path=folder, aug_p=0.2)


def by_nlpaug():
    augmented = augmenter.augment(" ".join(text))[0].lower().split()
    return [place for place, (old, new) in enumerate(zip(text, augmented)) if old.lower() != new]


print(
    f"nlpaug {importlib.metadata.version('nlpaug')}: idf {weights[0]:.2f} of a word once in a text of 50,"
    f" {weights[1]:.2f} of one twelve times; chances of a text's last two words {chance[10]:.2f} {chance[11]:.2f};"
    f" replaced (others, these two): {share(by_nlpaug)}, by hand {share(by_hand)}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "nlpaug 1.1.11: idf 3.91 of a word once in a text of 50, 1.43 of one twelve times; chances of a text's\
 last two words 0.00 0.00; replaced (others, these two): 0.26, 0.22, 0.14, by hand 0.20, 0.02, 0.02"
