#!/usr/bin/env bash
# With `mask_zero=True` EmbedReduce of KerasRS counts padding in its mean: a text depends on its batch.
#
# Guess before the run: 0 is "a special padding value that should be masked out", as the page says of `mask_zero`: the
# mean of a padded text is that of its words, as with Embedding and GlobalAveragePooling1D.
# Seen: KerasRS 0.4.0, Keras 3.15.1 on JAX 0.10.2. The mask is computed and read by nothing: the vector of 0, which is
# random and is trained, counts as a word in "mean", "sum" and "sqrtn". Words of 1 and 2 have a mean of 1.50 alone and
# of 50.75 beside a text of four words, if 0 has 100. With weights of 0 for padding it is 1.50. What the layer returns,
# one vector per text, carries on the mask of the words besides.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras-rs==0.4.0 keras==3.15.1 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import keras
import keras_rs
import numpy as np

table = np.array([[100.0], [1.0], [2.0], [3.0], [4.0]], "float32")
alone = np.array([[1, 2]])
padded = np.array([[1, 2, 0, 0], [1, 2, 3, 4]])


def first(layer, ids, *weights):
    return f"{float(layer(ids, *weights)[0, 0]):.2f}"


parts = []
for combiner in ("mean", "sum", "sqrtn"):
    layer = keras_rs.layers.EmbedReduce(5, 1, mask_zero=True, combiner=combiner)
    layer.build((None, None))
    layer.set_weights([table])
    mask = (padded != 0).astype("float32")
    parts.append(f"{combiner} {first(layer, alone)}, padded {first(layer, padded)}")
    parts[-1] += f", with weights {first(layer, padded, mask)}"
embedding = keras.layers.Embedding(5, 1, mask_zero=True)
pooled = keras.Sequential([embedding, keras.layers.GlobalAveragePooling1D()])
pooled.build((None, None))
embedding.set_weights([table])
parts.append(f"Embedding and GlobalAveragePooling1D, padded {first(pooled, padded)}")
print(f"keras-rs {importlib.metadata.version('keras-rs')}: {'; '.join(parts)}")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-rs 0.4.0: mean 1.50, padded 50.75, with weights 1.50; sum 3.00, padded 203.00, with weights\
 3.00; sqrtn 2.12, padded 101.50, with weights 2.12; Embedding and GlobalAveragePooling1D, padded 1.50"
