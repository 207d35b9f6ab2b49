#!/usr/bin/env bash
# The perplexity that metrax has of a masked LM is 294 in one batch and 34 or 15 in smaller ones.
#
# Guess before the run: `Perplexity` with `sample_weights`, "the weight of each token", is exp of the sum of weights
# times losses over the sum of weights, as its docstring writes it, however the rows are put in batches.
# Seen: google-metrax 0.2.4, jax 0.10.2. Of eight rows four have one masked word that is easy, three twelve that are
# hard, and one is padding: 294.4 in one batch, as it should be; 33.7 in batches of four or two, and 15.5 in those of
# one. A batch's mean counts as often as it has rows, whatever their weights, and a batch of weights 0 as a loss of 0.
# Its Accuracy beside it sums weights, and is .100 in all batches.
# BLEU's docstring has the "closest length match", its code the shortest reference: seven words beside references of
# five and eight have no brevity penalty, where sacrebleu has exp(1 - 8 / 7) = .87.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
# The metrics need nothing else of what metrax and clu ask for.
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    jax==0.10.2 flax==0.12.8 sacrebleu==2.6.0 wrapt==2.5.2 absl-py==2.5.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    google-metrax==0.2.4 clu==0.0.12
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import jax.numpy as jnp
import metrax
import numpy as np
import sacrebleu

labels = np.zeros((8, 16), int)
logits = np.zeros((8, 16, 500), np.float32)
logits[:4, :, 0] = 6  # the loss of an easy word is .80
logits[4:, :, 1] = 2  # that of a hard one 6.2, that of a padded row anything
weights = np.zeros((8, 16), np.float32)
weights[:4, 0] = 1
weights[4:, :12] = 1
weights[7] = 0


def score(batch_size):
    perplexity, accuracy = metrax.Perplexity.empty(), metrax.Accuracy.empty()
    for start in range(0, 8, batch_size):
        rows = slice(start, start + batch_size)
        arrays = jnp.array(logits[rows]), jnp.array(labels[rows]), jnp.array(weights[rows])
        perplexity = perplexity.merge(metrax.Perplexity.from_model_output(*arrays, from_logits=True))
        arrays = arrays[0].argmax(-1), *arrays[1:]
        accuracy = accuracy.merge(metrax.Accuracy.from_model_output(*arrays))
    return f"{float(perplexity.compute()):.1f} ({float(accuracy.compute()):.3f})"


losses = np.log(np.exp(logits).sum(-1)) - logits[:, :, 0]
right = np.exp((losses * weights).sum() / weights.sum())
scores = ", ".join(f"of {size} {score(size)}" for size in (8, 4, 2, 1))
text, references = "the cat sat on the mat today", ["the cat sat on mat", "the cat sat on the mat today again"]
bleu = metrax.BLEU.from_model_output([text], [references]).compute()
other = sacrebleu.sentence_bleu(text, references, tokenize="none").score / 100
print(
    f"metrax {importlib.metadata.version('google-metrax')}: perplexity {right:.1f}, in batches {scores};",
    f"BLEU {bleu:.2f}, sacrebleu {other:.2f}",
)
PYTHON
seen=$(JAX_PLATFORMS=cpu "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "metrax 0.2.4: perplexity 294.4, in batches of 8 294.4 (0.100), of 4 33.7 (0.100), of 2 33.7 (0.100), of\
 1 15.5 (0.100); BLEU 1.00, sacrebleu 0.87"
