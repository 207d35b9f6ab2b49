#!/usr/bin/env bash
# A vocabulary that a Keras layer is given by `set_vocabulary` is lost when it is saved: the first one is loaded.
#
# Guess before the run: a model with a `TextVectorization` whose vocabulary was set anew, as `set_vocabulary` says it may
# ("this method will replace it"), gives the same ids after it was saved and loaded.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0. A layer that is made with the words "bad good" and then gets "good bad fine" has
# the ids 2, 3 and 4 for these. Loaded from its .keras file it has 3, 2 and 1, which is the id of unknown words: the
# configuration holds the words of the constructor, and as it does the file of the vocabulary is neither written nor
# read. A classifier behind it reads "good" for "bad". A layer that was made without words keeps what it was given.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import sys

import keras

ids = []
for arguments in ({"vocabulary": ["bad", "good"]}, {}):
    layer = keras.layers.TextVectorization(**arguments)
    layer.set_vocabulary(["good", "bad", "fine"])
    model = keras.Sequential([keras.Input((1,), dtype="string"), layer])
    model.save(sys.argv[1])
    loaded = keras.models.load_model(sys.argv[1])
    ids += [tuple(part.layers[-1](["good bad fine"]).numpy()[0].tolist()) for part in (model, loaded)]
print(f"keras {keras.__version__}: set {ids[0]}, loaded {ids[1]}; made without words {ids[2]}, loaded {ids[3]}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder/model.keras" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: set (2, 3, 4), loaded (3, 2, 1); made without words (2, 3, 4), loaded (2, 3, 4)"
