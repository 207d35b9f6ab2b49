#!/usr/bin/env bash
# Keras' distillation of logits computes its default loss as if logits were probabilities: a student that is sure
# of the opposite and one that knows nothing lose the same.
#
# Guess before the run: `LogitsDistillation()`, with the default `loss="kl_divergence"`, is the divergence of the two
# softmax distributions, as its page says and as `loss=KLDivergence()` gives: 0 for a student with the teacher's
# logits, also if all are shifted, and more for the opposite than for logits of zero.
# Seen: Keras 3.15.1. For the teacher's logits shifted by 5 the loss is negative; for the opposite logits it is 32.236,
# for logits of zero 32.236 as well, and the gradient at the opposite is zero, as logits are cut to 0 ... 1. With
# `KLDivergence()` the four are 0, 0, 4.501 and 0.636. The softmax is taken where the loss is an object of that
# class; its name, the default, stands for a function. The loss in `fit` does fall where logits are
# between 0 and 1.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 numpy==2.4.6 scipy==1.17.1 jax==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import jax
import keras
import numpy as np

teacher = np.array([[4.0, 0.0, -4.0], [1.0, 2.0, 3.0]], "float32")
students = [teacher, teacher + 5, -teacher, 0 * teacher]
seen = [f"keras {keras.__version__}:"]
for settings in ({}, {"loss": keras.losses.KLDivergence()}):
    loss = keras.distillation.LogitsDistillation(temperature=1.0, **settings)
    numbers = [float(loss.compute_loss(teacher, student)) for student in students]
    # Of the opposite.
    gradient = jax.grad(lambda student: loss.compute_loss(teacher, student))(students[2])
    seen += ["negative" if number < -1e-6 else f"{abs(number):.3f}" for number in numbers]
    seen.append(f"gradient {float(abs(gradient).max()):.2f};")
print(*seen)
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: 0.000 negative 32.236 32.236 gradient 0.00; 0.000 0.000 4.501 0.636 gradient 0.49;"
