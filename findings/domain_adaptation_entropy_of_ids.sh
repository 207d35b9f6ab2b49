#!/usr/bin/env bash
# transformers-domain-adaptation's entropy is of the words' numbers in the vocabulary: by their order others are kept.
#
# Guess before the run: `DataSelector` scores a text by the entropy of its words, as Ruder and Plank (2017), whom it
# names, define it (-sum of p ln p over its words, p from the corpus); the order of the vocabulary changes nothing, and
# of two texts the more diverse one is kept.
# Seen: transformers-domain-adaptation 0.3.1 with transformers 5.23.0, 200 texts of 20 words by Zipf's law. SciPy's
# `entropy` is given the ids of the words as if they were counts: 20 words at a vocabulary's begin have less than 20
# others, and a word 200 times more changes nothing (its share would leave .55 of 3.00). Two orders of one vocabulary
# keep 18 of 20 other texts, and one or none of the 20 that the formula keeps, which is chance. The type-token ratio is
# negative, but the greatest are kept: one word 40 times is preferred to 40 words.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    transformers==5.23.0 tokenizers==0.23.3 numpy==1.26.4 scipy==1.10.1 pandas==2.2.3 scikit-learn==1.5.2 \
    tqdm==4.70.1 typing_extensions==4.16.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    transformers-domain-adaptation==0.3.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import pathlib
import random
import sys

import numpy as np
from transformers import BertTokenizerFast
from transformers_domain_adaptation import DataSelector

rng = np.random.default_rng(0)
middles = ("ala", "ene", "oro", "ulu", "iki")
words = [first + middle + last for first in "bcdfghjk" for middle in middles for last in "klmnprst"]
special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ranks = 1 / np.arange(1, len(words) + 1)
texts = [" ".join(rng.choice(words, 20, replace=False, p=ranks / ranks.sum())) for _ in range(200)]
one = " ".join(words[:20])
dull = one + f" {words[0]}" * 200
kept, entropies = {}, {}
for name, order in (("by count", words), ("shuffled", random.Random(0).sample(words, len(words)))):
    folder = pathlib.Path(sys.argv[1]) / name
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(special + order) + "\n")
    selector = DataSelector(20, BertTokenizerFast(str(folder / "vocab.txt")), diversity_metrics=["entropy"]).fit(texts)
    kept[name] = set(selector.transform(texts))
    entropies[name] = list(selector.compute_diversities([one, dull, " ".join(words[-20:])])["entropy"])
counts = {word: sum(text.split().count(word) for text in texts) / 4000 for word in words}
rights = {text: -sum(counts[word] * np.log(counts[word]) for word in text.split()) for text in texts}
best = set(sorted(texts, key=rights.get)[-20:])
shares = np.array([201] + 19 * [1]) / 220
words40 = " ".join(words[:40])
ratio = DataSelector(1, selector.tokenizer, diversity_metrics=["type_token_ratio"]).fit(texts)
first = ratio.transform([words40, f"{words[7]} " * 40])[0]
version = importlib.metadata.version("transformers-domain-adaptation")
listed = "; ".join(f"vocabulary {name} " + " ".join(f"{value:.2f}" for value in entropies[name]) for name in entropies)
print(
    f"transformers-domain-adaptation {version}: entropy of 20 words,",
    "the same and one of them 200 times more, 20 others:",
    listed,
    f"(of the words' shares {np.log(20):.2f} {-(shares * np.log(shares)).sum():.2f} {np.log(20):.2f});",
    f"of 20 kept of 200 the same with both {len(kept['by count'] & kept['shuffled'])},",
    "of the 20 by the paper's formula",
    f"{len(kept['by count'] & best)} and {len(kept['shuffled'] & best)};",
    "the type-token ratio keeps of 40 words and one word 40 times",
    "the words" if first == words40 else "the one word",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers-domain-adaptation 0.3.1: entropy of 20 words, the same and one of them 200 times more, 20\
 others: vocabulary by count 2.96 2.96 3.00; vocabulary shuffled 2.88 2.88 2.88 (of the words' shares\
 3.00 0.55 3.00); of 20 kept of 200 the same with both 2, of the 20 by the paper's formula 1 and 0; the\
 type-token ratio keeps of 40 words and one word 40 times the one word"
