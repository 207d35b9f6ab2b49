#!/usr/bin/env bash
# The stepwise cosine of the TensorFlow Model Garden rises again, and at its last boundary it and the weights are NaN.
#
# Guess before the run: the example of `StepCosineDecayWithOffset`, boundaries 100,000 and 110,000, values 1.0 and 0.5,
# falls as its documentation says: from 1.0 to 0.5 in 100,000 steps, from 0.5 to 0 in 10,000 more, and it is 0 then.
# Seen: tf-models-official 2.20.0 with TensorFlow 2.20.0. The first cosine has the length of the second interval,
# 10,000 steps, so that the rate is 0.5 after 10,000 steps and 1.0 again after 20,000, 40,000 ... The last interval has
# the length 0: at the last boundary the rate is 0/0. Where the boundaries begin with 0 the fall is right, and the step
# of the last boundary makes every weight NaN, with no message. A schedule has to have a last boundary that no training
# reaches.
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


def build(boundaries, values):
    kind = "step_cosine_with_offset"
    settings = {"boundaries": boundaries, "values": values}
    config = {"optimizer": {"type": "sgd"}, "learning_rate": {"type": kind, kind: settings}}
    factory = optimization.OptimizerFactory(optimization.OptimizationConfig(config))
    rate = factory.build_learning_rate()
    return rate, factory.build_optimizer(rate)


rate, _ = build([100_000, 110_000], [1.0, 0.5])  # the example of its docstring
example = [f"{float(rate(step)):.2f}" for step in (0, 10_000, 20_000, 55_000, 100_000, 110_000)]

rate, optimizer = build([0, 100], [1e-3, 1e-4])  # as its tests begin, at 0
weight = tf.Variable([1.0])
weights = []
for step in range(101):
    optimizer.apply_gradients([(tf.ones(1), weight)])
    weights.append(float(weight[0]))
print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"rates of the example: {' '.join(example)}; a weight after 100 steps {weights[99]:.3f}, after 101 {weights[100]}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, rates of the example: 1.00 0.50 1.00 0.75 1.00 nan; a weight\
 after 100 steps 0.945, after 101 nan"
