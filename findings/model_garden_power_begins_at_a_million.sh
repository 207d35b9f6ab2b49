#!/usr/bin/env bash
# The first learning rate of `power_with_offset` of the TensorFlow Model Garden is 1,000,000, and a warmup rises to it.
#
# Guess before the run: `PowerDecayWithOffset` is `pre_offset_learning_rate`, 1,000,000, only in steps before the
# offset, as it says, so that with the default offset 0 it is 0.001, 0.001, 0.0005 in steps 0, 1 and 4. With a linear
# warmup of as many steps as the offset the rate rises to 0.001.
# Seen: tf-models-official 2.20.0 with TensorFlow 2.20.0, through its OptimizerFactory. Step 0 counts as one before the
# offset 0: one step of SGD takes a weight from 1 to -999,999. Behind a warmup of 2 steps the offset 2 makes it rise to
# 1,000,000: the second step has 500,000. The schedule `power` beside it begins at 0.001.
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

import tensorflow as tf
import tf_keras
from official.modeling import optimization


def first_rates(kind, settings, warmup=None):
    config = {"optimizer": {"type": "sgd"}, "learning_rate": {"type": kind, kind: settings}}
    if warmup:
        config["warmup"] = warmup
    factory = optimization.OptimizerFactory(optimization.OptimizationConfig(config))
    rate = factory.build_learning_rate()
    optimizer = factory.build_optimizer(rate)
    weight = tf.Variable([1.0])
    optimizer.apply_gradients([(tf.ones(1), weight)])
    return " ".join(f"{float(rate(step)):g}" for step in (0, 1, 4)), float(weight[0])


settings = {"initial_learning_rate": 1e-3, "power": -0.5}
plain = first_rates("power_with_offset", settings)
linear = {"type": "linear", "linear": {"warmup_steps": 2, "warmup_learning_rate": 0.0}}
warm = first_rates("power_with_offset", {**settings, "offset": 2}, linear)
other = first_rates("power", settings)
print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"rates of steps 0, 1, 4: {plain[0]}, a weight of 1 becomes {plain[1]:g}; `power` {other[0]};",
    f"with an offset of 2 steps of warmup {warm[0]}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, rates of steps 0, 1, 4: 1e+06 0.001 0.0005, a weight of 1\
 becomes -999999; \`power\` 0.001 0.001 0.0005; with an offset of 2 steps of warmup 0 500000 0.000707107"
