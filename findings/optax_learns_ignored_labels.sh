#!/usr/bin/env bash
# With labels of transformers' collator, -100 where nothing is masked, optax teaches BERT the word 100 before the last.
#
# Guess before the run: `softmax_cross_entropy_with_integer_labels` has the loss 0 or NaN for the label -100, which is
# no class; and metrax' perplexity of such labels is that of the masked words, as PyTorch's cross entropy is.
# Seen: optax 0.2.8, google-metrax 0.2.4, jax 0.10.2. JAX counts -100 from the end: in a vocabulary of 30,522 the label
# is the word 30,422. After 60 steps on rows with 15 % of masked words a model answers that word for every token, and no
# masked one is right; with `where=labels >= 0` 73 % are. Nine tags of entities are fewer than 100: the loss is NaN.
# metrax takes an ignored token for one that was predicted surely: the perplexity of guessing among 30,522 words is 4.5.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
# The metrics need nothing else of what metrax and clu ask for.
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    jax==0.10.2 optax==0.2.8 flax==0.12.8 wrapt==2.5.2 absl-py==2.5.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    google-metrax==0.2.4 clu==0.0.12
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import jax
import jax.numpy as jnp
import metrax
import numpy as np
import optax

random = np.random.default_rng(0)
size = 30522
words = random.integers(0, 50, (16, 32)) * 100  # 50 words, and after each its successor
words[:, 1::2] = words[:, ::2] + 1
masked = random.random(words.shape) < 0.3
masked[:, ::2] = False
labels = jnp.array(np.where(masked, words, -100))
inputs = jnp.array(np.where(masked, 103, words))


def outputs(weights):
    left = jnp.roll(inputs, 1, axis=1)
    return (weights["words"][inputs] + weights["left"][left]) @ weights["words"].T + weights["bias"]


def train(ignored_is_left_out):
    def loss(weights):
        where = labels >= 0 if ignored_is_left_out else None
        losses = optax.softmax_cross_entropy_with_integer_labels(outputs(weights), labels, where=where)
        return losses.sum() / (labels >= 0).sum()

    keys = jax.random.split(jax.random.key(0))
    weights = {name: 0.02 * jax.random.normal(key, (size, 16)) for name, key in zip(("words", "left"), keys)}
    weights["bias"] = jnp.zeros(size)
    optimizer = optax.adam(0.01)

    @jax.jit
    def step(weights, state):
        updates, state = optimizer.update(jax.grad(loss)(weights), state)
        return optax.apply_updates(weights, updates), state

    state = optimizer.init(weights)
    for _ in range(60):
        weights, state = step(weights, state)
    answers = np.array(outputs(weights).argmax(-1))
    share = (answers == size - 100).mean()
    return f"{share:.2f} of all, {(answers == words)[masked].mean():.2f} right"


alone, left_out = train(False), train(True)
tags = float(optax.softmax_cross_entropy_with_integer_labels(jnp.zeros((1, 9)), jnp.array([-100]))[0])
perplexity = float(metrax.Perplexity.from_model_output(jnp.zeros((16, 32, size)), labels, from_logits=True).compute())
print(
    f"optax {importlib.metadata.version('optax')}: word 30,422 for {alone}; with where for {left_out};",
    f"nine tags {tags}; metrax' perplexity of guessing {perplexity:.1f}",
)
PYTHON
seen=$(JAX_PLATFORMS=cpu "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "optax 0.2.8: word 30,422 for 1.00 of all, 0.00 right; with where for 0.00 of all, 0.73 right; nine\
 tags nan; metrax' perplexity of guessing 4.5"
