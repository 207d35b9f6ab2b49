#!/usr/bin/env bash
# A heteroscedastic head of edward2 sets TensorFlow's seed in each call: dropout repeats after it, or has no seed any more.
#
# Guess before the run: MCSoftmaxDense draws its own samples by its own `seed`, and a program that began with
# `tf.random.set_seed(1)` draws the same numbers in each run, and others in each step.
# Seen: edward2 0.0.2 with TensorFlow 2.15.1, outside of a graph. Each call sets the global seed to the one that it
# was given. An evaluation with `seed=5` after each step makes the dropout masks of all steps equal: of four steps
# there is one mask. Without a seed the global one is set to none, and two runs of one program that sets it have
# other masks, though nothing was drawn unseeded on purpose. Without the head there are four masks, the same in both
# runs.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.15.1 numpy==1.26.4 scipy==1.10.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    edward2==0.0.2 tensorflow-probability==0.23.0 dm-tree==0.1.10 cloudpickle==3.1.3 decorator==5.3.1 \
    attrs==26.1.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import edward2 as ed
import numpy as np
import tensorflow as tf

vectors = tf.constant(np.random.default_rng(0).normal(size=(4, 8)).astype("float32"))


def run(head, **options):
    """The masks of dropout in four steps, each after an evaluation of the head."""
    tf.random.set_seed(1)
    masks = []
    for _ in range(4):
        if head is not None:
            head(vectors, training=False, **options)
        masks.append(tuple((tf.nn.dropout(tf.ones(64), 0.5).numpy() > 0).tolist()))
    return masks


def words(make, **options):
    """How many masks are different, and whether a second run has the same ones."""
    head = make()
    if head is not None:
        head(vectors)  # makes its weights
    first, second = run(head, **options), run(head, **options)
    return f"{len(set(first))} masks, again {'the same' if first == second else 'others'}"


def make():
    return ed.layers.MCSoftmaxDense(3, train_mc_samples=10, test_mc_samples=10)


print(
    f"edward2 {importlib.metadata.version('edward2')}, tensorflow {tf.__version__}, of 4 steps: without the head",
    f"{words(lambda: None)}; with seed=5 {words(make, seed=5)}; without a seed {words(make)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "edward2 0.0.2, tensorflow 2.15.1, of 4 steps: without the head 4 masks, again the same; with seed=5\
 1 masks, again the same; without a seed 4 masks, again others"
