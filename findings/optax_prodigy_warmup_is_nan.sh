#!/usr/bin/env bash
# Prodigy and D-Adaptation of optax make all weights NaN if the learning rate is warmed up from 0, as BERT's is.
#
# Guess before the run: `prodigy(linear_schedule(0, 1, 10))` takes a first step of 0 and finds the minimum as it does
# with a constant rate; a first batch whose gradients are all 0, as one without masked words, is a step of 0 as well.
# Seen: optax 0.2.8. The first step divides 0 by 0, and the estimated rate is NaN for good: Prodigy's weights are NaN
# after the first step, those of `dadapt_adamw` after the second, with every schedule that begins at 0 and after a first
# gradient of 0. A warmup from .1 is right, and so is `safeguard_warmup=True` for the schedule.
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


def path(optimizer, first=1.0):
    """Of weights that begin at 0, with the minimum at 1: after 1, 2 and 300 steps."""
    weights = jnp.zeros(3)
    state = optimizer.init(weights)
    ends = []
    for step in range(300):
        gradients = 2 * (weights - 1) * (first if step == 0 else 1.0)
        updates, state = optimizer.update(gradients, state, weights)
        weights = optax.apply_updates(weights, updates)
        ends.append(float(weights[0]))
    return f"{ends[0]:.2f} {ends[1]:.2f} {ends[-1]:.2f}"


from_zero, from_a_tenth = optax.linear_schedule(0.0, 1.0, 10), optax.linear_schedule(0.1, 1.0, 10)
words = []
for make in (optax.contrib.prodigy, optax.contrib.dadapt_adamw):
    words.append(
        f"{make.__name__} constant {path(make(1.0))}, from 0 {path(make(from_zero))},"
        f" from .1 {path(make(from_a_tenth))}, first gradient 0 {path(make(1.0), 0.0)}"
    )
words.append(f"safeguard_warmup {path(optax.contrib.prodigy(from_zero, safeguard_warmup=True))}")
print(f"optax {optax.__version__}, after 1, 2 and 300 steps: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "optax 0.2.8, after 1, 2 and 300 steps: prodigy constant 0.00 0.00 1.00, from 0 nan nan nan, from .1\
 0.00 0.00 1.00, first gradient 0 nan nan nan; dadapt_adamw constant 0.00 0.00 1.00, from 0 0.00 nan nan, from .1 0.00\
 0.00 1.00, first gradient 0 0.00 nan nan; safeguard_warmup 0.00 0.00 1.00"
