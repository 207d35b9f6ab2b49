"""The activations a configuration can name."""

from collections.abc import Callable

from keras import ops

from modeling.fused import fused


def gelu_tanh(x):
  """Gaussian error linear unit in the tanh form, which the original computes (arXiv 1606.08415)."""
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


# For training: gradients in one pass. In inference TensorFlow joins the function to the product before it, and texts
# of any length come, for each of which XLA would compile.
_FUSED_ACTIVATIONS = {
    **_ACTIVATIONS, "gelu": fused(gelu_tanh), "gelu_new": fused(gelu_tanh), "gelu_erf": fused(gelu_erf)}


def activation(name: str, training: bool = False) -> Callable:
  """The function called `name` in `BertConfig.hidden_act`; float in, float of the same shape and dtype out.

  Args:
    training: choose the form that is faster where gradients are taken and shapes stay the same.
  """
  return (_FUSED_ACTIVATIONS if training else _ACTIVATIONS)[name]
