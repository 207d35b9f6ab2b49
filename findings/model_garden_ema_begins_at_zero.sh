#!/usr/bin/env bash
# Averaged weights of the TensorFlow Model Garden begin at 0 if their decay is constant: 1 % is left after a step.
#
# Guess before the run: with `dynamic_decay=False` the average begins with the weights, as
# tf.train.ExponentialMovingAverage does, so that of a weight that is always 1 it is always 1.
# Seen: tf-models-official 2.20.0 with tf_keras 2.20.1. `shadow_copy` copies nothing, it makes zeros, and nothing
# corrects for them: with a decay of 0.99 the average of a constant 1 is .010 after one step, .096 after ten and .634
# after a hundred; with 0.9999, which large batches use, it would take tens of thousands. Evaluations and exports read
# these weights. A `start_step` of 2 (not 0 or 1) or the default, dynamic, decay repairs it.
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


def averages(steps, **settings):
    """The averaged weight, of a weight that is 1 in every step, after some steps."""
    model = tf_keras.Sequential([tf_keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.build((None, 1))
    ema = {"average_decay": 0.99, **settings}
    config = {"optimizer": {"type": "sgd"}, "learning_rate": {"type": "constant"}, "ema": ema}
    config["learning_rate"]["constant"] = {"learning_rate": 0.0}
    factory = optimization.OptimizerFactory(optimization.OptimizationConfig(config))
    optimizer = factory.build_optimizer(factory.build_learning_rate())
    optimizer.shadow_copy(model)
    for _ in range(steps):
        optimizer.apply_gradients([(tf.zeros((1, 1)), model.weights[0])])
    optimizer.assign_average_vars(model.trainable_variables)
    return f"{float(model.weights[0][0, 0]):.3f}"


def all_of(**settings):
    return " ".join(averages(steps, **settings) for steps in (1, 10, 100))


print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"average of a constant weight after 1, 10, 100 steps: dynamic decay {all_of()},",
    f"without {all_of(dynamic_decay=False)},",
    f"without, from step 2 on {all_of(dynamic_decay=False, start_step=2)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, average of a constant weight after 1, 10, 100 steps: dynamic\
 decay 0.818 1.000 1.000, without 0.010 0.096 0.634, without, from step 2 on 1.000 1.000 1.000"
