"""AdamW of the original BERT. The learning rates are in `modeling/optimizer.py`.

Source: section A.2 of the paper and `optimization.py` of the original code: Adam without bias correction, epsilon
outside the square root, decoupled weight decay, clipping by the global norm.

Input: gradients that `bert_tf/training/step.py` has summed over the replicas. Output: new weights and slots.
"""

import re
from collections.abc import Mapping, Sequence

import tensorflow as tf

NOT_DECAYED = ("LayerNorm", "layer_norm", "bias")
_LAYER = re.compile(r"^(?:bert|lora)/encoder/layer_(\d+)/")


class AdamWeightDecay:
  """Adam with decoupled weight decay, in the original's form.

    m = beta_1 m + (1 - beta_1) g            g: gradient after clipping by the global norm
    v = beta_2 v + (1 - beta_2) g^2
    w = w - rate (m / (sqrt(v) + epsilon) + decay w)

  With `bias_correction`, m / (1 - beta_1^t) and v / (1 - beta_2^t) take the places of m and v, as in Adam's paper.

  Args:
    variables: original variable name (`bert/pooler/dense/kernel`) → variable. Slots are created in the current
      distribution scope.
    weight_decay_rate: decay of the variables whose name matches none of `exclude`.
    clip_norm: largest global norm of the gradients; None for no clipping.
    exclude: regular expressions, searched for in the variables' names.
    rate_factors: for each variable what its learning rate is multiplied by; None for 1 everywhere.
  """

  def __init__(self, variables: Mapping[str, tf.Variable], *, weight_decay_rate: float = 0.01, beta_1: float = 0.9,
               beta_2: float = 0.999, epsilon: float = 1e-6, bias_correction: bool = False,
               clip_norm: float | None = 1.0, exclude: Sequence[str] = NOT_DECAYED,
               rate_factors: Sequence[float] | None = None):
    self.names = list(variables)
    self.variables = list(variables.values())
    self.weight_decay_rate = weight_decay_rate
    self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon
    self.bias_correction = bias_correction
    self.clip_norm = clip_norm
    self.rate_factors = [1.0] * len(self.names) if rate_factors is None else list(rate_factors)
    self.decayed = [not any(re.search(pattern, name) for pattern in exclude) for name in self.names]
    self.m, self.v = (
        [tf.Variable(tf.zeros(one.shape, one.dtype), trainable=False, name="slot") for one in self.variables]
        for _ in ("m", "v"))

  def slots(self) -> dict[str, dict[str, tf.Variable]]:
    """Slot name ("m", "v") → original variable name → slot variable, for checkpoints."""
    return {"m": dict(zip(self.names, self.m, strict=True)), "v": dict(zip(self.names, self.v, strict=True))}

  def update(self, gradients: Sequence[tf.Tensor], learning_rate: tf.Tensor, step: tf.Tensor,
             skip_non_finite: bool = False) -> tf.Tensor:
    """Applies one update in the replica context; every replica updates its own copy alike.

    Args:
      gradients: dense, one for each variable, already summed over the replicas.
      learning_rate: float32 [].
      step: int64 [], number of updates before this one (used by the bias correction only).
      skip_non_finite: leave everything as it is when the norm is not finite (float16 loss scaling needs that).

    Returns:
      float32 [], the global norm of the gradients before clipping.
    """
    norm = tf.linalg.global_norm(gradients)
    scale = tf.constant(1.0) if self.clip_norm is None else self.clip_norm / tf.maximum(norm, self.clip_norm)
    m_scale, v_scale = tf.constant(1.0), tf.constant(1.0)
    if self.bias_correction:
      t = tf.cast(step + 1, tf.float32)
      m_scale = 1.0 / (1.0 - self.beta_1**t)
      v_scale = 1.0 / (1.0 - self.beta_2**t)
    finite = tf.math.is_finite(norm)
    for variable, m, v, gradient, decayed, factor in zip(
        self.variables, self.m, self.v, gradients, self.decayed, self.rate_factors, strict=True):
      rate = learning_rate if factor == 1.0 else learning_rate * factor
      changed = _changed(
          tuple(map(tf.convert_to_tensor, (variable, m, v, gradient))), (scale, m_scale, v_scale, rate, finite),
          self.beta_1, self.beta_2, self.epsilon, self.weight_decay_rate if decayed else 0.0, skip_non_finite)
      for one, value in zip((variable, m, v), changed, strict=True):
        one.assign(value)
    return norm


def layerwise_factors(names: Sequence[str], decay: float) -> list[float]:
  """Factors of learning rates that fall from layer to layer: of heads and pooler 1, of the last layer `decay`, of the
  one below it its square and so on, of the embeddings the smallest (Clark et al. 2020, ELECTRA, appendix B).
  """
  layers = [int(match[1]) if (match := _LAYER.search(name)) else None for name in names]
  count = 1 + max((layer for layer in layers if layer is not None), default=-1)
  return [decay ** (count - layer) if layer is not None else
          decay ** (count + 1) if name.startswith("bert/embeddings/") else 1.0
          for name, layer in zip(names, layers, strict=True)]


# One pass over a weight and its slots instead of a dozen, whether or not the rest of the step is compiled; compiled
# once for each shape, where one function of all weights would take many seconds, and for all runs of a process.
@tf.function(jit_compile=True, autograph=False)
def _changed(values: tuple, rates: tuple, beta_1: float, beta_2: float, epsilon: float, decay: float,
             skip_non_finite: bool) -> tuple:
  """A weight and its slots after an update; all but `values` and `rates` are constants of the graph."""
  variable, m, v, gradient = values
  scale, m_scale, v_scale, rate, finite = rates
  gradient = gradient * scale
  new_m = beta_1 * m + (1.0 - beta_1) * gradient
  new_v = beta_2 * v + (1.0 - beta_2) * tf.square(gradient)
  change = new_m * m_scale / (tf.sqrt(new_v * v_scale) + epsilon)
  if decay:
    change += decay * variable
  new_value = variable - rate * change
  if skip_non_finite:
    new_m, new_v = tf.where(finite, new_m, m), tf.where(finite, new_v, v)
    new_value = tf.where(finite, new_value, variable)
  return new_value, new_m, new_v
