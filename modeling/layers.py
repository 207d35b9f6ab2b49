"""Parts of all layers of the model: dense layer, LayerNorm, activations, initial weights.

Input: tensors of any shape; output: tensors of the same shape, or with another last axis.

Source: LayerNorm is arXiv 1607.06450, GELU arXiv 1606.08415; how both are computed is the original's.
"""

import hashlib
from collections.abc import Callable

import keras
from keras import ops

from bert_common.errors import UserError
from modeling.config import BertConfig
from modeling.saving import register


def check_policy(policy: keras.DTypePolicy) -> None:
  """Refuses the policies that would keep weights in less or more than float32.

  Raises:
    UserError: e.g. for "bfloat16", where LayerNorm and the optimizer would lose what makes them work.
  """
  if policy.variable_dtype != "float32":
    raise UserError(f"the dtype policy {policy.name!r} keeps the weights in {policy.variable_dtype}: use 'float32', "
                    "'mixed_bfloat16' or 'mixed_float16', which keep them in float32")


def truncated_normal(standard_deviation: float, seed: int, name: str) -> keras.initializers.Initializer:
  """Normal distribution without what lies beyond two standard deviations, as the original initialises.

  Neither the order in which variables are made nor the number of devices changes what a variable starts from.

  Args:
    standard_deviation: of the distribution before it is truncated.
    seed: the run's seed.
    name: the variable's name, unique in the model.
  """
  return keras.initializers.TruncatedNormal(mean=0.0, stddev=standard_deviation, seed=derived_seed(seed, name))


def derived_seed(seed: int, name: str) -> int:
  """A seed of 31 bits for one of the many things that a run's seed drives."""
  digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
  return int.from_bytes(digest[:4], "little") >> 1


@register
class Dense(keras.layers.Dense):
  """Keras' dense layer without activation, as one product of two matrices; LoRA matrices survive saving.

  Keras' own saves the merged kernel only, and after loading both LoRA matrices are zero and stay so for ever, as the
  gradient of each is a product with the other. Here they are saved beside the merged kernel, which a layer
  without LoRA can still load.

  Variables: kernel [inputs, outputs], bias [outputs]; with LoRA also lora_kernel_a [inputs, rank] and lora_kernel_b
  [rank, outputs].
  """

  def enable_lora(self, rank: int, lora_alpha: float | None = None, **kwargs) -> None:
    """As in Keras, and the bias is frozen, too: only the LoRA matrices train. kwargs: Keras' initializers of the two.

    Args:
      rank: of the update a · b of the kernel.
      lora_alpha: the update is scaled by lora_alpha / rank; None for a scale of 1.
    """
    super().enable_lora(rank, lora_alpha=lora_alpha, **kwargs)
    self.bias.trainable = False

  def call(self, inputs, training: bool | None = None):
    """[..., inputs] → [..., outputs]."""
    # Keras' own adds the bias to what is reshaped already, so that TensorFlow can't join product, bias and activation
    # in inference; in training both take the same time.
    units = ops.shape(inputs)[-1]
    x = ops.reshape(inputs, (-1, units))
    if self.lora_enabled:
      # Keras adds the matrices' product to the kernel first, and so needs the gradient of the whole kernel.
      update = ops.matmul(ops.matmul(x, self.lora_kernel_a), self.lora_kernel_b)
      product = ops.matmul(x, self.unmerged_kernel) + (self.lora_alpha / self.lora_rank) * update
    else:
      product = ops.matmul(x, self.kernel)
    flat = add_bias(product, self.bias)
    return ops.reshape(flat, (*ops.shape(inputs)[:-1], self.units))

  def save_own_variables(self, store) -> None:
    super().save_own_variables(store)
    if self.lora_enabled:
      store["unmerged_kernel"] = ops.convert_to_numpy(self.unmerged_kernel)
      store["lora_kernel_a"] = ops.convert_to_numpy(self.lora_kernel_a)
      store["lora_kernel_b"] = ops.convert_to_numpy(self.lora_kernel_b)

  def load_own_variables(self, store) -> None:
    merged = {key: store[key] for key in store.keys() if key.isdigit()}
    super().load_own_variables(merged)
    if self.lora_enabled and "unmerged_kernel" in store.keys():
      self.unmerged_kernel.assign(store["unmerged_kernel"])
      self.lora_kernel_a.assign(store["lora_kernel_a"])
      self.lora_kernel_b.assign(store["lora_kernel_b"])

  @property
  def unmerged_kernel(self) -> keras.Variable:
    """The kernel without the LoRA update, which the property `kernel` adds."""
    return next(variable for variable in self.weights if variable.name == "kernel")


def gather_positions(sequence_output, positions):
  """[B, S, H], int [B, P] with values from 0 to S - 1 → [B, P, H]."""
  batch, length, hidden = ops.shape(sequence_output)
  rows = ops.cast(positions, "int32") + ops.arange(batch, dtype="int32")[:, None] * length  # [B, P]
  return ops.take(ops.reshape(sequence_output, (-1, hidden)), rows, axis=0)


def dense(config: BertConfig, outputs: int, seed: int, path: str, **kwargs) -> Dense:
  """A dense layer whose kernel starts as the original's variable `path`/kernel does."""
  return Dense(outputs, kernel_initializer=truncated_normal(config.initializer_range, seed, f"{path}/kernel"), **kwargs)


@register
class LayerNorm(keras.layers.Layer):
  """Normalises the last axis to mean 0 and variance 1, then scales by gamma and shifts by beta.

  Computes in float32 whatever the policy says; the result has the policy's compute dtype.

  Variables: gamma [H], beta [H].
  """

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
    x = ops.cast(x, "float32")
    centered = x - ops.mean(x, axis=-1, keepdims=True)
    variance = ops.mean(ops.square(centered), axis=-1, keepdims=True)
    y = centered * ops.rsqrt(variance + self.epsilon) * self.gamma + self.beta
    return ops.cast(y, self.compute_dtype)

  def get_config(self) -> dict:
    return {**super().get_config(), "epsilon": self.epsilon}


def fused(function: Callable) -> Callable:
  """Compiles an element by element function of float tensors, and its gradient, to one pass over memory each.

  TensorFlow runs `0.5 x (1 + tanh(...))` as eight operations, each of which reads and writes the whole tensor; on a
  CPU that takes as long as the matrix products beside it. XLA makes one loop of them. Only such functions are
  compiled: the products stay with oneDNN, which is faster at them, and a step needs no compilation of the whole model.
  The gradient computes the function again from its arguments, which costs less than keeping what is in between.
  Under another backend than TensorFlow the function is returned as it is.

  Args:
    function: pure; made of operations that XLA compiles.
  """
  if keras.backend.backend() != "tensorflow":
    return function
  import tensorflow as tf

  forward = tf.function(function, jit_compile=True, autograph=False)

  @tf.function(jit_compile=True, autograph=False)
  def backward(arguments, upstream):
    with tf.GradientTape() as tape:
      tape.watch(arguments)
      result = function(*arguments)
    return tape.gradient(result, arguments, output_gradients=upstream)

  @tf.custom_gradient
  def call(*arguments):
    return forward(*arguments), lambda upstream: backward(arguments, upstream)

  return call


def gelu_tanh(x):
  """Gaussian error linear unit in the tanh form, which the original computes."""
  return ops.gelu(x, approximate=True)


def gelu_erf(x):
  """Gaussian error linear unit, exact: x times the normal distribution function of x."""
  return ops.gelu(x, approximate=False)


def linear(x):
  """No activation."""
  return x


_ACTIVATIONS = {
    "gelu": gelu_tanh,
    "gelu_new": gelu_tanh,
    "gelu_erf": gelu_erf,
    "relu": ops.relu,
    "tanh": ops.tanh,
    "linear": linear,
}


def _in_float32(function: Callable) -> Callable:
  """The function, computed in float32 whatever the type of its argument, which the result has again.

  A CPU has no 16-bit arithmetic for these: XLA would convert, and round, at each of the operations, which takes more
  than three times as long.
  """
  return lambda x: ops.cast(function(ops.cast(x, "float32")), x.dtype)


_FUSED_GELU_TANH, _FUSED_GELU_ERF = (fused(_in_float32(function)) for function in (gelu_tanh, gelu_erf))
# For training: gradients in one pass. In inference TensorFlow joins the function to the product before it, and texts
# of any length come, for each of which XLA would compile.
_FUSED_ACTIVATIONS = {
    **_ACTIVATIONS, "gelu": _FUSED_GELU_TANH, "gelu_new": _FUSED_GELU_TANH, "gelu_erf": _FUSED_GELU_ERF}


def activation(name: str, training: bool = False) -> Callable:
  """The function called `name` in `BertConfig.hidden_act`; float in, float of the same shape and dtype out.

  Args:
    training: choose the form that is faster where gradients are taken and shapes stay the same.
  """
  return (_FUSED_ACTIVATIONS if training else _ACTIVATIONS)[name]


def add_bias(x, bias):
  """x + bias over the last axis: [..., units] and [units] → [..., units]."""
  if keras.backend.backend() != "tensorflow":
    return x + bias
  import tensorflow as tf

  # Its gradient is a sum over rows that takes a quarter of the time of a broadcast addition's.
  return tf.nn.bias_add(x, bias)


def matmul_transposed(x, y):
  """x · yᵀ: [rows, inner] and [columns, inner] → [rows, columns]."""
  if keras.backend.backend() != "tensorflow":
    return ops.matmul(x, ops.transpose(y))
  import tensorflow as tf

  # The gradient of y comes out in y's own layout; of an explicit transpose it would have to be turned round.
  return tf.matmul(x, y, transpose_b=True)


def at_last_token(x, input_mask, sequence_ids=None):
  """[B, S, H] → [B, H], at the last position that is no padding; in packed rows, of the first sequence."""
  batch, length = ops.shape(x)[:2]
  is_there = ops.ones((batch, length), "bool") if input_mask is None else ops.cast(input_mask, "bool")
  if sequence_ids is not None:
    is_there = ops.logical_and(is_there, sequence_ids == sequence_ids[:, :1])
  last = ops.max(ops.where(is_there, ops.arange(length, dtype="int32"), 0), axis=1, keepdims=True)  # [B, 1]
  return gather_positions(x, last)[:, 0]
