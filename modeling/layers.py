"""Building blocks of all models: initial weights, dense layer, LayerNorm, activations, gathering.

Input: tensors of any shape; output: tensors of the same shape, or with another last axis.

Source: LayerNorm is arXiv 1607.06450, GELU arXiv 1606.08415; both are computed as in the original.
"""

import hashlib
import math
from collections.abc import Callable

import keras
import numpy as np
from keras import ops

from modeling.config import BertConfig
from modeling.saving import WithArguments, register
from modeling.xla import compile_elementwise, is_jit_compiled, optimization_barrier

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf


def truncated_normal(
    standard_deviation: float, seed: int, name: str
) -> keras.initializers.Initializer:
    """Truncated normal initializer of the original, cut at two standard deviations.

    The initial value of a variable depends on the seed and its name alone, not on the order in
    which variables are created or on the number of devices.

    Args:
      standard_deviation: before truncation.
      seed: of the run.
      name: unique in the model.
    """
    return keras.initializers.TruncatedNormal(
        mean=0.0, stddev=standard_deviation, seed=derived_seed(seed, name)
    )


def derived_seed(seed: int, name: str) -> int:
    """Returns a seed of 31 bits for one of the random generators of a run."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:4], "little") >> 1


def known_values(value) -> np.ndarray | None:
    """Returns the values of a tensor; None in graphs and traces."""
    if isinstance(value, np.ndarray):
        return value
    # TensorFlow's symbolic tensors have no such method; a tracer of JAX has no values either.
    if keras.backend.backend() == "tensorflow":
        return value.numpy() if hasattr(value, "numpy") else None
    return None


# Attributes of a dense layer with LoRA that are saved in addition to its merged kernel.
_LORA_VARIABLES = ("unmerged_kernel", "lora_kernel_a", "lora_kernel_b")


@register
class Dense(keras.layers.Dense):
    """Keras' dense layer as one product of two matrices, with LoRA that can be saved.

    Keras' own layer saves only the merged kernel. After loading, both LoRA matrices are zero and
    stay so forever, as the gradient of each is a product with the other. Here they are saved beside
    the merged kernel, which a layer without LoRA can still load.

    Variables: kernel [inputs, outputs], bias [outputs]; with LoRA also lora_kernel_a [inputs, rank]
    and lora_kernel_b [rank, outputs].
    """

    def enable_lora(self, rank: int, lora_alpha: float | None = None, **kwargs) -> None:
        """Adds LoRA matrices as Keras does, and freezes the bias, too: only the matrices train.

        Args:
          rank: of the update a · b of the kernel.
          lora_alpha: the update is scaled by lora_alpha / rank; None for a scale of 1.
          kwargs: Keras' initializers of the two matrices.
        """
        super().enable_lora(rank, lora_alpha=lora_alpha, **kwargs)
        self.bias.trainable = False

    def call(self, inputs, activation: Callable | None = None, training: bool | None = None):
        """Computes [..., inputs] → [..., outputs].

        Args:
          activation: element-wise function of the result; `activation` returns those of BERT. The
            layer's own, an argument of Keras', is not applied.
        """
        # Keras' own layer restores the shape before bias and activation, so that TensorFlow can't
        # fuse them with the product in inference. With GELU this took a fifth more time. In
        # training both take the same.
        x = ops.reshape(inputs, (-1, ops.shape(inputs)[-1]))
        if self.lora_enabled:
            # Keras adds the product of the matrices to the kernel first, and so needs the gradient
            # of the whole kernel.
            update = ops.matmul(ops.matmul(x, self.lora_kernel_a), self.lora_kernel_b)
            scale = self.lora_alpha / self.lora_rank
            product = ops.matmul(x, self.unmerged_kernel) + scale * update
        else:
            product = ops.matmul(x, self.kernel)
        flat = add_bias(product, self.bias)
        shape = (*ops.shape(inputs)[:-1], self.units)
        if activation is None:
            return ops.reshape(flat, shape)
        if is_jit_compiled():
            # XLA sees through reshapes, and would compute the gradient of GELU once more for the
            # sum that is the gradient of the bias.
            return activation(ops.reshape(flat, shape))
        return ops.reshape(activation(flat), shape)

    def save_own_variables(self, store) -> None:
        super().save_own_variables(store)
        if self.lora_enabled:
            for name in _LORA_VARIABLES:
                store[name] = ops.convert_to_numpy(getattr(self, name))

    def load_own_variables(self, store) -> None:
        # Keras numbers its variables, and refuses a store with others.
        merged = {key: store[key] for key in store.keys() if key.isdigit()}
        super().load_own_variables(merged)
        if self.lora_enabled and "unmerged_kernel" in store.keys():
            for name in _LORA_VARIABLES:
                getattr(self, name).assign(store[name])

    @property
    def unmerged_kernel(self) -> keras.Variable:
        """The kernel without the LoRA update, which the property `kernel` adds."""
        return next(variable for variable in self.weights if variable.name == "kernel")


def dense(config: BertConfig, outputs: int, seed: int, path: str, **kwargs) -> Dense:
    """Returns a dense layer whose kernel is initialized as the original's variable `path`/kernel.

    Args:
      config: with the standard deviation of initial weights.
      outputs: units of the layer.
      seed: of the initial weights.
      path: name of the layer in the original's checkpoints.
      kwargs: of `keras.layers.Dense`.
    """
    return Dense(
        outputs,
        kernel_initializer=truncated_normal(config.initializer_range, seed, f"{path}/kernel"),
        **kwargs,
    )


@register
class LayerNorm(WithArguments, keras.layers.Layer):
    """Normalizes the last axis to mean 0 and variance 1, then scales by gamma and shifts by beta.

    Computes in float32 under every dtype policy; the result has the policy's compute dtype.

    Variables: gamma [H], beta [H].
    """

    _arguments = ("epsilon",)

    def __init__(self, epsilon: float, **kwargs):
        # Keras must not round the input to the compute dtype before the statistics are taken.
        super().__init__(autocast=False, **kwargs)
        self.epsilon = epsilon

    def build(self, input_shape):
        units = (input_shape[-1],)
        self.beta = self.add_weight(shape=units, initializer="zeros", name="beta", autocast=False)
        self.gamma = self.add_weight(shape=units, initializer="ones", name="gamma", autocast=False)

    def call(self, x):
        """Computes [..., H] → [..., H]."""
        if is_jit_compiled():
            rows = ops.reshape(x, (-1, x.shape[-1]))
            gamma = ops.convert_to_tensor(self.gamma)
            beta = ops.convert_to_tensor(self.beta)
            y = _normalize_rows(rows, gamma, beta, self.epsilon, self.compute_dtype)
            return ops.reshape(y, ops.shape(x))
        x = ops.cast(x, "float32")
        centered = x - ops.mean(x, axis=-1, keepdims=True)
        variance = ops.mean(ops.square(centered), axis=-1, keepdims=True)
        y = centered * ops.rsqrt(variance + self.epsilon) * self.gamma + self.beta
        return ops.cast(y, self.compute_dtype)


def _normalize_rows(x, gamma, beta, epsilon: float, dtype: str):
    """Computes `LayerNorm` of [R, H] with an explicit gradient, for functions that XLA compiles.

    The gradient starts from the mean and the deviation of each row. Without the barrier XLA would
    keep x in two layouts, and intermediate results for gamma and beta in float32.
    """

    def mean_over_units(values):
        return tf.reduce_mean(values, axis=-1, keepdims=True)

    @tf.custom_gradient
    def normalize(x, gamma, beta):
        x_float = tf.cast(x, tf.float32)
        mean = mean_over_units(x_float)
        scale = tf.math.rsqrt(mean_over_units(tf.square(x_float - mean)) + epsilon)

        def gradient(upstream):
            saved_x, saved_mean, saved_scale = optimization_barrier(x, mean, scale)
            upstream = tf.cast(upstream, tf.float32)
            normalized = (tf.cast(saved_x, tf.float32) - saved_mean) * saved_scale
            scaled = upstream * gamma
            # Mean and variance depend on x, too: their gradients are the two projections that are
            # subtracted.
            on_mean = mean_over_units(scaled)
            on_variance = normalized * mean_over_units(scaled * normalized)
            dx = saved_scale * (scaled - on_mean - on_variance)
            dgamma = tf.reduce_sum(upstream * normalized, axis=0)
            dbeta = tf.reduce_sum(upstream, axis=0)
            return tf.cast(dx, x.dtype), dgamma, dbeta

        return tf.cast((x_float - mean) * scale * gamma + beta, dtype), gradient

    return normalize(x, gamma, beta)


def _gelu_tanh(x):
    """Gaussian error linear unit in the tanh form, which the original computes."""
    return ops.gelu(x, approximate=True)


def _gelu_erf(x):
    """Exact Gaussian error linear unit: x times the normal distribution function of x."""
    return ops.gelu(x, approximate=False)


def _gelu_tanh_slope(x):
    """Derivative of the tanh form, by (1 + tanh(z / 2)) / 2 = sigmoid(z).

    With a tanh in both passes of one program XLA would share it, and keep it in float32 between
    them.
    """
    z = 2.0 * math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)
    sigmoid = 1.0 / (1.0 + ops.exp(-z))
    z_slope = 2.0 * math.sqrt(2.0 / math.pi) * (1.0 + 0.134145 * x * x)
    return sigmoid + x * sigmoid * (1.0 - sigmoid) * z_slope


def _in_float32(function: Callable) -> Callable:
    """Returns the function computed in float32, with a result of its argument's dtype.

    A CPU has no 16-bit arithmetic for activations: XLA would convert, and round, at each of the
    operations, which takes more than three times as long.
    """

    def computed_in_float32(x):
        return ops.cast(function(ops.cast(x, "float32")), x.dtype)

    return computed_in_float32


_ACTIVATIONS = {
    "gelu": _gelu_tanh,
    "gelu_new": _gelu_tanh,
    "gelu_erf": _gelu_erf,
    "relu": ops.relu,
    "tanh": ops.tanh,
    "linear": keras.activations.linear,
}
_COMPILED_GELU = compile_elementwise(_in_float32(_gelu_tanh), _gelu_tanh_slope)
# The forms for training, with gradients in one pass. Inference does without: TensorFlow fuses the
# function with the product before it, and XLA would compile once more for every length of a text.
_TRAINING_ACTIVATIONS = {
    **_ACTIVATIONS,
    "gelu": _COMPILED_GELU,
    "gelu_new": _COMPILED_GELU,
    "gelu_erf": compile_elementwise(_in_float32(_gelu_erf)),
}


def activation(name: str, training: bool = False) -> Callable:
    """Returns an activation function: float in, float of the same shape and dtype out.

    Args:
      name: as in `BertConfig.hidden_act`.
      training: choose the form that is faster where gradients are taken and shapes stay the same.
    """
    if training:
        return _TRAINING_ACTIVATIONS[name]
    return _ACTIVATIONS[name]


def add_bias(x, bias):
    """Computes x + bias over the last axis: [..., units] and [units] → [..., units]."""
    if keras.backend.backend() != "tensorflow":
        return x + bias
    if x.dtype == tf.bfloat16 and not is_jit_compiled():
        return _add_bfloat16_bias(x, bias)
    # The gradient of bias_add is a sum over rows that takes a quarter of the time of a broadcast
    # addition's.
    return tf.nn.bias_add(x, bias)


def _add_bfloat16_bias(x, bias):
    """Computes `add_bias` with a gradient of the bias that a CPU sums in float32.

    The gradient of bias_add is summed in bfloat16 there, where a sum of ones ends at 256.
    """

    @tf.custom_gradient
    def add(x, bias):
        def gradient(upstream):
            rows = tf.reshape(upstream, (-1, upstream.shape[-1]))
            # A product is as exact as a sum, and twice as fast.
            ones = tf.ones((1, tf.shape(rows)[0]), tf.bfloat16)
            return upstream, tf.matmul(ones, rows)[0]

        return tf.nn.bias_add(x, bias), gradient

    # A function with a gradient of its own must not read variables.
    return add(x, ops.cast(bias, "bfloat16"))


def matmul_transposed(x, y):
    """Computes x · yᵀ: [rows, inner] and [columns, inner] → [rows, columns]."""
    if keras.backend.backend() != "tensorflow":
        return ops.matmul(x, ops.transpose(y))
    # The gradient of y comes out in y's own layout; after an explicit transpose it would have to be
    # transposed back.
    return tf.matmul(x, y, transpose_b=True)


def lookup(table, ids):
    """Looks rows of an embedding table up: [rows, H] and int [...] → [..., H].

    The gradient is one table. TensorFlow's own lists a row once for each time it is looked up, and
    Keras' optimizers would clip and square the list, whose rows belong together.
    """
    # The gradient of a reshape is dense.
    return ops.take(ops.reshape(table, table.shape), ids, axis=0)


def gather_positions(sequence_output, positions):
    """Gathers the vectors at some positions of each sequence (`gather_indexes` of the original).

    Args:
      sequence_output: float [B, S, H].
      positions: int [B, P], from 0 to S - 1.

    Returns:
      float [B, P, H].
    """
    batch, length, hidden = ops.shape(sequence_output)
    if is_jit_compiled():
        # The gradient of a lookup is a scatter, for which XLA would lay out the whole encoder with
        # the batch innermost. A product with one-hot rows avoids it.
        is_selected = positions[:, :, None] == ops.arange(length, dtype=positions.dtype)
        one_hot = ops.cast(is_selected, sequence_output.dtype)  # [B, P, S]
        return ops.matmul(one_hot, sequence_output)
    row_starts = ops.arange(batch, dtype="int32")[:, None] * length
    rows = ops.cast(positions, "int32") + row_starts  # [B, P]
    return ops.take(ops.reshape(sequence_output, (-1, hidden)), rows, axis=0)


def at_last_token(x, input_mask, sequence_ids=None):
    """Returns the vectors at the last token of each row, [B, S, H] → [B, H].

    Args:
      x: float [B, S, H].
      input_mask: [B, S], 1 for tokens and 0 for padding; None where there is no padding.
      sequence_ids: int [B, S] of packed rows, of which the first sequence is read; None for rows
        of one sequence.
    """
    batch, length = ops.shape(x)[:2]
    if input_mask is None:
        is_token = ops.ones((batch, length), "bool")
    else:
        is_token = ops.cast(input_mask, "bool")
    if sequence_ids is not None:
        is_token = ops.logical_and(is_token, sequence_ids == sequence_ids[:, :1])
    positions = ops.where(is_token, ops.arange(length, dtype="int32"), 0)  # [B, S]
    last = ops.max(positions, axis=1, keepdims=True)  # [B, 1]
    return gather_positions(x, last)[:, 0]
