"""Optimizers of the training step: AdamW of the original, and layer-wise learning rates.

Input: gradients of the global batch, summed over the replicas. Output: new weights and slots.
AdamW is that of section A.2 of the paper and of `optimization.py` of the original code; the
learning-rate schedule is `WarmupDecay` in `modeling/optimizer.py`.
"""

import abc
import re
from collections.abc import Mapping, Sequence

import tensorflow as tf

# The original excludes variables with these parts in their names from weight decay.
NOT_DECAYED = ("LayerNorm", "layer_norm", "bias")
_BETA_1 = 0.9
_BETA_2 = 0.999
_EPSILON = 1e-6
_LAYER = re.compile(r"^(?:bert|lora)/encoder/layer_(\d+)/")


class Optimizer(abc.ABC):
    """Base of optimizers with decoupled weight decay and clipping by the global norm.

    A subclass has `slot_names` and `_updated`.

    Args:
      variables: original variable name (`bert/pooler/dense/kernel`) → variable. Slots are created
        in the current distribution scope.
      weight_decay_rate: decay of the variables whose names contain none of `NOT_DECAYED`.
      clip_norm: largest global norm of the gradients; None for no clipping.
      rate_factors: factor of the learning rate for each variable; None for 1.

    Attributes:
      slot_names: names of the slots in checkpoints.
    """

    slot_names: tuple[str, ...]

    def __init__(
        self,
        variables: Mapping[str, tf.Variable],
        *,
        weight_decay_rate: float = 0.01,
        clip_norm: float | None = 1.0,
        rate_factors: Sequence[float] | None = None,
    ):
        self.names = list(variables)
        self.variables = list(variables.values())
        self.clip_norm = clip_norm
        self.rate_factors = [1.0] * len(self.names) if rate_factors is None else list(rate_factors)
        self.decay_rates = []
        for name in self.names:
            is_excluded = any(part in name for part in NOT_DECAYED)
            self.decay_rates.append(0.0 if is_excluded else weight_decay_rate)
        # Slot by slot, as the order of creation must not depend on the number of slots.
        self._slots: list[list[tf.Variable]] = []
        for _ in self.slot_names:
            self._slots.append([_make_slot(variable) for variable in self.variables])

    def slots(self) -> dict[str, dict[str, tf.Variable]]:
        """Returns slot name → original variable name → slot variable, for checkpoints."""
        slots = {}
        for slot_name, variables in zip(self.slot_names, self._slots, strict=True):
            slots[slot_name] = dict(zip(self.names, variables, strict=True))
        return slots

    def update(
        self,
        gradients: Sequence[tf.Tensor],
        learning_rate: tf.Tensor,
        step: tf.Tensor,
        skip_non_finite: bool = False,
    ) -> tf.Tensor:
        """Applies one update, in the replica context.

        Args:
          gradients: dense, one for each variable, already summed over the replicas.
          learning_rate: float32 [].
          step: int64 [], updates before this one.
          skip_non_finite: change nothing if the norm is not finite, as loss scaling needs it.

        Returns:
          the global norm of the gradients before clipping, float32 [].
        """
        # One factor for all gradients: clipping keeps the direction of the update.
        norm = tf.linalg.global_norm(gradients)
        scale = tf.constant(1.0)
        if self.clip_norm is not None:
            scale = self.clip_norm / tf.maximum(norm, self.clip_norm)
        # A single NaN or infinity in any gradient makes the norm not finite.
        is_finite = tf.math.is_finite(norm)
        step_factors = self._step_factors(step)
        for index, variable in enumerate(self.variables):
            stored = [variable, *(variables[index] for variables in self._slots)]
            rate = learning_rate
            # A multiplication by 1 would be one more operation for every weight.
            if self.rate_factors[index] != 1.0:
                rate = learning_rate * self.rate_factors[index]
            updated = self._updated(
                tuple(tf.convert_to_tensor(value) for value in (*stored, gradients[index])),
                (scale, rate, is_finite, *step_factors),
                self.decay_rates[index],
                skip_non_finite,
            )
            for target, value in zip(stored, updated, strict=True):
                target.assign(value)
        return norm

    def _step_factors(self, step: tf.Tensor) -> tuple:
        """Returns further factors of an update that depend on the step only, float32 [] each."""
        return ()

    @abc.abstractmethod
    def _updated(
        self, values: tuple, factors: tuple, decay_rate: float, skip_non_finite: bool
    ) -> tuple:
        """Returns a weight and its slots after an update.

        Args:
          values: the weight, its slots and its gradient, before clipping.
          factors: the clipping's factor, the learning rate, whether the norm is finite, and
            `_step_factors`.
        """


class AdamWeightDecay(Optimizer):
    """Adam with decoupled weight decay, in the original's form.

      m = beta_1 m + (1 - beta_1) g            g: gradient after clipping by the global norm
      v = beta_2 v + (1 - beta_2) g^2
      w = w - rate (m / (sqrt(v) + epsilon) + decay w)

    Args:
      variables: as in `Optimizer`, which has the other arguments.
      bias_correction: use m / (1 - beta_1^t) and v / (1 - beta_2^t) in place of m and v, as Adam's
        paper does and the original does not.
    """

    slot_names = ("m", "v")

    def __init__(
        self, variables: Mapping[str, tf.Variable], *, bias_correction: bool = False, **kwargs
    ):
        super().__init__(variables, **kwargs)
        self.bias_correction = bias_correction
        self.m = self._slots[0]
        self.v = self._slots[1]

    def _step_factors(self, step: tf.Tensor) -> tuple:
        if not self.bias_correction:
            return tf.constant(1.0), tf.constant(1.0)
        t = tf.cast(step + 1, tf.float32)
        return 1.0 / (1.0 - _BETA_1**t), 1.0 / (1.0 - _BETA_2**t)

    def _updated(
        self, values: tuple, factors: tuple, decay_rate: float, skip_non_finite: bool
    ) -> tuple:
        return _adamw(values, factors, decay_rate, skip_non_finite)


# XLA makes one pass over a weight and its slots instead of a dozen, whether or not the rest of the
# step is compiled. It is compiled once for each shape and for all runs of a process; one function
# of all weights would take many seconds.
@tf.function(jit_compile=True, autograph=False)
def _adamw(values: tuple, factors: tuple, decay_rate: float, skip_non_finite: bool) -> tuple:
    """Returns a weight and its moments after an update.

    The last two arguments are Python values, constants of the graph.
    """
    variable, m, v, gradient = values
    scale, rate, is_finite, m_scale, v_scale = factors
    # The gradient is clipped here, as scaling all gradients first would take another pass.
    gradient = gradient * scale
    new_m = _BETA_1 * m + (1.0 - _BETA_1) * gradient
    new_v = _BETA_2 * v + (1.0 - _BETA_2) * tf.square(gradient)
    change = new_m * m_scale / (tf.sqrt(new_v * v_scale) + _EPSILON)
    # Decoupled: the decay is not part of the moments, unlike L2 regularization.
    if decay_rate:
        change += decay_rate * variable
    new_value = variable - rate * change
    if skip_non_finite:
        new_m = tf.where(is_finite, new_m, m)
        new_v = tf.where(is_finite, new_v, v)
        new_value = tf.where(is_finite, new_value, variable)
    return new_value, new_m, new_v


def layerwise_factors(names: Sequence[str], decay: float) -> list[float]:
    """Returns factors of learning rates that fall from layer to layer.

    Heads and pooler have 1, the last layer `decay`, the one below it its square and so on, the
    embeddings the smallest factor (Clark et al. 2020, ELECTRA, appendix B).
    """
    matches = [_LAYER.search(name) for name in names]
    num_layers = 1 + max((int(match[1]) for match in matches if match), default=-1)
    factors = []
    for name, match in zip(names, matches, strict=True):
        if match:
            factors.append(decay ** (num_layers - int(match[1])))
        elif name.startswith("bert/embeddings/"):
            factors.append(decay ** (num_layers + 1))
        else:
            factors.append(1.0)
    return factors


def _make_slot(variable: tf.Variable) -> tf.Variable:
    zeros = tf.zeros(variable.shape, variable.dtype)
    return tf.Variable(zeros, trainable=False, name="slot")
