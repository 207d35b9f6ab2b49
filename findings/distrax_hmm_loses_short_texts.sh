#!/usr/bin/env bash
# The tags of a padded text have probabilities of 0 and 0 in distrax's HMM: `length` wipes out all that goes backward.
#
# Guess before the run: `length`, "used to truncate the computation for batches of varying length", gives the three
# words of a padded text the tag probabilities that they have alone; a text with a word that no tag can have has a
# likelihood of 0.
# Seen: distrax 0.1.9. Alone the first tag has .841 and .159, padded 0 and 0, as all others have; only the likelihood is
# the same. The backward pass begins with zeros at the padding, where the last word needs ones, and what is multiplied
# by them stays 0. An impossible word does not count at all: the likelihood is .250, that of the text before it.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    distrax==0.1.9 tfp-nightly==0.26.0.dev20261027 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import distrax
import jax.numpy as jnp

start = distrax.Categorical(probs=jnp.array([0.6, 0.4]))
moves = distrax.Categorical(probs=jnp.array([[0.7, 0.3], [0.2, 0.8]]))
words_of_tags = jnp.array([[0.5, 0.5, 0.0], [0.1, 0.4, 0.5]])
tagger = distrax.HMM(start, moves, distrax.Categorical(probs=words_of_tags))
text = jnp.array([0, 1, 2])
padded = jnp.array([0, 1, 2, 0, 0])
words = []
for name, ids, length in (("alone", text, None), ("padded", padded, 3)):
    _, _, tags, likelihood = tagger.forward_backward(ids, length)
    words.append(f"{name} {likelihood:.3f}, first tag {tags[0, 0]:.3f} {tags[0, 1]:.3f}")
strict = distrax.HMM(start, moves, distrax.Categorical(probs=jnp.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])))
whole, before = (float(jnp.exp(strict.forward(ids)[0])) for ids in (text, text[:2]))
words.append(f"impossible word {whole:.3f}, without it {before:.3f}")
print(f"distrax {importlib.metadata.version('distrax')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "distrax 0.1.9: alone -3.328, first tag 0.841 0.159; padded -3.328, first tag 0.000 0.000; impossible\
 word 0.250, without it 0.250"
