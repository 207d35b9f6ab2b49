#!/usr/bin/env bash
# The cosine of tf-transformers ends with the warmup: the rate falls from 1 to .1 in a step, or is NaN without a warmup.
#
# Guess before the run: `decay_function="cosine"` lets the learning rate fall along a cosine from the end of the warmup
# to `num_train_steps`, to a tenth.
# Seen: tf-transformers 2.0.0 on TensorFlow 2.15.1. The cosine is given the steps of the warmup for its length. Of 1,000
# steps with a warmup of 100 the rate rises to .99 at step 99, is .10 at step 100 and stays there: nine tenths of the
# training have a tenth of the rate that was asked for. Without a warmup its length is 0, and the rate is NaN from the
# first step on, and so are all weights. The linear schedule takes the right number.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.15.1 numpy==1.26.4 absl-py==2.5.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tf-transformers==2.0.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from tf_transformers.optimization.optimization import get_learning_rate_fn

words = []
for function, warmup in (("cosine", 100), ("cosine", 0), ("linear", 100)):
    schedule = get_learning_rate_fn(1.0, 1000, warmup, function, 0.0)
    rates = " ".join(f"{float(schedule(step)):.2f}" for step in (50, 99, 100, 500, 900))
    words.append(f"{function} with a warmup of {warmup} {rates}")
version = importlib.metadata.version("tf-transformers")
print(f"tf-transformers {version}, rates at steps 50, 99, 100, 500 and 900 of 1,000: {'; '.join(words)}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-transformers 2.0.0, rates at steps 50, 99, 100, 500 and 900 of 1,000: cosine with a warmup of 100\
 0.50 0.99 0.10 0.10 0.10; cosine with a warmup of 0 nan nan nan nan nan; linear with a warmup of 100 0.50 0.99 0.90\
 0.50 0.10"
