#!/usr/bin/env bash
# Keras' `TimeDistributed` drops the mask of the embedding that it wraps: the mean of a sentence of two words has four.
#
# Guess before the run: `TimeDistributed(Embedding(mask_zero=True))` of documents, sentences and words hands a mask to
# the `TimeDistributed` pooling after it; a penalty of the wrapped layer's outputs counts.
# Seen: Keras 3.15.1 on JAX 0.10.2. The wrapper calls the layer's `call` and passes on the mask that it got, so none:
# padding counts in the means, 1.51 and 1.50 for 1.36 and 1.01. A model of both layers in one `TimeDistributed` is
# right. The activity penalty of a Dense is 0 in the wrapper. Nothing is said.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 numpy==2.4.6 scipy==1.17.1 jax==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np
from keras import layers

documents = np.array([[[1, 2, 0, 0], [3, 0, 0, 0]]])
keras.utils.set_random_seed(0)
embedding = layers.Embedding(5, 1, embeddings_initializer=keras.initializers.RandomUniform(1, 2), mask_zero=True)
sentence = keras.Sequential([keras.Input((4,)), embedding, layers.GlobalAveragePooling1D()])
inputs = keras.Input((2, 4), dtype="int32")
apart = layers.TimeDistributed(layers.GlobalAveragePooling1D())(layers.TimeDistributed(embedding)(inputs))
whole = layers.TimeDistributed(sentence)(inputs)


def means(model, arrays):
    return " ".join(f"{value:.2f}" for value in model.predict(arrays, verbose=0).ravel())


penalized = layers.Dense(2, kernel_initializer="ones", activity_regularizer=keras.regularizers.L2(1.0))
vectors = np.ones((2, 3, 4), "float32")
penalties = []
for layer in (penalized, layers.TimeDistributed(layers.Dense.from_config(penalized.get_config()))):
    layer(vectors)
    penalties.append(float(sum(layer.losses)))
print(
    f"keras {keras.__version__}: alone {means(sentence, documents[0])},",
    f"two layers in TimeDistributed {means(keras.Model(inputs, apart), documents)},",
    f"one model in it {means(keras.Model(inputs, whole), documents)};",
    f"penalty of a Dense {penalties[0]:.0f}, in TimeDistributed {penalties[1]:.0f}",
)
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: alone 1.36 1.01, two layers in TimeDistributed 1.51 1.50, one model in it 1.36 1.01;\
 penalty of a Dense 96, in TimeDistributed 0"
