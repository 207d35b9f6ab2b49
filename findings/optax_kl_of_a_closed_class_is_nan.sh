#!/usr/bin/env bash
# The divergence of a student from its teacher is NaN in optax if one word or class is closed, though its part is 0.
#
# Guess before the run: `kl_divergence` where teacher and student give one class a probability of 0, by a score of minus
# infinity, is that of the other classes: 0 times anything is nothing in it, as in SciPy.
# Seen: optax 0.2.8, JAX 0.10.2, SciPy 1.17.1. It is NaN: 0 is multiplied by minus minus infinity, and so with
# `generalized_kl_divergence`. `kl_divergence_with_log_targets` is NaN also if the teacher alone has closed the class
# and the student has not. One such position of a batch makes the mean NaN. SciPy has .46 for the first case and .48 for
# the second.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    optax==0.2.8 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import jax
import jax.numpy as jnp
import optax
import scipy.stats

closed = -jnp.inf
teacher = jnp.array([1.0, 0.0, closed])
parts = []
for name, student in (("both", jnp.array([0.0, 1.0, closed])), ("the teacher alone", jnp.array([0.0, 1.0, -3.0]))):
    logs, target = jax.nn.log_softmax(student), jax.nn.softmax(teacher)
    values = [
        optax.losses.kl_divergence(logs, target),
        optax.losses.generalized_kl_divergence(logs, target),
        optax.losses.kl_divergence_with_log_targets(logs, jax.nn.log_softmax(teacher)),
        scipy.stats.entropy(target, jnp.exp(logs)),
    ]
    plain, general, by_logs, right = (f"{float(value):.2f}" for value in values)
    parts.append(f"closed by {name}: plain {plain}, generalized {general}, log targets {by_logs}, SciPy {right}")
print(f"optax {optax.__version__}, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "optax 0.2.8, closed by both: plain nan, generalized nan, log targets nan, SciPy 0.46; closed by the\
 teacher alone: plain 0.48, generalized 0.48, log targets nan, SciPy 0.48"
