#!/usr/bin/env bash
# Keras' GPTQ and AWQ read no calibration data: both round to the nearest.
#
# Guess before the run: `model.quantize("gptq", config)` runs the texts of `config.dataset` through each block
# and corrects the weights by what the layers read, so that data in which features go together give another
# matrix than independent ones, with a smaller error than rounding; AWQ scales by the sizes of the features.
# Seen: Keras 3.15.1 on NumPy, and alike on TensorFlow 2.20.0 and torch 2.13.0: the matrices of both data sets
# are the same to the last bit, and the error is that of rounding (0.0093 of the outputs' squares), for a
# dense layer whose inputs go together. GPTQ by the algorithm of its paper, with the same scales, has 0.0013.
# Keras' hooks replace `layer.call`; a layer that is already marked for a quantization runs `quantized_call`
# instead, so that the Hessian stays 0 and passes for features that are never read. There is no message, and
# the calibration takes its time.
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

VOCABULARY, INPUTS, OUTPUTS, LENGTH = 64, 48, 32, 64
rng = np.random.default_rng(0)
# Vectors that lie near a space of 8 dimensions, and independent ones.
together = rng.normal(size=(VOCABULARY, 8)) @ rng.normal(size=(8, INPUTS))
together += 0.3 * rng.normal(size=(VOCABULARY, INPUTS))
vectors = {"together": together, "apart": rng.normal(size=(VOCABULARY, INPUTS)) * np.linspace(0.1, 3, INPUTS)}
matrix = rng.normal(size=(INPUTS, OUTPUTS))
tokens = rng.integers(0, VOCABULARY, size=64 * LENGTH).astype("int32")
inputs = together[tokens]


def quantized(mode, table):
    """The matrix after calibration on inputs from `table`: the outputs of the layer for unit vectors."""
    embedding = keras.layers.Embedding(VOCABULARY, INPUTS)
    dense = keras.layers.Dense(OUTPUTS, use_bias=False)
    block = keras.Sequential([keras.Input((None, INPUTS)), dense])
    model = keras.Sequential([keras.Input((None,), dtype="int32"), embedding, block])
    embedding.set_weights([table])
    dense.set_weights([matrix])
    settings = dict(
        dataset=[tokens],
        tokenizer=lambda text: text,
        num_samples=64,
        sequence_length=LENGTH,
        group_size=-1,
        quantization_layer_structure={"pre_block_layers": [embedding], "sequential_blocks": [block]},
    )
    kinds = {"gptq": keras.quantizers.GPTQConfig, "awq": keras.quantizers.AWQConfig}
    model.quantize(mode, config=kinds[mode](**settings))
    return np.array(dense(np.eye(INPUTS, dtype="float32")[None]))[0]


def error(new):
    return np.sum((inputs @ (new - matrix)) ** 2) / np.sum((inputs @ matrix) ** 2)


low, high = np.minimum(matrix.min(0), 0), np.maximum(matrix.max(0), 0)
scale = (high - low) / 15
zero = np.round(-low / scale)


def rounded(rows):
    return scale * (np.clip(np.round(rows / scale) + zero, 0, 15) - zero)


def gptq():
    """Algorithm 1 of GPTQ (Frantar et al. 2022), a row of the matrix at a time."""
    hessian = 2 * inputs.T @ inputs / len(inputs)
    hessian += 0.01 * np.mean(np.diag(hessian)) * np.eye(INPUTS)
    factor = np.linalg.cholesky(np.linalg.inv(hessian)).T
    rest, result = matrix.copy(), np.zeros_like(matrix)
    for row in range(INPUTS):
        result[row] = rounded(rest[row])
        correction = (rest[row] - result[row]) / factor[row, row]
        rest[row + 1 :] -= np.outer(factor[row, row + 1 :], correction)
    return result


seen = [f"keras {keras.__version__}:"]
for mode in ("gptq", "awq"):
    first, second = (quantized(mode, table) for table in vectors.values())
    seen.append(f"{mode} of two data sets {'the same' if np.array_equal(first, second) else 'different'},")
    seen.append(f"error {error(first):.4f};")
print(*seen, f"rounded {error(rounded(matrix)):.4f}, by the paper {error(gptq()):.4f}")
PYTHON
seen=$(KERAS_BACKEND=numpy "$folder/venv/bin/python" "$folder/program.py" | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: gptq of two data sets the same, error 0.0093; awq of two data sets the same, error 0.0093; rounded 0.0093, by the paper 0.0013"
