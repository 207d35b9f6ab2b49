#!/usr/bin/env bash
# Two workers of the TensorFlow Model Garden read some record files twice and leave others out, unless a seed is given.
#
# Guess before the run: of eight files two workers read four each in an epoch: "We need a seed to shuffle the files so
# that when each TPU workers gets its own shard the files do not overlap", says the input reader, and draws one if none
# is given.
# Seen: tf-models-official 2.20.0 with TensorFlow 2.20.0. It draws one for each worker, so that each takes its half of
# another order: in none of 20 epochs every file was read once. With `cache=True`, where the files are not shuffled
# again, a quarter of them is not read in ten epochs, and so never. With `seed` in the configuration of the data all is
# right.
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
import collections
import importlib.metadata
import random
import sys

import tensorflow as tf
import tf_keras
from official.core import config_definitions, input_reader

random.seed(0)
names = [f"{sys.argv[1]}/records-{number}" for number in range(8)]
for number, name in enumerate(names):
    with tf.io.TFRecordWriter(name) as writer:
        writer.write(str(number).encode())


def read(epochs, **settings):
    """How often each file is read by two workers."""
    config = config_definitions.DataConfig(
        input_path=",".join(names), global_batch_size=2, is_training=True, shuffle_buffer_size=1, **settings
    )
    seen = collections.Counter()
    for worker in range(2):
        context = tf.distribute.InputContext(2, worker, 2)  # as a strategy makes it for each of them
        for batch in input_reader.InputReader(config).read(context).take(4 * epochs):
            seen.update(int(one) for one in batch.numpy())
    return [seen[number] for number in range(8)]


plain = sum(read(1) == [1] * 8 for _ in range(20))
seeded = sum(read(1, seed=1) == [1] * 8 for _ in range(20))
never = sum(read(10, cache=True).count(0) for _ in range(20))
print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"every file once in an epoch: {plain} of 20 times, {seeded} with a seed;",
    f"files not read in ten epochs of `cache`: {never} of 160",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, every file once in an epoch: 0 of 20 times, 20 with a seed;\
 files not read in ten epochs of \`cache\`: 41 of 160"
