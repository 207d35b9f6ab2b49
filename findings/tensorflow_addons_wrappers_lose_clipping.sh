#!/usr/bin/env bash
# A clip that an optimizer was given is lost where TensorFlow Addons wraps it: Lookahead, SWA, MovingAverage.
#
# Guess before the run: `Lookahead(Adam(..., global_clipnorm=1.0))`, "the original optimizer that will be used to
# compute and apply the gradients", clips gradients as BERT's training does, at 1.
# Seen: tensorflow-addons 0.23.0 with TensorFlow 2.15.1. The gradients are those of the wrapper, which has a clip of
# its own and asks the optimizer only to apply them. Of SGD with a rate of 1 and a gradient of length 50 a step is 1
# long, or 50 inside each of the three wrappers, whether by `clipnorm`, `clipvalue` or `global_clipnorm`; nothing is
# said. Given to the wrapper itself, the clip holds.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.15.1 numpy==1.26.4 tensorflow-addons==0.23.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import tensorflow as tf
import tensorflow_addons as tfa

WRAPPERS = {
    "alone": lambda optimizer, **options: optimizer,
    "Lookahead": tfa.optimizers.Lookahead,
    "SWA": tfa.optimizers.SWA,
    "MovingAverage": tfa.optimizers.MovingAverage,
}
CLIPS = ("clipnorm", "global_clipnorm", "clipvalue")


def step(name, clip, inside):
    """How long one step is with a rate of 1 and a gradient of (30, 40)."""
    weight, options = tf.Variable([0.0, 0.0]), {clip: 1.0}
    optimizer = tf.keras.optimizers.legacy.SGD(1.0, **(options if inside else {}))
    optimizer = WRAPPERS[name](optimizer, **({} if inside else options))
    optimizer.minimize(lambda: tf.reduce_sum(weight * [30.0, 40.0]), [weight])
    return f"{float(tf.norm(weight)):.1f}"


inner = ", ".join(f"{name} {' '.join(step(name, clip, True) for clip in CLIPS)}" for name in WRAPPERS)
print(
    f"tensorflow-addons {importlib.metadata.version('tensorflow-addons')}, tensorflow {tf.__version__}, lengths of steps",
    f"by {' '.join(CLIPS)} of 1: {inner}; of the wrapper itself: {step('Lookahead', 'global_clipnorm', False)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-addons 0.23.0, tensorflow 2.15.1, lengths of steps by clipnorm global_clipnorm clipvalue\
 of 1: alone 1.0 1.0 1.4, Lookahead 50.0 50.0 50.0, SWA 50.0 50.0 50.0, MovingAverage 50.0 50.0 50.0; of the wrapper\
 itself: 1.0"
