#!/usr/bin/env bash
# LambdaLoss in Rax grows with padding: lists padded to 100 passages weigh 26 times as much, plain losses the same.
#
# Guess before the run: `dcg_lambdaweight` has the same weights for a list alone, padded with `where`, and beside others
# with `segments`, as the pairwise loss without it has (4.36 in all three).
# Seen: rax 0.4.0. The sum of the losses of two lists is 10.25 alone, 267.81 padded to 100 and 18.75 in segments:
# weights are multiplied by the length of the array, also where most of it is padding, so that a batch with one long
# list trains faster. With `normalize=True` it is 1.54, 41.77 and 19.13: in segments the gain of the first document of
# each alone is divided by the ideal DCG. The page says nothing of a length.
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

import jax.numpy as jnp
import rax

lists = ([2.0, 1.0, 3.0], [1.0, 0.0, 2.0]), ([0.5, 1.5, -1.0, 0.0], [0.0, 3.0, 1.0, 0.0])
words = []
for normalize in (False, True):
    weights = functools.partial(rax.dcg_lambdaweight, normalize=normalize)
    loss = functools.partial(rax.pairwise_logistic_loss, lambdaweight_fn=weights, reduce_fn=jnp.sum)
    plain = functools.partial(rax.pairwise_logistic_loss, reduce_fn=jnp.sum)
    alone, padded, plainly = 0.0, 0.0, 0.0
    for scores, labels in lists:
        scores, labels = jnp.array(scores), jnp.array(labels)
        more = (0, 100 - len(scores))
        where = jnp.arange(100) < len(scores)
        alone += loss(scores, labels)
        padded += loss(jnp.pad(scores, more), jnp.pad(labels, more), where=where)
        plainly += plain(jnp.pad(scores, more), jnp.pad(labels, more), where=where)
    scores, labels = (jnp.array([value for one in lists for value in one[place]]) for place in (0, 1))
    segments = jnp.array([0, 0, 0, 1, 1, 1, 1])
    words.append(
        f"{'normalized' if normalize else 'plain'} {alone:.2f}, padded to 100 {padded:.2f}, in segments"
        f" {loss(scores, labels, segments=segments):.2f}"
    )
    if not normalize:
        words.append(f"no weights {plainly:.2f} and {plain(scores, labels, segments=segments):.2f}")
print(f"rax {importlib.metadata.version('rax')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "rax 0.4.0: plain 10.25, padded to 100 267.81, in segments 18.75; no weights 4.36 and 4.36; normalized\
 1.54, padded to 100 41.77, in segments 19.13"
