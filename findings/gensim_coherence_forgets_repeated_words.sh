#!/usr/bin/env bash
# Topic coherence of gensim counts a word out of a window as soon as one of its two occurrences there leaves it.
#
# Guess before the run: the number of windows of 20 words that hold a word, or two of them, is counted, and the NPMI of
# a topic is computed of these numbers, with a small constant where there is none.
# Seen: gensim 4.4.0. Where words are single in every text the NPMI is the counted one. Where they repeat it is -.011
# instead of .040: when the window moves on, the word at its left edge is taken out, though it may stand in the window
# once more. The words that are most frequent in a text, which topics consist of, lose most. The measures with windows
# (c_v, c_npmi, c_uci) share these counts, and so do comparisons of topic models over BERT vectors that use them.
# u_mass has no windows.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    gensim==4.4.0 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import itertools
import math
import random

import gensim
from gensim.corpora import Dictionary
from gensim.models.coherencemodel import CoherenceModel

SIZE = 20


def counted_npmi(texts, words):
    windows = [set(text[i : i + SIZE]) for text in texts for i in range(max(1, len(text) - SIZE + 1))]
    share = lambda *some: sum(window.issuperset(some) for window in windows) / len(windows)
    values = []
    for a, b in itertools.combinations(words, 2):
        values.append(math.log(share(a, b) / share(a) / share(b)) / -math.log(share(a, b)))
    return sum(values) / len(values)


draw = random.Random(0)
vocabulary = [f"w{i}" for i in range(30)]
for repeat in (False, True):
    texts = []
    for _ in range(300):
        # Words of decreasing frequency, or each of them at most once in a text.
        places = [min(int(draw.expovariate(0.15)), 29) for _ in range(draw.randint(3, 40))]
        texts.append([vocabulary[i] for i in (places if repeat else dict.fromkeys(places))])
    words = ["w0", "w1", "w2"]
    model = CoherenceModel(
        topics=[words], texts=texts, dictionary=Dictionary(texts), coherence="c_npmi",
        window_size=SIZE, processes=1
    )
    counted = counted_npmi(texts, words)
    print(
        f"gensim {gensim.__version__}, {'repeated' if repeat else 'single'} words:",
        f"{model.get_coherence():.3f}, counted {counted:.3f}",
    )
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null)
echo "$seen"
test "$seen" = "gensim 4.4.0, single words: 0.152, counted 0.152
gensim 4.4.0, repeated words: -0.011, counted 0.040"
