"""Parts of all layers of the model: dense layer, LayerNorm, activations, initial weights.

Input: tensors of any shape; output: tensors of the same shape, or with another last axis.

Source: LayerNorm is arXiv 1607.06450, GELU arXiv 1606.08415; how both are computed is the
original's.
"""

import contextlib
import contextvars
import functools
import hashlib
import math
from collections.abc import Callable, Iterator

import keras
from keras import ops

from modeling.config import BertConfig
from modeling.saving import WithArguments, register

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf
    from tensorflow.compiler.tf2xla.ops import gen_xla_ops

_IS_COMPILED_WHOLE = contextvars.ContextVar("is_compiled_whole", default=False)
# () → whether `compiled_whole` is in effect.
is_compiled_whole = _IS_COMPILED_WHOLE.get


@contextlib.contextmanager
def compiled_whole(is_compiled: bool = True) -> Iterator[None]:
    """For the tracing of a function that XLA compiles as a whole.

    Within it some layers and losses take a form of which XLA makes less traffic with memory. It is
    the same function, and its gradients are the same but for rounding; what is not compiled is
    faster in the usual form.
    """
    token = _IS_COMPILED_WHOLE.set(is_compiled)
    try:
        yield
    finally:
        _IS_COMPILED_WHOLE.reset(token)


def truncated_normal(
    standard_deviation: float, seed: int, name: str
) -> keras.initializers.Initializer:
    """Normal distribution without what lies beyond two standard deviations, as the original
    initialises.

    Neither the order in which variables are made nor the number of devices changes what a variable
    of this name, unique in the model, starts from.
    """
    return keras.initializers.TruncatedNormal(
        mean=0.0, stddev=standard_deviation, seed=derived_seed(seed, name)
    )


def derived_seed(seed: int, name: str) -> int:
    """A seed of 31 bits for one of the many things that a run's seed drives."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:4], "little") >> 1


# Attributes of a dense layer with LoRA that are saved beside its merged kernel.
_LORA_VARIABLES = ("unmerged_kernel", "lora_kernel_a", "lora_kernel_b")


@register
class Dense(keras.layers.Dense):
    """Keras' dense layer without activation, as one product of two matrices; LoRA matrices survive
    saving.

    Keras' own saves the merged kernel only, and after loading both LoRA matrices are zero and stay
    so for ever, as the gradient of each is a product with the other. Here they are saved beside the
    merged kernel, which a layer without LoRA can still load.

    Variables: kernel [inputs, outputs], bias [outputs]; with LoRA also lora_kernel_a [inputs, rank]
    and lora_kernel_b [rank, outputs].
    """

    def enable_lora(self, rank: int, lora_alpha: float | None = None, **kwargs) -> None:
        """As in Keras, and the bias is frozen, too: only the LoRA matrices train. kwargs: Keras'
        initializers of the two.

        Args:
          rank: of the update a · b of the kernel.
          lora_alpha: the update is scaled by lora_alpha / rank; None for a scale of 1.
        """
        super().enable_lora(rank, lora_alpha=lora_alpha, **kwargs)
        self.bias.trainable = False

    def call(self, inputs, training: bool | None = None):
        """[..., inputs] → [..., outputs]."""
        # Keras' own adds the bias to what is reshaped already, so that TensorFlow can't join
        # product, bias and activation in inference; in training both take the same time.
        units = ops.shape(inputs)[-1]
        x = ops.reshape(inputs, (-1, units))
        if self.lora_enabled:
            # Keras adds the matrices' product to the kernel first, and so needs the gradient of the
            # whole kernel.
            update = ops.matmul(ops.matmul(x, self.lora_kernel_a), self.lora_kernel_b)
            product = (
                ops.matmul(x, self.unmerged_kernel) + (self.lora_alpha / self.lora_rank) * update
            )
        else:
            product = ops.matmul(x, self.kernel)
        flat = add_bias(product, self.bias)
        return ops.reshape(flat, (*ops.shape(inputs)[:-1], self.units))

    def save_own_variables(self, store) -> None:
        super().save_own_variables(store)
        for name in _LORA_VARIABLES if self.lora_enabled else ():
            store[name] = ops.convert_to_numpy(getattr(self, name))

    def load_own_variables(self, store) -> None:
        merged = {key: store[key] for key in store.keys() if key.isdigit()}
        super().load_own_variables(merged)
        for name in (
            _LORA_VARIABLES if self.lora_enabled and "unmerged_kernel" in store.keys() else ()
        ):
            getattr(self, name).assign(store[name])

    @property
    def unmerged_kernel(self) -> keras.Variable:
        """The kernel without the LoRA update, which the property `kernel` adds."""
        return next(variable for variable in self.weights if variable.name == "kernel")


def gather_positions(sequence_output, positions):
    """[B, S, H], int [B, P] with values from 0 to S - 1 → [B, P, H]."""
    batch, length, hidden = ops.shape(sequence_output)
    if is_compiled_whole():
        # The gradient of a lookup is a scatter, for which XLA would lay out the whole encoder with
        # the batch innermost.
        chosen = positions[:, :, None] == ops.arange(length, dtype=positions.dtype)  # [B, P, S]
        return ops.matmul(ops.cast(chosen, sequence_output.dtype), sequence_output)
    rows = (
        ops.cast(positions, "int32") + ops.arange(batch, dtype="int32")[:, None] * length
    )  # [B, P]
    return ops.take(ops.reshape(sequence_output, (-1, hidden)), rows, axis=0)


def dense(config: BertConfig, outputs: int, seed: int, path: str, **kwargs) -> Dense:
    """A dense layer whose kernel starts as the original's variable `path`/kernel does."""
    return Dense(
        outputs,
        kernel_initializer=truncated_normal(config.initializer_range, seed, f"{path}/kernel"),
        **kwargs,
    )


@register
class LayerNorm(WithArguments, keras.layers.Layer):
    """Normalises the last axis to mean 0 and variance 1, then scales by gamma and shifts by beta.

    Computes in float32 whatever the policy says; the result has the policy's compute dtype.

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
        """[..., H] → [..., H]."""
        if is_compiled_whole():
            rows = ops.reshape(x, (-1, x.shape[-1]))
            y = _normalise_rows(
                rows,
                *map(ops.convert_to_tensor, (self.gamma, self.beta)),
                self.epsilon,
                self.compute_dtype,
            )
            return ops.reshape(y, ops.shape(x))
        x = ops.cast(x, "float32")
        centered = x - ops.mean(x, axis=-1, keepdims=True)
        variance = ops.mean(ops.square(centered), axis=-1, keepdims=True)
        y = centered * ops.rsqrt(variance + self.epsilon) * self.gamma + self.beta
        return ops.cast(y, self.compute_dtype)


def _normalise_rows(x, gamma, beta, epsilon: float, dtype: str):
    """`LayerNorm` of [R, H] with a gradient that is written out, from the mean and the deviation of
    each row.

    XLA would keep x in two layouts, and what it computes for gamma and beta in float32; the barrier
    ends that.
    """
    mean_of = functools.partial(tf.reduce_mean, axis=-1, keepdims=True)

    @tf.custom_gradient
    def normalise(x, gamma, beta):
        wide = tf.cast(x, tf.float32)
        mean = mean_of(wide)
        scale = tf.math.rsqrt(mean_of(tf.square(wide - mean)) + epsilon)

        def gradient(upstream):
            kept, kept_mean, kept_scale = gen_xla_ops.xla_optimization_barrier(
                input=[x, mean, scale]
            )
            upstream = tf.cast(upstream, tf.float32)
            y = (tf.cast(kept, tf.float32) - kept_mean) * kept_scale
            scaled = upstream * gamma
            of_x = kept_scale * (scaled - mean_of(scaled) - y * mean_of(scaled * y))
            return (
                tf.cast(of_x, x.dtype),
                tf.reduce_sum(upstream * y, axis=0),
                tf.reduce_sum(upstream, axis=0),
            )

        return tf.cast((wide - mean) * scale * gamma + beta, dtype), gradient

    return normalise(x, gamma, beta)


def fused(function: Callable, slope: Callable | None = None) -> Callable:
    """Compiles an element by element function of float tensors, and its gradient, to one pass over
    memory each.

    TensorFlow runs `0.5 x (1 + tanh(...))` as eight operations, each of which reads and writes the
    whole tensor; on a CPU that takes as long as the matrix products beside it. XLA makes one loop
    of them. Only such functions are compiled: the products stay with oneDNN, which is faster at
    them, and a step needs no compilation of the whole model. The gradient computes the function
    again from its arguments, which costs less than keeping what is in between. Under another
    backend than TensorFlow the function is returned as it is.

    Args:
      function: pure; made of operations that XLA compiles.
      slope: its derivative, of one argument; None to have it from `function`.
    """
    if keras.backend.backend() != "tensorflow":
        return function
    forward = tf.function(function, jit_compile=True, autograph=False)

    @tf.function(jit_compile=True, autograph=False)
    def backward(arguments, upstream):
        if slope is not None:
            return [
                tf.cast(
                    tf.cast(upstream, tf.float32) * slope(tf.cast(arguments[0], tf.float32)),
                    upstream.dtype,
                )
            ]
        with tf.GradientTape() as tape:
            tape.watch(arguments)
            result = function(*arguments)
        return tape.gradient(result, arguments, output_gradients=upstream)

    @tf.custom_gradient
    def call(*arguments):
        return forward(*arguments), lambda upstream: backward(arguments, upstream)

    return call


# Gaussian error linear unit: in the tanh form, which the original computes, and exact, x times the
# normal distribution function of x.
_gelu_tanh, _gelu_erf = (
    functools.partial(ops.gelu, approximate=approximate) for approximate in (True, False)
)


def _gelu_tanh_slope(x):
    """The derivative of the tanh form, by (1 + tanh(z / 2)) / 2 = sigmoid(z).

    Where XLA sees both passes in one program it would find the tanh in both, and keep it in float32
    between them.
    """
    z = 2.0 * math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)
    sigmoid = 1.0 / (1.0 + ops.exp(-z))
    return sigmoid + x * sigmoid * (1.0 - sigmoid) * 2.0 * math.sqrt(2.0 / math.pi) * (
        1.0 + 0.134145 * x * x
    )


_ACTIVATIONS = {
    "gelu": _gelu_tanh,
    "gelu_new": _gelu_tanh,
    "gelu_erf": _gelu_erf,
    "relu": ops.relu,
    "tanh": ops.tanh,
    "linear": keras.activations.linear,
}


def _in_float32(function: Callable) -> Callable:
    """The function, computed in float32 whatever the type of its argument, which the result has
    again.

    A CPU has no 16-bit arithmetic for these: XLA would convert, and round, at each of the
    operations, which takes more than three times as long.
    """
    return lambda x: ops.cast(function(ops.cast(x, "float32")), x.dtype)


# For training: gradients in one pass. In inference TensorFlow joins the function to the product
# before it, and texts of any length come, for each of which XLA would compile.
_FUSED_ACTIVATIONS = {
    **_ACTIVATIONS,
    "gelu": fused(_in_float32(_gelu_tanh), _gelu_tanh_slope),
    "gelu_erf": fused(_in_float32(_gelu_erf)),
}
_FUSED_ACTIVATIONS["gelu_new"] = _FUSED_ACTIVATIONS["gelu"]


def activation(name: str, training: bool = False) -> Callable:
    """The function called `name` in `BertConfig.hidden_act`; float in, float of the same shape and
    dtype out.

    Args:
      training: choose the form that is faster where gradients are taken and shapes stay the same.
    """
    return (_FUSED_ACTIVATIONS if training else _ACTIVATIONS)[name]


def add_bias(x, bias):
    """x + bias over the last axis: [..., units] and [units] → [..., units]."""
    if keras.backend.backend() != "tensorflow":
        return x + bias
    # Its gradient is a sum over rows that takes a quarter of the time of a broadcast addition's.
    return tf.nn.bias_add(x, bias)


def matmul_transposed(x, y):
    """x · yᵀ: [rows, inner] and [columns, inner] → [rows, columns]."""
    if keras.backend.backend() != "tensorflow":
        return ops.matmul(x, ops.transpose(y))
    # The gradient of y comes out in y's own layout; of an explicit transpose it would have to be
    # turned round.
    return tf.matmul(x, y, transpose_b=True)


def at_last_token(x, input_mask, sequence_ids=None):
    """[B, S, H] → [B, H], at the last position that is no padding; in packed rows, of the first
    sequence."""
    batch, length = ops.shape(x)[:2]
    is_there = (
        ops.ones((batch, length), "bool") if input_mask is None else ops.cast(input_mask, "bool")
    )
    if sequence_ids is not None:
        is_there = ops.logical_and(is_there, sequence_ids == sequence_ids[:, :1])
    last = ops.max(
        ops.where(is_there, ops.arange(length, dtype="int32"), 0), axis=1, keepdims=True
    )  # [B, 1]
    return gather_positions(x, last)[:, 0]
