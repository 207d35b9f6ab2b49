#!/usr/bin/env bash
# The last window of Keras' AveragePooling1D counts the last word twice on PyTorch, for texts of an even length.
#
# Guess before the run: with `padding="same"` the last window is the mean of the words in it, as on TensorFlow and JAX,
# which leave padding out: (7 + 8) / 2 of eight words in windows of three, two apart.
# Seen: keras 3.15.1 on PyTorch 2.13.0. It is 7.67 of eight words and 3.67 of four: where the padding is not the same on
# both sides the last word is repeated, and counts twice. Texts of an odd length are right. So a pooled vector of a
# Funnel or a CNN over a BERT depends on the backend, and on whether a text has a word more.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import keras
import numpy as np

pool = keras.layers.AveragePooling1D(3, 2, padding="same")


def of_words(words):
    """Means of the words that are in each window, as the other backends have them."""
    total = max((-(-len(words) // 2) - 1) * 2 + 3 - len(words), 0)
    starts = range(-(total // 2), len(words) - 1, 2)
    return [words[max(start, 0) : start + 3].mean() for start in starts]


parts = []
for length in (4, 5, 7, 8):
    words = np.arange(1, length + 1, dtype="float32")
    found = keras.ops.convert_to_numpy(pool(words[None, :, None])).ravel()
    rows = [" ".join(f"{value:.2f}" for value in values) for values in (found, of_words(words))]
    parts.append(f"of {length} words {rows[0]} (means {rows[1]})")
torch = importlib.metadata.version("torch").partition("+")[0]
print(f"keras {keras.__version__}, torch {torch}: {', '.join(parts)}")
PYTHON
seen=$(KERAS_BACKEND=torch "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1, torch 2.13.0: of 4 words 2.00 3.67 (means 2.00 3.50), of 5 words 1.50 3.00 4.50 (means\
 1.50 3.00 4.50), of 7 words 1.50 3.00 5.00 6.50 (means 1.50 3.00 5.00 6.50), of 8 words 2.00 4.00 6.00 7.67 (means\
 2.00 4.00 6.00 7.50)"
