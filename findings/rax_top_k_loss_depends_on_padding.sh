#!/usr/bin/env bash
# Rax's differentiable nDCG@2 depends on padding: it is -.35 alone and -.15 with 8 places that `where` leaves out.
#
# Guess before the run: places that `where` marks as invalid change nothing: `approx_t12n` of `ndcg_metric(topn=2)` has
# the same value and gradient however long a list of passages is padded, as the exact metric has.
# Seen: rax 0.4.0 (with jax 0.4.38; its transformations want `jax.util`, which jax 0.8 dropped). The exact nDCG@2 is .28
# with any padding; the loss falls from -.35 to -.15, and its gradient to a half. The smooth cutoff is not told of
# `where`, and padded places have the approximate rank 1, so that they are the top two, and no document is. Of
# `ap_metric` padding also counts as relevant if its labels are: an approximate average precision of 4.91.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    rax==0.4.0 jax==0.4.38 jaxlib==0.4.38 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import functools
import importlib.metadata

import jax
import jax.numpy as jnp
import rax

scores = jnp.array([2.0, 1.0, 0.5, -1.0])
labels = jnp.array([1.0, 0.0, 2.0, 0.0])
exact = functools.partial(rax.ndcg_metric, topn=2)
loss = rax.approx_t12n(exact)
words = []
for more in (0, 2, 8):
    padded, marked = jnp.pad(scores, (0, more)), jnp.pad(labels, (0, more))
    where = jnp.arange(4 + more) < 4
    gradient = jnp.abs(jax.grad(loss)(padded, marked, where=where)).max()
    words.append(
        f"{more} more: {exact(padded, marked, where=where):.2f} {loss(padded, marked, where=where):.2f} {gradient:.3f}"
    )
where = jnp.arange(12) < 4
kept = rax.approx_t12n(rax.ap_metric)
for label in (0.0, 1.0):
    value = kept(padded, jnp.where(where, marked, label), where=where)
    words.append(f"AP with labels {label:g} in padding {value:.2f}")
print(f"rax {importlib.metadata.version('rax')}: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "rax 0.4.0: 0 more: 0.28 -0.35 0.066, 2 more: 0.28 -0.18 0.039, 8 more: 0.28 -0.15 0.034, AP with\
 labels 0 in padding -0.71, AP with labels 1 in padding -4.91"
