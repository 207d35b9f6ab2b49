#!/usr/bin/env bash
# AdamWeightDecay and LAMB of the TensorFlow Model Garden decay LayerNorms after a model was saved and loaded.
#
# Guess before the run: a compiled model that is saved and loaded goes on training as before:
# `exclude_from_weight_decay=["layer_norm", "bias"]` is part of its optimizer, as the weight decay and the betas are,
# and so is `gradient_clip_norm`.
# Seen: tf-models-official 2.20.0 with tf_keras 2.20.1, nothing said. The configuration of both has the weight decay
# alone. In a step without gradients gammas of 1 stay 1 before saving; loaded, they are .99 (a rate of 0.1 and a decay
# of 0.1) and under LAMB, which then also adapts the rate of these weights to their norm, .90. A loaded AdamWeightDecay
# clips gradients to a norm of 1 again where clipping was off.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 tf_keras==2.20.1 numpy==2.4.6 gin-config==0.5.0 pyyaml==6.0.3 scipy==1.17.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tf-models-official==2.20.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import tensorflow as tf
import tf_keras
from official.modeling.optimization import lamb, legacy_adamw

settings = {"learning_rate": 0.1, "weight_decay_rate": 0.1, "exclude_from_weight_decay": ["layer_norm", "bias"]}


def train(optimizer):
    """The gamma of a LayerNorm after a step without gradients, before and after the model is saved and loaded."""
    kind = type(optimizer)
    norm = tf_keras.layers.LayerNormalization(name="layer_norm")
    model = tf_keras.Sequential([tf_keras.layers.Input((4,)), norm, tf_keras.layers.Dense(2)])
    model.compile(optimizer, "mse")
    model.save(f"{sys.argv[1]}/{kind.__name__}.keras")
    loaded = tf_keras.models.load_model(f"{sys.argv[1]}/{kind.__name__}.keras", custom_objects={kind.__name__: kind})
    values = []
    for one in (model, loaded):
        gamma = one.get_layer("layer_norm").gamma
        one.optimizer.apply_gradients([(tf.zeros(4), gamma)])
        values.append(f"{float(gamma[0]):.2f}")
    return " ".join(values), [getattr(one.optimizer, "gradient_clip_norm", None) for one in (model, loaded)]


adamw, clips = train(legacy_adamw.AdamWeightDecay(gradient_clip_norm=0.0, **settings))
print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"a gamma before and after loading: AdamWeightDecay {adamw}, LAMB {train(lamb.LAMB(**settings))[0]};",
    f"clipped to {clips[0]:g} and {clips[1]:g}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, a gamma before and after loading: AdamWeightDecay 1.00 0.99,\
 LAMB 1.00 0.90; clipped to 0 and 1"
