#!/usr/bin/env bash
# `tf.saturate_cast` makes the smallest int64 of a number that is too large, and half of the largest uint64.
#
# Guess before the run: as its documentation says, a value beyond the range of the type becomes the end of the range on
# its side, here 2**63 - 1.
# Seen: tensorflow 2.20.0. To int64, 1e19, 1e30 and infinity become -2**63, from float32, float64 and bfloat16; to
# uint64, 1e30 becomes 2**63, half of the largest. The limit is rounded to a float, which is one more than the type has,
# and the cast overflows. The other types, int32 too, get their end or the last float before it, and so do values that
# are too small; under jit_compile all are right. A counter of tokens or a hash that was scaled in floats is negative
# then.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
import tensorflow as tf


def cast(value, source, target, **options):
    function = tf.function(lambda x: tf.saturate_cast(x, target), autograph=False, **options)
    return function(tf.cast(tf.constant(value, tf.float64), source)).numpy()


def is_near_the_end(value, source, target, **options):
    limits = np.iinfo(target)
    found = cast(value, source, target, **options)
    end = limits.max if value > 0 else limits.min
    return abs(int(found) - end) <= 0.01 * limits.max


sources = ("float32", "float64", "bfloat16")
wrong = [
    f"{target} {source} {value:g}"
    for target in ("int8", "uint8", "int16", "int32", "int64", "uint64")
    for source in sources
    for value in (1e30, np.inf, -1e30)
    if not is_near_the_end(value, source, target)
]
compiled = all(
    is_near_the_end(value, source, "int64", jit_compile=True) for source in sources for value in (1e30, -1e30)
)
print(
    f"tensorflow {tf.__version__}: 1e30 becomes {cast(1e30, 'float32', 'int64')} as int64,",
    f"{cast(1e30, 'float32', 'uint64')} as uint64; wrong: {', '.join(wrong)}; right if compiled: {compiled}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow 2.20.0: 1e30 becomes -9223372036854775808 as int64, 9223372036854775808 as uint64; wrong:\
 int64 float32 1e+30, int64 float32 inf, int64 float64 1e+30, int64 float64 inf, int64 bfloat16 \
1e+30, int64 bfloat16 inf, uint64 float32 1e+30, uint64 float32 inf, uint64 float64 1e+30, uint64 \
float64 inf, uint64 bfloat16 1e+30, uint64 bfloat16 inf; right if compiled: True"
