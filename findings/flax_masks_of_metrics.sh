#!/usr/bin/env bash
# With a mask of texts [3, 1], which its page allows, the accuracy of a perfect tagger in Flax NNX is 5.00.
#
# Guess before the run: a mask whose "shape should be broadcastable" leaves out tokens, or texts, and a mask that is
# given to a MultiMetric "will be passed to all the metrics": accuracy 1, and the same mean in `Average` and `Welford`.
# Seen: flax 0.12.8. With a mask of tokens accuracy is 1.00 and the mean .50, but Welford's mean of the same losses is
# 2.67: it takes the mask and counts padding all the same. With a mask [3, 1] of whole texts accuracy is 5.00, the
# number of tokens of a text: the sum is of tokens, and is divided by the sum of the mask as it stands.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    flax==0.12.8 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import flax
import jax.numpy as jnp

from flax import nnx

labels = jnp.array([[1, 2, 0, 0, 0], [2, 1, 1, 2, 1], [1, 1, 2, 0, 0]])
logits = jnp.eye(3)[labels] * 9.0
losses = jnp.where(labels == 0, 7.0, 0.5)
metrics = nnx.MultiMetric(
    accuracy=nnx.metrics.Accuracy(), mean=nnx.metrics.Average("losses"), spread=nnx.metrics.Welford("losses")
)
words = []
for name, mask in (("tokens", labels != 0), ("texts", jnp.array([[True], [True], [False]]))):
    metrics.reset()
    metrics.update(logits=logits, labels=labels, losses=losses, mask=mask)
    found = metrics.compute()
    words.append(
        f"mask of {name} {mask.shape}: accuracy {found['accuracy']:.2f}, mean {found['mean']:.2f},"
        f" mean of Welford {found['spread'].mean:.2f}"
    )
print(f"flax {flax.__version__}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "flax 0.12.8: mask of tokens (3, 5): accuracy 1.00, mean 0.50, mean of Welford 2.67; mask of texts (3,\
 1): accuracy 5.00, mean 12.25, mean of Welford 2.67"
