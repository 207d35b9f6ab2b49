#!/usr/bin/env bash
# If the first score of a run is NaN the TensorFlow Model Garden keeps that checkpoint as the best, whatever follows.
#
# Guess before the run: of scores NaN, .7, .9 the checkpoint of .9 is exported as the best, and of NaN, .7, .1 that of
# .1 if lower is better. (The correlation of STS-B is NaN as long as a BERT predicts one value.)
# Seen: tf-models-official 2.20.0 with TensorFlow 2.20.0, no warning. No number is higher or lower than NaN, so that
# nothing is exported after the first evaluation. The score is in `info.json`, so that a run that is resumed doesn't
# export either. A NaN that comes later does no harm.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 tf_keras==2.20.1 numpy==2.4.6 gin-config==0.5.0 pyyaml==6.0.3 scipy==1.17.0 \
    tensorflow-datasets==4.9.10
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tf-models-official==2.20.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import pathlib
import sys

import tensorflow as tf
import tf_keras
from official.core import train_utils

nan = float("nan")


def best(scores, comparison):
    """The step whose checkpoint is the best one; the run is resumed before the last evaluation."""
    folder = pathlib.Path(sys.argv[1]) / "_".join(map(str, [*scores, comparison]))
    step = tf.Variable(0, dtype=tf.int64)
    for number, score in enumerate(scores, 1):
        step.assign(number)
        if number in (1, len(scores)):
            exporter = train_utils.BestCheckpointExporter(str(folder), "score", comparison)
        exporter.maybe_export_checkpoint(tf.train.Checkpoint(step=step), {"score": score}, number)
    tf.train.Checkpoint(step=step).read(exporter.best_ckpt_path)
    return int(step)


print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"best of .1 .7 .9: {best([0.1, 0.7, 0.9], 'higher')}, NaN .7 .9: {best([nan, 0.7, 0.9], 'higher')},",
    f".7 NaN .9: {best([0.7, nan, 0.9], 'higher')}; lower, NaN .7 .1: {best([nan, 0.7, 0.1], 'lower')}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, best of .1 .7 .9: 3, NaN .7 .9: 1, .7 NaN .9: 3; lower, NaN\
 .7 .1: 1"
