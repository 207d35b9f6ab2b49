import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from modeling.config import BertConfig
from modeling.layers import LayerNorm, activation, dense
from modeling.xla import jit_compile_scope

INPUTS = np.linspace(-6, 6, 1001)
TANH_FORM = 0.5 * INPUTS * (1 + np.tanh(np.sqrt(2 / np.pi) * (INPUTS + 0.044715 * INPUTS**3)))
ERF_FORM = 0.5 * INPUTS * (1 + special.erf(INPUTS / np.sqrt(2)))
RNG = np.random.default_rng(0)
X = RNG.normal(3, 2, (4, 5, 32))
GAMMA = RNG.normal(1, 0.2, 32)
BETA = RNG.normal(0, 0.2, 32)


def reference(x, epsilon):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(
        x.var(-1, keepdims=True) + epsilon
    ) * GAMMA + BETA


def layer_norm(epsilon, **kwargs):
    layer = LayerNorm(epsilon, **kwargs)
    layer.build((None, 32))
    layer.gamma.assign(GAMMA)
    layer.beta.assign(BETA)
    return layer


def test_values_for_both_sizes_of_epsilon():
    for epsilon in (1e-12, 1.0):
        result = layer_norm(epsilon)(X.astype(np.float32))
        np.testing.assert_allclose(result, reference(X, epsilon), rtol=0, atol=2e-6)
    # A row without variance gives beta.
    result = layer_norm(1e-12)(np.full((2, 32), 7, np.float32))
    np.testing.assert_allclose(result, np.tile(BETA, (2, 1)), rtol=0, atol=1e-6)


def test_statistics_stay_in_float32_under_mixed_precision():
    # At a mean of 1000 bfloat16 has steps of 4: nothing would be left of the variance.
    x = (X + 1000).astype(np.float32)
    result = layer_norm(1e-12, dtype="mixed_bfloat16")(x)
    assert keras.backend.standardize_dtype(result.dtype) == "bfloat16"
    np.testing.assert_allclose(tf.cast(result, tf.float32), reference(X, 1e-12), rtol=0, atol=0.03)


@pytest.mark.parametrize(
    "name, expected",
    [
        ("gelu", TANH_FORM),
        ("gelu_new", TANH_FORM),
        ("gelu_erf", ERF_FORM),
        ("relu", np.maximum(INPUTS, 0)),
        ("tanh", np.tanh(INPUTS)),
        ("linear", INPUTS),
    ],
)
def test_activations_compute_what_they_are_called(name, expected):
    # The two forms of gelu differ by up to 5e-4.
    np.testing.assert_allclose(
        activation(name)(INPUTS.astype(np.float32)), expected, rtol=0, atol=2e-6
    )


@pytest.mark.parametrize("name", ["gelu", "gelu_erf"])
def test_gelu_of_a_training_step_is_rounded_once_under_mixed_precision(name):
    x = tf.cast(INPUTS, tf.bfloat16)
    exact_inputs = tf.cast(x, tf.float32)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch((x, exact_inputs))
        found, exact = activation(name, training=True)(x), activation(name)(exact_inputs)
    assert found.dtype == tf.bfloat16
    for value, expected in (
        (found, exact),
        (tape.gradient(found, x), tape.gradient(exact, exact_inputs)),
    ):
        # 8 bits of a number: half of the last one, relatively; and what float32 loses where 1 +
        # tanh(x) is nearly 0.
        np.testing.assert_allclose(tf.cast(value, tf.float32), expected, rtol=2**-8, atol=1e-5)


def test_where_a_dense_layer_restores_the_shape():
    """TensorFlow fuses what comes before it, XLA's gradients take less traffic after it."""
    layer = dense(BertConfig(10), 6, 0, "dense")
    ranks = []

    def note(x):
        ranks.append(len(x.shape))
        return x

    layer(X.astype(np.float32), activation=note)
    with jit_compile_scope():
        layer(X.astype(np.float32), activation=note)
    assert ranks == [2, 3]


@pytest.mark.parametrize("precision", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_the_gradient_of_a_bias_is_summed_in_float32(precision):
    # 4,096 rows, each of which adds 1.
    layer = dense(BertConfig(10), 8, 0, "dense", dtype=precision)
    inputs = keras.ops.ones((8, 512, 4))

    def gradient_of_bias():
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(tf.cast(layer(inputs), tf.float32))
        return tape.gradient(total, layer.bias.value)

    layer.build(inputs.shape)
    np.testing.assert_array_equal(gradient_of_bias(), np.full(8, 4096.0))
    np.testing.assert_array_equal(tf.function(gradient_of_bias)(), np.full(8, 4096.0))
