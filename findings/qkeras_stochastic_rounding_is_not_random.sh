#!/usr/bin/env bash
# Stochastic rounding of qkeras never draws: in all of training what is below half a step is 0, as in prediction.
#
# Guess before the run: with `use_stochastic_rounding=True` a unit of .3 becomes .25 in four and .5 in one of five cases
# while a model is trained, so that its mean is .3; and `stochastic_binary` of .3 is -1 now and then.
# Seen: qkeras 0.9.0 with TensorFlow 2.20.0. In `fit` the mean of units of .3 is .25, that of .05 is 0,
# `stochastic_binary` is 1 and `stochastic_ternary` 0 in all of 6,400 cases: nothing is drawn. The quantizers ask for
# Keras' global learning phase, which `fit` no longer sets. With `set_learning_phase(1)` by hand they draw. `bernoulli`
# draws, but in `predict`, too: two predictions of one text differ. That small values come through now and then is what
# stochastic rounding is for.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tf-keras==2.20.1 numpy==2.4.6 pyparsing==3.3.3 tqdm==4.70.1 networkx==3.6.1 scikit-learn==1.9.1 \
    scipy==1.17.1 dm-tree==0.1.10
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    qkeras==0.9.0 tensorflow-model-optimization==0.8.1 six==1.17.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tensorflow as tf
from qkeras import QActivation


def means(quantizer, value):
    """The mean that `fit` sees, and whether two predictions are equal."""
    units = np.full((64, 100), value, "float32")
    inputs = tf.keras.Input((100,))
    model = tf.keras.Model(inputs, QActivation(quantizer)(inputs))
    model.compile("sgd", lambda labels, outputs: outputs)
    mean = model.fit(units, units, batch_size=64, verbose=0).history["loss"][0]
    same = np.array_equal(*(model.predict(units, verbose=0) for _ in range(2)))
    return f"{mean:.2f}{'' if same else ', predictions differ'}"


parts = []
for name in ("quantized_bits(3, 0, 1, alpha=1.0, {})", "quantized_relu(3, 0, {})"):
    quantizer = name.format("use_stochastic_rounding=True")
    parts.append(f"{name.split('(')[0]} {means(quantizer, 0.3)} {means(quantizer, 0.05)}")
for name in ("stochastic_binary", "stochastic_ternary"):
    parts.append(f"{name} {means(f'{name}(alpha=1)', 0.3)} {means(f'{name}(alpha=1)', 0.05)}")
drawn = "differ" if "differ" in means("bernoulli(alpha=1)", 0.3) else "agree"
tf.keras.backend.set_learning_phase(1)
one = means("quantized_bits(3, 0, 1, alpha=1.0, use_stochastic_rounding=True)", 0.3)
print(
    f"qkeras {importlib.metadata.version('qkeras')}, means of .3 and .05 in fit: {'; '.join(parts)};",
    f"predictions of bernoulli {drawn}; phase 1 by hand: quantized_bits {float(one.split(',')[0]):.1f}",
)
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "qkeras 0.9.0, means of .3 and .05 in fit: quantized_bits 0.25 0.00; quantized_relu 0.25 0.00;\
 stochastic_binary 1.00 1.00; stochastic_ternary 0.00 0.00; predictions of bernoulli differ; phase 1 by hand:\
 quantized_bits 0.3"
