#!/usr/bin/env bash
# ACProp of optax moves the vector of a word that first comes in the second batch by 3,162, at a rate of .001.
#
# Guess before the run: with `acprop(0.001)` the rows of a word embedding move by about .001 in the first batch that has
# the word, as with Adam and AdaBelief, whichever batch that is.
# Seen: optax 0.2.8. A step is divided by the root of the mean square as it was before this batch, which for a word that
# was not read yet is 1e-8. A word of the first batch moves by .001 per batch; one that comes first in the second or the
# eleventh batch jumps by 3,162.3 in it. Adam moves them by .0007 and .0005, AdaBelief by .0008 and .0005. The
# embeddings of a BERT have words that no batch held for long, so that they are lost with all that reads them.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    optax==0.2.8 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import jax.numpy as jnp
import optax


def jumps(optimizer):
    """How far three words move in the batch that has them first: the first, the second, the eleventh."""
    words = jnp.zeros((3, 4))
    state = optimizer.init(words)
    moved = []
    for batch in range(11):
        read = jnp.array([True, batch >= 1, batch >= 10])
        updates, state = optimizer.update(jnp.where(read[:, None], 1.0, 0.0) * jnp.ones((3, 4)), state, words)
        words = optax.apply_updates(words, updates)
        if batch in (0, 1, 10):
            moved.append(f"{-float(updates[len(moved), 0]):.4f}")
    return " ".join(moved)


makers = (optax.contrib.acprop, optax.adam, optax.adabelief)
words = [f"{make.__name__} {jumps(make(0.001))}" for make in makers]
print(f"optax {optax.__version__}, moves of words first read in batch 1, 2 and 11: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "optax 0.2.8, moves of words first read in batch 1, 2 and 11: acprop 0.0010 3162.2573 3162.2566, adam\
 0.0010 0.0007 0.0005, adabelief 0.0011 0.0008 0.0005"
