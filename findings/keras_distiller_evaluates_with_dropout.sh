#!/usr/bin/env bash
# `evaluate` of a Keras Distiller that compares layers runs the student with dropout, and no weight of an example counts.
#
# Guess before the run: `evaluate` gives the same losses each time, without dropout; an example of weight zero changes
# nothing in `fit`.
# Seen: Keras 3.15.1 on JAX, and the first alike on TensorFlow 2.20.0. With `FeatureDistillation` of named layers two
# evaluations of the same data differ: the features come from a second run of the student, always with
# `training=True`, so that in `fit`, too, the masks of both losses are different ones. Weights of zero for all examples of
# a class, by `sample_weight`, give the same student to the last bit as none.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 numpy==2.4.6 scipy==1.17.1 jax==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np

inputs = np.random.default_rng(0).normal(size=(64, 8)).astype("float32")
crossentropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def network(name, rate):
    start = keras.Input((8,))
    hidden = keras.layers.Dropout(rate)(keras.layers.Dense(16, activation="relu")(start))
    features = keras.layers.Dense(16, name="features")(hidden)
    return keras.Model(start, keras.layers.Dense(3)(features), name=name)


def distiller(rate, loss):
    keras.utils.set_random_seed(1)
    teacher = network("teacher", 0.0)
    model = keras.distillation.Distiller(teacher, network("student", rate), loss)
    model.compile(keras.optimizers.SGD(0.1), loss=crossentropy)
    return model, np.argmax(teacher.predict(inputs, verbose=0), axis=-1)


model, labels = distiller(0.5, keras.distillation.FeatureDistillation("mse", "features", "features"))
first, second = (model.evaluate(inputs, labels, verbose=0, return_dict=True) for _ in range(2))
students = []
for weights in (None, (labels == labels[0]).astype("float32")):
    model, labels = distiller(0.0, keras.distillation.LogitsDistillation(loss=keras.losses.KLDivergence()))
    model.fit(inputs, labels, sample_weight=weights, shuffle=False, verbose=0)
    students.append(model.student.get_weights())
same = all(np.array_equal(*pair) for pair in zip(*students))
print(
    f"keras {keras.__version__}: evaluations {'the same' if first == second else 'different'},",
    f"with weights {'the same' if same else 'another'} student",
)
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: evaluations different, with weights the same student"
