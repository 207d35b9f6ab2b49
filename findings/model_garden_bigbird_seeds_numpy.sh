#!/usr/bin/env bash
# A BigBird of the TensorFlow Model Garden sets the seed of NumPy: runs with five seeds shuffle their texts alike.
#
# Guess before the run: a run that sets its seed, builds an encoder and shuffles its data by NumPy has five orders with
# five seeds, whichever encoder it builds.
# Seen: tf-models-official 2.20.0 with numpy 2.4.6. To draw its random blocks each layer sets the seed of the process
# to its own number, 0, 1, 2 ..., and leaves it so: what NumPy draws afterwards is the same in all runs (shuffles,
# masks, splits, new heads of Python code). With a BERT there are five orders. A layer that is built alone, without a
# seed, makes a run that has set one unrepeatable.
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

import numpy as np
import tf_keras
from official.nlp.configs import encoders


def draws(kind):
    """What NumPy draws after a model was built, in runs with five seeds."""
    sizes = {"vocab_size": 50, "hidden_size": 8, "num_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
    orders = set()
    for seed in range(5):
        tf_keras.utils.set_random_seed(seed)
        encoders.build_encoder(encoders.EncoderConfig({"type": kind, kind: sizes}))
        orders.add(tuple(np.random.permutation(100)))
    return f"{kind} {len(orders)}"


print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"numpy {np.__version__}, different orders of 100 texts with five seeds: {draws('bert')}, {draws('bigbird')}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, numpy 2.4.6, different orders of 100 texts with five seeds:\
 bert 5, bigbird 1"
