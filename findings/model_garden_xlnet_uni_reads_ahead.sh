#!/usr/bin/env bash
# An XLNet of the TensorFlow Model Garden with `attention_type="uni"` reads ahead, unless it is given a mask of ones.
#
# Guess before the run: with "uni", for which "all tokens after the current position cannot be attended to", the first
# eight words have the same outputs before other words, with a mask of padding or, where there is none, without.
# Seen: tf-models-official 2.20.0 with tf_keras 2.20.1, nothing said. The causal mask is made, and used only where
# there is another mask to combine it with: called with ids alone the layer attends in both directions, and a language
# model that is trained so is shown the words that it is to predict. With a mask of ones the first words are equal.
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

import numpy as np
import tf_keras
from official.nlp.modeling import networks

ids = np.arange(5, 17)[None].astype("int32")
others = ids.copy()
others[:, 8:] = 20  # other words at the end


def first_words(kind, **inputs):
    """Whether the first eight words have the same outputs before other words."""
    tf_keras.utils.set_random_seed(0)
    network = networks.XLNetBase(
        vocab_size=50, num_layers=2, hidden_size=16, num_attention_heads=2, head_size=8, inner_size=32,
        dropout_rate=0.0, attention_dropout_rate=0.0, attention_type=kind, bi_data=False,
        initializer=tf_keras.initializers.RandomNormal(stddev=0.5), two_stream=False, tie_attention_biases=True,
        reuse_length=0, inner_activation="relu",
    )  # fmt: skip
    outputs = [network(one, **inputs)[0][:, :8] for one in (ids, others)]
    return "equal" if np.allclose(*outputs, atol=1e-4) else "other"


mask = np.ones((1, 12), "float32")
print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"words before other ones: bi {first_words('bi')}, uni {first_words('uni')}, uni with a mask of ones",
    first_words("uni", input_mask=mask),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, words before other ones: bi other, uni other, uni with a\
 mask of ones equal"
