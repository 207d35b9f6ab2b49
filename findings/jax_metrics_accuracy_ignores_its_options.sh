#!/usr/bin/env bash
# Accuracy of JAX Metrics counts the class that `ignore_index` names, and its "weighted" and "none" are the macro mean.
#
# Guess before the run: `Accuracy(ignore_index=0)` scores the words of entities and not those that are O; "weighted"
# weights classes by their words and "none" has a score for each, as the page describes them and TorchMetrics, which it
# was ported from, has them.
# Seen: jax-metrics 0.2.5 (with jax 0.4.38). Six words are O, one of four entity words is found: .70 with
# `ignore_index=0`, where .25 is right. "weighted" is .50 instead of .70, and "none" .50 instead of 1.00, .50 and 0.00:
# the constructor puts "macro" for both. `ignore_index` and `subset_accuracy` are stored and not read again.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    jax-metrics==0.2.5 jax==0.4.38 jaxlib==0.4.38 numpy==2.4.6 optax==0.2.5 simple-pytree==0.2.2 einops==0.8.2 \
    scikit-learn==1.8.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import jax.numpy as jnp
import jax_metrics
from sklearn.metrics import accuracy_score, recall_score

tags = jnp.array([0, 0, 0, 0, 0, 0, 1, 1, 2, 2])
found = jnp.array([0, 0, 0, 0, 0, 0, 1, 0, 0, 0])


def score(**options):
    metric = jax_metrics.metrics.Accuracy(num_classes=3, **options)
    value = metric.update(preds=found, target=tags).compute()
    return " ".join(f"{one:.2f}" for one in jnp.ravel(value))


entities = tags != 0
by_words = recall_score(tags, found, average="weighted", zero_division=0)
print(
    f"jax_metrics {importlib.metadata.version('jax-metrics')}:",
    f"ignore_index=0 {score(ignore_index=0)}, right {accuracy_score(tags[entities], found[entities]):.2f};",
    f"weighted {score(average='weighted')}, right {by_words:.2f};",
    f"none {score(average='none')}, right",
    " ".join(f"{one:.2f}" for one in recall_score(tags, found, average=None, zero_division=0)),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "jax_metrics 0.2.5: ignore_index=0 0.70, right 0.25; weighted 0.50, right 0.70; none 0.50, right 1.00\
 0.50 0.00"
