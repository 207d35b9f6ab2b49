#!/usr/bin/env bash
# "dynamic" scaling of KerasHub's RotaryEmbedding slows the fastest pair of units fourfold, which it is there to keep.
#
# Guess before the run: `rope_type="dynamic"` with a factor of 4 is the NTK-aware scaling of that name: the base grows
# by 4^(d / (d - 2)), so that the fastest pair turns as before and the slowest a quarter as far, as in transformers.
# Seen: KerasHub 0.32.0. All pairs turn .239 times as far, from the first to the last: every frequency is divided by
# 4^(d / (d - 2)), which belongs to the base. It is "linear" scaling, only a little stronger, and the words next to each
# other lose the order that the method keeps. "linear" is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tensorflow-text==2.20.1 keras==3.15.1 keras-hub==0.32.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras_hub
import numpy as np

units, factor, base = 64, 4.0, 10_000.0
pairs = np.arange(0, units, 2) / units


def angles(**options):
    layer = keras_hub.layers.RotaryEmbedding(**options)
    unit = np.concatenate([np.ones(units // 2), np.zeros(units // 2)])
    turned = np.array(layer(unit[None, None].astype("float32"), positions=np.array([1])))[0, 0]
    return np.arctan2(turned[units // 2 :], turned[: units // 2])


plain = base**-pairs
right = (base * factor ** (units / (units - 2))) ** -pairs
words = []
for name, wanted in (("linear", plain / factor), ("dynamic", right)):
    found = angles(rope_type=name, scaling_factor=factor)
    ratio, wanted = found / plain, wanted / plain
    words.append(f"{name} {ratio[0]:.3f} to {ratio[-1]:.3f}, right {wanted[0]:.3f} to {wanted[-1]:.3f}")
print(f"keras_hub {keras_hub.__version__}: {'; '.join(words)}")
PYTHON
seen=$(KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras_hub 0.32.0: linear 0.250 to 0.250, right 0.250 to 0.250; dynamic 0.239 to 0.239, right 1.000 to\
 0.250"
