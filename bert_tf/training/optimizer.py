"""Optimizers of the training step: clipping, layer-wise learning rates and slots.

Input: gradients of the global batch, summed over the replicas. Output: new weights and slots. The
rules of AdamW and LAMB are in `modeling/optimizer.py`, as is the learning-rate schedule.
"""

import re
from collections.abc import Callable, Mapping, Sequence

import tensorflow as tf

from modeling.optimizer import (
    BETAS,
    UpdateFactors,
    adamw_update,
    bias_corrections,
    compiled_update,
    lamb_update,
)

# The original excludes variables with these parts in their names from weight decay.
NOT_DECAYED = ("LayerNorm", "layer_norm", "bias")
_LAYER = re.compile(r"^(?:bert|lora)/encoder/layer_(\d+)/")


class Optimizer:
    """Base of optimizers with decoupled weight decay and clipping by the global norm.

    A subclass has `slot_names`, two of them, and the `rule` of the update.

    Args:
      variables: original variable name (`bert/pooler/dense/kernel`) → variable. Slots are created
        in the current distribution scope.
      weight_decay_rate: decay of the variables whose names contain none of `NOT_DECAYED`.
      clip_norm: largest global norm of the gradients; None for no clipping.
      rate_factors: factor of the learning rate for each variable; None for 1.
      betas: decay of the mean of the gradients, and of their squares.

    Attributes:
      slot_names: names of the slots in checkpoints.
      rule: `adamw_update` or `lamb_update`.
      bias_correction: whether the rule gets moments with bias correction.
    """

    slot_names: tuple[str, str]
    rule: Callable[..., tuple]
    bias_correction = True

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
        self.m = [_make_slot(variable) for variable in self.variables]
        self.v = [_make_slot(variable) for variable in self.variables]

    def slots(self) -> dict[str, dict[str, tf.Variable]]:
        """Returns slot name → original variable name → slot variable, for checkpoints."""
        slots = {}
        for slot_name, variables in zip(self.slot_names, (self.m, self.v), strict=True):
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
        is_finite = None
        if skip_non_finite:
            # A single NaN or infinity in any gradient makes the norm not finite.
            is_finite = tf.math.is_finite(norm)
        corrections = [tf.constant(1.0), tf.constant(1.0)]
        if self.bias_correction:
            corrections = bias_corrections(tf.cast(step + 1, tf.float32), self.betas)
        for index, variable in enumerate(self.variables):
            stored = (variable, self.m[index], self.v[index])
            rate = learning_rate
            # A multiplication by 1 would be one more operation for every weight.
            if self.rate_factors[index] != 1.0:
                rate = learning_rate * self.rate_factors[index]
            updated = compiled_update(
                self.rule,
                tuple(tf.convert_to_tensor(value) for value in stored),
                tf.convert_to_tensor(gradients[index]),
                UpdateFactors(rate, *corrections, betas=self.betas),
                self.decay_rates[index],
                scale,
                is_finite,
            )
            for target, value in zip(stored, updated, strict=True):
                target.assign(value)
        return norm


class AdamWeightDecay(Optimizer):
    """`adamw_update`, in the original's form.

    Args:
      variables: as in `Optimizer`, which has the other arguments.
      bias_correction: use m / (1 - beta_1^t) and v / (1 - beta_2^t) in place of m and v, as Adam's
        paper does and the original does not.
    """

    slot_names = ("m", "v")
    rule = staticmethod(adamw_update)

    def __init__(
        self, variables: Mapping[str, tf.Variable], *, bias_correction: bool = False, **kwargs
    ):
        super().__init__(variables, **kwargs)
        self.bias_correction = bias_correction


class Lamb(Optimizer):
    """`lamb_update`, always with bias correction. The arguments are those of `Optimizer`."""

    slot_names = ("lamb_m", "lamb_v")
    rule = staticmethod(lamb_update)


def layerwise_factors(names: Sequence[str], layerwise_lr_decay: float) -> list[float]:
    """Returns factors of learning rates that fall from layer to layer.

    Heads and pooler have 1, the last layer `layerwise_lr_decay`, the one below it its square and so
    on, the embeddings the smallest factor (Clark et al. 2020, ELECTRA, appendix B).
    """
    matches = [_LAYER.search(name) for name in names]
    num_layers = 1 + max((int(match[1]) for match in matches if match), default=-1)
    factors = []
    for name, match in zip(names, matches, strict=True):
        if match:
            factors.append(layerwise_lr_decay ** (num_layers - int(match[1])))
        elif name.startswith("bert/embeddings/"):
            factors.append(layerwise_lr_decay ** (num_layers + 1))
        else:
            factors.append(1.0)
    return factors


def _make_slot(variable: tf.Variable) -> tf.Variable:
    zeros = tf.zeros(variable.shape, variable.dtype)
    return tf.Variable(zeros, trainable=False, name="slot")
