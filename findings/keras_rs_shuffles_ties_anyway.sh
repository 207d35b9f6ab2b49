#!/usr/bin/env bash
# `shuffle_ties=False` of KerasRS' ranking metrics shuffles all the same: of equal scores nDCG is another in every call.
#
# Guess before the run: with shuffle_ties=False documents of equal scores keep their order, so that a metric is the same
# whenever it is computed; and the precision at 10 divides by 10, as the formula in its documentation ("1/k sum_i").
# Seen: keras-rs 0.4.0, keras 3.15.1, on JAX. The sort shuffles whenever there is a mask, and the metrics always hand it
# one: of 64 queries with equal scores nDCG, MRR, MAP and recall have several values in 5 calls. Two right documents,
# and no more, are a P@10 of 1. With weights of queries the mean reciprocal rank depends on the batch size, as a query
# without a right document has the mean weight of its batch instead of its own.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 jax==0.10.2 numpy==2.4.6 ml-dtypes==0.5.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    keras-rs==0.4.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from keras_rs import metrics

random = np.random.default_rng(0)
right = (np.arange(20) == random.integers(0, 20, (64, 1))).astype("float32")
equal = np.zeros((64, 20), "float32")
names = "NDCG", "MeanReciprocalRank", "MeanAveragePrecision", "RecallAtK"
values = [{float(getattr(metrics, name)(k=5, shuffle_ties=False)(right, equal)) for _ in range(5)} for name in names]
two = metrics.PrecisionAtK(k=10)(np.array([[1.0, 1.0]]), np.array([[2.0, 1.0]]))
some = right * (np.arange(64)[:, None] % 4 == 0)
scores = random.random((64, 20)).astype("float32")
weights = random.uniform(0.1, 3, 64).astype("float32")
ranks = [1 + (-row).argsort().tolist().index(label.argmax()) for row, label in zip(scores, some, strict=True)]
exact = sum(weights / ranks * some.any(axis=1)) / sum(weights)
means = []
for size in (1, 8, 64):
    metric = metrics.MeanReciprocalRank()
    for first in range(0, 64, size):
        rows = slice(first, first + size)
        metric.update_state(some[rows], scores[rows], weights[rows])
    means.append(f"{float(metric.result()):.3f}")
print(
    f"keras-rs {importlib.metadata.version('keras-rs')},",
    f"with one value in 5 calls {sum(len(some) == 1 for some in values)} of 4;",
    f"P@10 of two {float(two):.1f}; weighted MRR {exact:.3f}, in batches of 1, 8, 64: {' '.join(means)}",
)
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-rs 0.4.0, with one value in 5 calls 0 of 4; P@10 of two 1.0; weighted MRR 0.041, in batches of\
 1, 8, 64: 0.052 0.048 0.048"
