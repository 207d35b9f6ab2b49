#!/usr/bin/env bash
# A Keras model called SentenceEmbedding has none of its kernels trained by Muon: the optimizer reads the model's name.
#
# Guess before the run: Muon of Keras trains the kernels of a model by Muon and its embedding layers by AdamW, as
# `exclude_embeddings` says ("embedding layers will use adamw"), whatever the class of the model is called.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0. Two classes with the same layers: of SentenceEncoder two kernels are Muon's, of
# SentenceEmbedding none is, and all of the training is AdamW's, without a word. It looks for "embedding" in the path of
# a weight, which begins with the name of the model, and has no look at the layer's class. `name="encoder"` brings Muon
# back.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np


class SentenceEncoder(keras.Model):
    def __init__(self, **options):
        super().__init__(**options)
        self.words = keras.layers.Embedding(20, 16, name="words")
        self.inner = keras.layers.Dense(16, activation="gelu", name="inner")
        self.outer = keras.layers.Dense(16, name="outer")

    def call(self, ids):
        return self.outer(self.inner(self.words(ids)))


class SentenceEmbedding(SentenceEncoder):
    pass


def count(kind, **options):
    """Trains a step, and returns how many kernels have no second moment, which AdamW's have."""
    keras.utils.set_random_seed(0)
    model = kind(**options)
    ids = np.arange(20)[None]
    model(ids)
    model.compile(optimizer=keras.optimizers.Muon(0.01), loss="mse")
    model.fit(ids, np.ones((1, 20, 16)), verbose=0)
    by_muon = sum(velocity is None for velocity in model.optimizer.adam_velocities)
    return f"{kind.__name__} {by_muon} of 2 kernels by Muon"


print(
    f"Keras {keras.__version__}: {count(SentenceEncoder)}; {count(SentenceEmbedding)};",
    f"named encoder: {count(SentenceEmbedding, name='encoder')}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "Keras 3.15.1: SentenceEncoder 2 of 2 kernels by Muon; SentenceEmbedding 0 of 2 kernels by Muon;\
 named encoder: SentenceEmbedding 2 of 2 kernels by Muon"
