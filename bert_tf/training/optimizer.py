"""Optimizers of the training step: AdamW of the original, LAMB, and layer-wise learning rates.

Input: gradients of the global batch, summed over the replicas. Output: new weights and slots.
AdamW is that of section A.2 of the paper and of `optimization.py` of the original code; LAMB is
that of You et al. 2020 (arXiv 1904.00962) as MLPerf's BERT has it. The learning-rate schedule is
`WarmupDecay` in `modeling/optimizer.py`.
"""

import abc
import math
import re
from collections.abc import Mapping, Sequence

import tensorflow as tf

# The original excludes variables with these parts in their names from weight decay.
NOT_DECAYED = ("LayerNorm", "layer_norm", "bias")
BETAS = (0.9, 0.999)
_EPSILON = 1e-6
_LAYER = re.compile(r"^(?:bert|lora)/encoder/layer_(\d+)/")


class Optimizer(abc.ABC):
    """Base of optimizers with decoupled weight decay and clipping by the global norm.

    A subclass has `slot_names`, two of them, and `_updated`.

    Args:
      variables: original variable name (`bert/pooler/dense/kernel`) → variable. Slots are created
        in the current distribution scope.
      weight_decay_rate: decay of the variables whose names contain none of `NOT_DECAYED`.
      clip_norm: largest global norm of the gradients; None for no clipping.
      rate_factors: factor of the learning rate for each variable; None for 1.
      betas: decay of the mean of the gradients, and of their squares.

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
        betas: tuple[float, float] = BETAS,
    ):
        self.names = list(variables)
        self.variables = list(variables.values())
        self.clip_norm = clip_norm
        self.betas = betas
        self.rate_factors = [1.0] * len(self.names) if rate_factors is None else list(rate_factors)
        # None excludes a variable from the decay and from LAMB's trust ratio.
        self.decay_rates: list[float | None] = []
        for name in self.names:
            is_excluded = any(part in name for part in NOT_DECAYED)
            self.decay_rates.append(None if is_excluded else weight_decay_rate)
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
        self, values: tuple, factors: tuple, decay_rate: float | None, skip_non_finite: bool
    ) -> tuple:
        """Returns a weight and its slots after an update.

        Args:
          values: the weight, its slots and its gradient, before clipping.
          factors: the clipping's factor, the learning rate, whether the norm is finite, and
            `_step_factors`.
          decay_rate: None for a variable that is excluded.
          skip_non_finite: as in `update`.
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
        return 1.0 / (1.0 - self.betas[0] ** t), 1.0 / (1.0 - self.betas[1] ** t)

    def _updated(
        self, values: tuple, factors: tuple, decay_rate: float | None, skip_non_finite: bool
    ) -> tuple:
        return _adamw(values, factors, decay_rate, self.betas, skip_non_finite)


class Lamb(Optimizer):
    """LAMB: Adam with bias correction, and an update as long as the weight it changes.

      u = m' / (sqrt(v') + epsilon) + decay w          m', v': moments with bias correction
      w = w - rate |w| / |u| u

    The quotient of the norms, the trust ratio, is 1 where one of them is 0, and for biases and
    LayerNorm, as in MLPerf's `lamb_optimizer_v1.py`. The other arguments are those of `Optimizer`.
    """

    slot_names = ("lamb_m", "lamb_v")

    def _step_factors(self, step: tf.Tensor) -> tuple:
        t = tf.cast(step + 1, tf.float32)
        # In float32 the difference of 1 and 0.999 has four exact digits only; expm1 has them all.
        return tuple(-1.0 / tf.math.expm1(t * math.log(beta)) for beta in self.betas)

    def _updated(
        self, values: tuple, factors: tuple, decay_rate: float | None, skip_non_finite: bool
    ) -> tuple:
        return _lamb(values, factors, decay_rate, self.betas, skip_non_finite)


# Names of the optimizers in --optimizer.
OPTIMIZERS = {"adamw": AdamWeightDecay, "lamb": Lamb}


# XLA makes one pass over a weight and its slots instead of a dozen, whether or not the rest of the
# step is compiled. It is compiled once for each shape and for all runs of a process; one function
# of all weights would take many seconds.
@tf.function(jit_compile=True, autograph=False)
def _adamw(
    values: tuple,
    factors: tuple,
    decay_rate: float | None,
    betas: tuple[float, float],
    skip_non_finite: bool,
) -> tuple:
    """Returns a weight and its moments after an update.

    The last three arguments are Python values, constants of the graph.
    """
    variable = values[0]
    scale, rate, is_finite, m_scale, v_scale = factors
    new_m, new_v = _moments(values, scale, betas)
    change = new_m * m_scale / (tf.sqrt(new_v * v_scale) + _EPSILON)
    # Decoupled: the decay is not part of the moments, unlike L2 regularization.
    if decay_rate:
        change += decay_rate * variable
    updated = (variable - rate * change, new_m, new_v)
    return _unless_skipped(updated, values, is_finite, skip_non_finite)


@tf.function(jit_compile=True, autograph=False)
def _lamb(
    values: tuple,
    factors: tuple,
    decay_rate: float | None,
    betas: tuple[float, float],
    skip_non_finite: bool,
) -> tuple:
    """Returns a weight and its moments after an update; the arguments are those of `_adamw`."""
    variable = values[0]
    scale, rate, is_finite, m_scale, v_scale = factors
    new_m, new_v = _moments(values, scale, betas)
    change = new_m * m_scale / (tf.sqrt(new_v * v_scale) + _EPSILON)
    if decay_rate is not None:
        change += decay_rate * variable
        weight_norm = tf.norm(variable)
        change_norm = tf.norm(change)
        # A weight that begins at 0 could never leave it with a ratio of 0.
        has_ratio = tf.logical_and(weight_norm > 0.0, change_norm > 0.0)
        rate *= tf.where(has_ratio, weight_norm / change_norm, 1.0)
    updated = (variable - rate * change, new_m, new_v)
    return _unless_skipped(updated, values, is_finite, skip_non_finite)


def _moments(values: tuple, scale: tf.Tensor, betas: tuple[float, float]) -> tuple:
    """Returns the moments after an update, without bias correction."""
    _, m, v, gradient = values
    # The gradient is clipped here, as scaling all gradients first would take another pass.
    gradient = gradient * scale
    new_m = betas[0] * m + (1.0 - betas[0]) * gradient
    new_v = betas[1] * v + (1.0 - betas[1]) * tf.square(gradient)
    return new_m, new_v


def _unless_skipped(
    updated: tuple, values: tuple, is_finite: tf.Tensor, skip_non_finite: bool
) -> tuple:
    """Returns the updated weight and slots, or `values` where a gradient is not finite."""
    if not skip_non_finite:
        return updated
    return tuple(tf.where(is_finite, new, old) for new, old in zip(updated, values, strict=False))


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
