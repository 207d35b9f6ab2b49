#!/usr/bin/env bash
# If one class of tags is missing in a batch, optax's generalized Dice loss of a tagger that is always wrong is 0.00.
#
# Guess before the run: the generalized Dice loss, which weights classes by their inverse squared frequency for
# imbalanced data, is high where all tokens get a wrong tag, whether or not a fourth class exists that no token of the
# batch has.
# Seen: optax 0.2.8. With three classes, which all occur, it is .78. With a fourth one, as a rare type of entities, it
# is 0.00 for predictions that are all wrong: a class without tokens has a weight of 10 million before the weights are
# normalized, and the others count for nothing. Of the first gradients a half belongs to that class, and the other three
# have equal parts, however frequent they are.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    optax==0.2.8 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import jax
import jax.numpy as jnp
import optax

tags = jnp.array([[0, 0, 0, 1, 2, 0, 0, 1, 2, 0, 0, 0], [0, 1, 2, 2, 0, 0, 0, 0, 1, 2, 0, 0]])
words = []
for classes in (3, 4):
    right = jax.nn.one_hot(tags, classes)
    wrong = jax.nn.one_hot((tags + 1) % 3, classes)
    loss = lambda logits: optax.losses.multiclass_generalized_dice_loss(logits, right)  # noqa: E731
    gradient = jnp.abs(jax.grad(loss)(jnp.zeros_like(right))).sum((0, 1))
    words.append(
        f"{classes} classes: right {loss(30 * right):.2f}, all wrong {loss(30 * wrong):.2f}, gradients "
        + " ".join(f"{value:.3f}" for value in gradient)
    )
print(f"optax {optax.__version__}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "optax 0.2.8: 3 classes: right 0.00, all wrong 0.78, gradients 0.082 0.130 0.091; 4 classes: right\
 0.00, all wrong 0.00, gradients 0.060 0.060 0.060 0.180"
