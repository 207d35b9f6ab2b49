#!/usr/bin/env bash
# N-gram masks of the TensorFlow Model Garden are others in every run: `--random_seed` does not choose them.
#
# Guess before the run: all of `create_pretraining_data` follows from `--random_seed`, "Random seed for data
# generation", with `--max_ngram_size=3` as without it.
# Seen: tf-models-official 2.20.0. The lengths of n-grams are drawn by `random.choices` of the process, the rest by the
# generator of the seed, so that 20 runs with one seed have 20 different sets of masks. Up to a size of 1 there is
# nothing to draw and all runs are alike. Workers, or a run that is made again, can't be compared.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 tf_keras==2.20.1 numpy==2.4.6 gin-config==0.5.0 pyyaml==6.0.3 scipy==1.17.0 \
    sentencepiece==0.2.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tf-models-official==2.20.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import random
import sys

import tf_keras
from absl import flags
from official.nlp.data import create_pretraining_data

flags.FLAGS(sys.argv[:1])
words = [f"w{number}" for number in range(40)]


def masked(seed, size):
    rng = random.Random(seed)
    sentence = ["[CLS]", *words, "[SEP]"]
    return tuple(
        tuple(create_pretraining_data.create_masked_lm_predictions(sentence, 0.3, 20, words, rng, True, size)[1])
        for _ in range(10)
    )


print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    "masks of seed 12345 in twenty runs:",
    ", ".join(f"max_ngram_size={size} {len({masked(12345, size) for _ in range(20)})} different" for size in (0, 1, 3)),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, masks of seed 12345 in twenty runs: max_ngram_size=0 1\
 different, max_ngram_size=1 1 different, max_ngram_size=3 20 different"
