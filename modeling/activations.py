"""The activations a configuration can name."""

from collections.abc import Callable

from keras import ops

from modeling.fused import fused


@fused
def gelu_tanh(x):
  """Gaussian error linear unit in the tanh form, which the original computes (arXiv 1606.08415)."""
  return ops.gelu(x, approximate=True)


@fused
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


def activation(name: str) -> Callable:
  """The function called `name` in `BertConfig.hidden_act`; float in, float of the same shape and dtype out."""
  return _ACTIVATIONS[name]
