#!/usr/bin/env bash
# transformers-domain-adaptation's Bhattacharyya similarity prefers texts that have no word of the task: 20 of 20 kept.
#
# Guess before the run: `DataSelector` keeps the texts that are most like the task's, by each of its similarities; a
# text without a common word is the last.
# Seen: transformers-domain-adaptation 0.3.1 with transformers 5.23.0, 100 texts of which a fifth each has 0, 25, 50,
# 75 and 100 % of the task's words. The distance of a text without one is infinite and is made 0, which is the distance
# of equal texts: the greatest similarity. All the 20 that are kept are such texts; cosine and Jensen-Shannon keep
# those of the task.
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
import sys

import numpy as np
from transformers import BertTokenizerFast
from transformers_domain_adaptation import DataSelector

rng = np.random.default_rng(0)
middles = ("ala", "ene", "oro", "ulu", "iki")
words = [first + middle + last for first in "bcdfghjk" for middle in middles for last in "klmnprst"]
folder = pathlib.Path(sys.argv[1])
(folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]) + "\n")
tokenizer = BertTokenizerFast(str(folder / "vocab.txt"))
ours, theirs = words[:160], words[160:]
task = [" ".join(rng.choice(ours, 20)) for _ in range(30)]
shares = [0.0, 0.25, 0.5, 0.75, 1.0]
corpus, kinds = [], []
for share in shares:
    for _ in range(20):
        count = int(share * 40)
        corpus.append(" ".join([*rng.choice(ours, count), *rng.choice(theirs, 40 - count)]))
        kinds.append(share)
found = []
for name in ("bhattacharyya", "cosine", "jensen-shannon"):
    selector = DataSelector(20, tokenizer, similarity_metrics=[name]).fit(task)
    kept = selector.transform(corpus)
    means = selector.compute_similarities(corpus)[name].groupby(kinds).mean()
    found.append(
        f"{name} "
        + " ".join(f"{value:.2f}" for value in means)
        + f", the 20 kept have {np.mean([kinds[corpus.index(text)] for text in kept]):.0%} of its words"
    )
version = importlib.metadata.version("transformers-domain-adaptation")
print(
    f"transformers-domain-adaptation {version}, similarity of texts",
    "with 0, 25, 50, 75 and 100 % of the task's words:",
    "; ".join(found),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers-domain-adaptation 0.3.1, similarity of texts with 0, 25, 50, 75 and 100 % of the task's\
 words: bhattacharyya 0.00 -2.15 -1.47 -1.08 -0.81, the 20 kept have 0% of its words; cosine 0.00 0.10\
 0.21 0.31 0.40, the 20 kept have 98% of its words; jensen-shannon 0.31 0.38 0.45 0.52 0.58, the 20\
 kept have 100% of its words"
