#!/usr/bin/env bash
# A Keras model of 8 bits that Keras exports to OpenVINO answers with other numbers: the products of int8 end at 127.
#
# Guess before the run: after `model.quantize("int8")` `model.export(path, format="openvino")` writes a model whose answers
# are those of `model.predict`, as it does for the model that is not quantized.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0 with OpenVINO 2026.4.1 in float32, on an x86-64 CPU. A Dense layer of 32 inputs,
# outputs 0.92 on average: not quantized they are equal to 1e-5; quantized they are off by 0.91 on average, while a
# SavedModel of the same model gives Keras' numbers. No message is about it.
# TensorFlow multiplies int8 by int8 into int32 (BatchMatMulV3 with Tout=int32). OpenVINO's conversion makes a MatMul of int8
# whose results end at 127: of [100] and [100] it answers 127, TensorFlow 10000.
# This project refuses `model.quantize` and writes its int8 models itself (docs/exports.md).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6 scipy==1.17.1 openvino==2026.4.1
cat > "$folder/program.py" <<'PYTHON'
import sys

import keras
import numpy as np
import openvino
import tensorflow as tf


def answers(path, inputs):
    settings = {"INFERENCE_PRECISION_HINT": "f32"}
    return openvino.Core().compile_model(path, "CPU", settings)(inputs)[0]


keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input((32,), batch_size=4), keras.layers.Dense(8)])
x = np.random.default_rng(0).normal(size=(4, 32)).astype("float32")
seen = [f"keras {keras.__version__}, openvino {openvino.__version__.split('-')[0]}:"]
for name in ("float", "int8"):
    if name == "int8":
        model.quantize("int8")
    expected = model.predict(x, verbose=0)
    model.export(f"{sys.argv[1]}/{name}.xml", format="openvino", verbose=False)
    model.export(f"{sys.argv[1]}/{name}", verbose=False)
    saved = tf.saved_model.load(f"{sys.argv[1]}/{name}")
    for found in (answers(f"{sys.argv[1]}/{name}.xml", x), saved.serve(x).numpy()):
        error = np.abs(found - expected).mean() / np.abs(expected).mean()
        print(name, error, np.abs(expected).mean())
        seen.append("right" if error < 1e-4 else "wrong" if error > 0.5 else f"{error}")


class Product(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec((1, 1), tf.int8)] * 2)
    def __call__(self, a, b):
        return tf.matmul(a, b, output_type=tf.int32)


hundred = np.array([[100]], np.int8)
compiled = openvino.Core().compile_model(openvino.convert_model(Product()), "CPU")
seen.append(f"product {int(Product()(hundred, hundred)[0, 0])} {int(compiled([hundred, hundred])[0][0, 0])}")
print(*seen)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1, openvino 2026.4.1: right right wrong right product 10000 127"
