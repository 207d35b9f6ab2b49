"""Update rules of AdamW and LAMB, their optimizers for Keras' `fit`, and learning-rate schedules.

`bert_tf/training/optimizer.py` applies the same rules in our own training loop. AdamW follows
section A.2 of the paper and of `optimization.py` of the original code; LAMB follows You et al.
2020 (arXiv 1904.00962) as MLPerf's BERT has it.
"""

import math
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import keras
from keras import ops

from bert_common.errors import UserError
from modeling.config import DECAYS
from modeling.replicas import is_on_several_replicas, num_replicas, sum_over_replicas
from modeling.saving import register

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

# Names of variables: biases, and gamma and beta of every LayerNorm.
NOT_DECAYED = ("bias", "gamma", "beta")
# Decay of the mean of the gradients, and of their squares.
BETAS = (0.9, 0.999)
# Added to the root of the mean of the squares.
EPSILON = 1e-6


class UpdateFactors(NamedTuple):
    """What the updates of all weights in a step have in common.

    Attributes:
      rate: the learning rate, floating-point [].
      m_factor, v_factor: of the moments; see `bias_corrections`, or 1.
      betas, epsilon: of Adam.
    """

    rate: Any
    m_factor: Any
    v_factor: Any
    betas: tuple[float, float] = BETAS
    epsilon: float = EPSILON


def bias_corrections(step: Any, betas: tuple[float, float]) -> list:
    """Returns 1 / (1 - beta^step) for each beta.

    Args:
      step: updates, this one included, floating-point [].
    """
    # In float32 the difference of 1 and 0.999 has four exact digits only; expm1 has them all.
    return [-1.0 / ops.expm1(step * math.log(beta)) for beta in betas]


def adamw_update(
    weight: Any, m: Any, v: Any, gradient: Any, factors: UpdateFactors, decay_rate: float | None
) -> tuple:
    """Returns weight and moments after an update of Adam with decoupled weight decay.

      m = beta_1 m + (1 - beta_1) g
      v = beta_2 v + (1 - beta_2) g^2
      w = w - rate (m m_factor / (sqrt(v v_factor) + epsilon) + decay w)

    Args:
      weight, m, v, gradient: dense, of one shape.
      factors: rate, betas, epsilon, and m_factor and v_factor, which correct the bias of the
        moments, or are 1.
      decay_rate: None for a weight that is excluded from the decay.
    """
    change, m, v = _adam_change(m, v, gradient, factors)
    # Decoupled: the decay is not part of the moments, unlike L2 regularization.
    if decay_rate:
        change += decay_rate * weight
    return weight - factors.rate * change, m, v


def lamb_update(
    weight: Any, m: Any, v: Any, gradient: Any, factors: UpdateFactors, decay_rate: float | None
) -> tuple:
    """Returns weight and moments after an update of LAMB, whose length is a share of the weight's.

      u = m m_factor / (sqrt(v v_factor) + epsilon) + decay w
      w = w - rate |w| / |u| u

    The quotient of the norms, the trust ratio, is 1 where one of them is 0, and for weights that
    are excluded, as in MLPerf's `lamb_optimizer_v1.py`. The arguments are as in `adamw_update`.
    """
    change, m, v = _adam_change(m, v, gradient, factors)
    rate = factors.rate
    if decay_rate is not None:
        change += decay_rate * weight
        weight_norm = ops.sqrt(ops.sum(ops.square(weight)))
        change_norm = ops.sqrt(ops.sum(ops.square(change)))
        # A weight that begins at 0 could never leave it with a ratio of 0.
        has_ratio = ops.logical_and(weight_norm > 0.0, change_norm > 0.0)
        # The division must be safe on the branch that is not taken, too.
        divisor = ops.where(has_ratio, change_norm, 1.0)
        # Not in place: PyTorch would change the rate of all weights.
        rate = rate * ops.where(has_ratio, weight_norm / divisor, 1.0)
    return weight - rate * change, m, v


def _adam_change(m: Any, v: Any, gradient: Any, factors: UpdateFactors) -> tuple:
    """Returns Adam's change of a weight, without the rate, and the new moments, uncorrected."""
    beta_1, beta_2 = factors.betas
    m = beta_1 * m + (1.0 - beta_1) * gradient
    v = beta_2 * v + (1.0 - beta_2) * ops.square(gradient)
    change = m * factors.m_factor / (ops.sqrt(v * factors.v_factor) + factors.epsilon)
    return change, m, v


def _update(
    rule: Callable[..., tuple],
    stored: tuple,
    gradient: Any,
    factors: UpdateFactors,
    decay_rate: float | None,
    clip_factor: Any = None,
    is_finite: Any = None,
) -> tuple:
    """Returns a weight and its moments after an update.

    Args:
      rule: one of the rules above.
      stored: the weight and its moments.
      gradient, factors, decay_rate: as in the rule.
      clip_factor: factor of the gradient, floating-point []. Scaling all gradients before their
        updates would take another pass over memory.
      is_finite: bool []; where it is false nothing changes. None for true.
    """
    if clip_factor is not None:
        gradient = gradient * clip_factor
    updated = rule(*stored, gradient, factors, decay_rate)
    if is_finite is None:
        return updated
    pairs = zip(updated, stored, strict=True)
    return tuple(ops.where(is_finite, new, old) for new, old in pairs)


# XLA makes one pass over a weight and its moments instead of a dozen, whether or not the rest of
# the step is compiled. It is compiled once for each shape and for all runs of a process; one
# function of all weights would take many seconds. Rule, decay rate, betas and epsilon are Python
# values, constants of the graph.
if keras.backend.backend() == "tensorflow":
    compiled_update = tf.function(_update, jit_compile=True, autograph=False)
else:
    compiled_update = _update


def _read(variable: Any) -> Any:
    """Returns the value of a variable as a tensor."""
    value = ops.convert_to_tensor(variable)
    if keras.backend.backend() == "tensorflow":
        # Keras leaves TensorFlow's variables as they are.
        return tf.convert_to_tensor(value)
    return value


class AppliedRule(keras.optimizers.Optimizer):
    """Base of Keras' optimizers with the moments of Adam, whose updates follow a rule above.

    On several replicas they clip the sum of the gradients. Keras' own clip each replica's part.
    """

    not_decayed: tuple[str, ...] = ()

    def exclude_from_weight_decay(self, var_list=None, var_names=None):
        if self.built:
            raise UserError(
                "exclude_from_weight_decay: it must come before the first step: this optimizer has "
                "already chosen the variables that it decays"
            )
        if isinstance(var_names, str):
            var_names = (var_names,)
        # Keras forgets the names where it is given variables alone.
        if var_names is not None:
            self.not_decayed = tuple(var_names)
        super().exclude_from_weight_decay(var_list, self.not_decayed)

    def build(self, variables):
        if self.built:
            return
        names = {variable.name for variable in variables}
        for pattern in self.not_decayed:
            # A model of one's own may have no LayerNorm.
            if pattern in NOT_DECAYED or any(re.search(pattern, name) for name in names):
                continue
            warnings.warn(
                f"exclude_from_weight_decay: {pattern!r} is in no variable's name, which is that "
                f"within its layer ({', '.join(sorted(names))}), and excludes nothing",
                stacklevel=2,
            )
        super().build(variables)
        # Keras asks once for each variable and keeps the answer. It would ask in the first update,
        # with TensorFlow's variables, whose names begin with those of their layers.
        for variable in variables:
            self._use_weight_decay(variable)

    def apply(self, grads, trainable_variables=None):
        """Updates the variables as `keras.optimizers.Optimizer.apply`."""
        if keras.backend.backend() != "tensorflow":
            super().apply(grads, trainable_variables)
            return
        if trainable_variables is not None and not self.built:
            # Otherwise done below, where the new variables would depend on the gradients.
            with keras.name_scope(self.name, caller=self):
                self.build(list(trainable_variables))
        # The gradient of an Embedding layer of Keras comes as rows, with repeated words apart. They
        # are summed before they are clipped.
        dense = [None if gradient is None else tf.convert_to_tensor(gradient) for gradient in grads]
        # A step without a batch (`dropout.fit_stream`) has no gradients, and is no iteration.
        with tf.control_dependencies([gradient for gradient in dense if gradient is not None]):
            super().apply(dense, trainable_variables)

    def finalize_variable_values(self, var_list):
        # Keras pairs weights and means by their places in two lists. Weights that are frozen since
        # `compile` are missing in one of them, and those behind them would get the means of others.
        if self.use_ema:
            for variable in var_list:
                index = self._get_variable_index(variable)
                # JAX gives the buffers of weight and mean away, and refuses one that is both.
                variable.assign(ops.copy(self._model_variables_moving_average[index]))

    def _clip_gradients(self, grads):
        if is_on_several_replicas():
            return grads
        return super()._clip_gradients(grads)

    def _all_reduce_sum_gradients(self, grads_and_vars):
        pairs = super()._all_reduce_sum_gradients(grads_and_vars)
        if not is_on_several_replicas():
            return pairs
        gradients, variables = zip(*pairs, strict=True)
        return list(zip(super()._clip_gradients(gradients), variables, strict=True))

    def _apply_rule(self, rule: Any, gradient: Any, variable: Any, factors: Any, decay_rate: Any):
        index = self._get_variable_index(variable)
        stored = (variable, self._momentums[index], self._velocities[index])
        updated = compiled_update(
            rule,
            tuple(_read(value) for value in stored),
            ops.convert_to_tensor(gradient, dtype=variable.dtype),
            factors._replace(betas=(self.beta_1, self.beta_2), epsilon=self.epsilon),
            decay_rate,
        )
        for target, value in zip(stored, updated, strict=True):
            self.assign(target, value)

    def _bias_corrections(self, dtype: str) -> list:
        step = ops.cast(self.iterations + 1, dtype)
        return bias_corrections(step, (self.beta_1, self.beta_2))

    def get_config(self) -> dict:
        # Keras forgets the patterns of `exclude_from_weight_decay` when it saves an optimizer.
        return {**super().get_config(), "exclude_from_weight_decay": list(self.not_decayed)}


@register
class ReplicatedLossScale(keras.optimizers.LossScaleOptimizer):
    """Keras' loss scaling for float16, which leaves out a step if a gradient of any replica
    overflows.

    Keras looks at the gradients of the first replica, before they are summed. Arguments as of
    `keras.optimizers.LossScaleOptimizer`.
    """

    @classmethod
    def from_scaled(cls, optimizer: keras.optimizers.LossScaleOptimizer) -> "ReplicatedLossScale":
        """Returns Keras' loss scaling of an optimizer as one of this class, which it may be."""
        if isinstance(optimizer, cls):
            return optimizer
        return cls(
            optimizer.inner_optimizer,
            initial_scale=optimizer.initial_scale,
            dynamic_growth_steps=optimizer.dynamic_growth_steps,
        )

    def apply(self, grads, trainable_variables=None):
        if is_on_several_replicas():
            grads = list(grads)
            is_finite = ops.cast(self.check_finite(grads), "int32")
            all_finite = sum_over_replicas(is_finite) == num_replicas()
            mark = ops.where(all_finite, 0.0, math.nan)
            # One number that is not finite is enough. The weights at the end, those of the head,
            # are small.
            last = max(index for index, gradient in enumerate(grads) if gradient is not None)
            grads[last] = grads[last] + ops.cast(mark, grads[last].dtype)
        super().apply(grads, trainable_variables)


@register
class BertAdamW(AppliedRule, keras.optimizers.AdamW):
    """Keras' AdamW with the constants of the original; biases and LayerNorm are not decayed.

    The exclusion is part of the configuration. Unlike the original's optimizer, Keras' corrects the
    bias of the moments.

    Args:
      learning_rate: a number or a schedule, such as `WarmupDecay`.
      weight_decay: decay of the variables that are not excluded, times the learning rate.
      global_clipnorm: largest norm of all gradients together.
      exclude_from_weight_decay: regular expressions, searched for in the names of variables
        ("kernel", "bias", ...), not in those of layers ("LayerNorm").
      kwargs: other arguments of `keras.optimizers.AdamW`.

    Examples:
        rate = WarmupDecay(2e-5, steps=1000, warmup_steps=100)
        optimizer = BertAdamW(rate, weight_decay=0.01)
        optimizer.get_config()["exclude_from_weight_decay"]
    """

    def __init__(
        self,
        learning_rate=5e-5,
        weight_decay: float = 0.01,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = EPSILON,
        global_clipnorm: float | None = 1.0,
        exclude_from_weight_decay: Sequence[str] = NOT_DECAYED,
        name: str = "bert_adamw",
        **kwargs,
    ):
        # Defaults of the original: epsilon 1e-6 (Keras has 1e-7), and gradients clipped to norm 1.
        super().__init__(
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            beta_1=beta_1,
            beta_2=beta_2,
            epsilon=epsilon,
            global_clipnorm=global_clipnorm,
            name=name,
            **kwargs,
        )
        self.exclude_from_weight_decay(var_names=exclude_from_weight_decay)

    def update_step(self, gradient, variable, learning_rate):
        if self.amsgrad:
            super().update_step(gradient, variable, learning_rate)
            return
        m_factor, v_factor = self._bias_corrections(variable.dtype)
        # Keras adds epsilon to the root that is not corrected.
        m_factor /= ops.sqrt(v_factor)
        factors = UpdateFactors(ops.cast(learning_rate, variable.dtype), m_factor, 1.0)
        decay_rate = self.weight_decay if self._use_weight_decay(variable) else None
        self._apply_rule(adamw_update, gradient, variable, factors, decay_rate)

    def _apply_weight_decay(self, variables):
        # Keras decays all weights before their updates: the rule does so in one pass.
        if self.amsgrad:
            super()._apply_weight_decay(variables)


@register
class BertLamb(AppliedRule, keras.optimizers.Lamb):
    """LAMB as MLPerf's BERT has it (arXiv 1904.00962), for large batches.

    `keras.optimizers.Lamb` differs: it scales the updates of biases and LayerNorm by their trust
    ratio too, and its weight decay is not part of the update that the ratio scales.

    Args:
      learning_rate: a number or a schedule; the length of an update, as a share of the length of
        the weight.
      weight_decay: decay of the variables that are not excluded.
      exclude_from_weight_decay: regular expressions, searched for in the names of variables, which
        have neither decay nor trust ratio.
      kwargs: other arguments of `keras.optimizers.Lamb`.

    Examples:
        optimizer = BertLamb(WarmupDecay(9.6e-4, steps=3680), weight_decay=0.1)
        optimizer.get_config()["weight_decay"]  # 0.1
    """

    def __init__(
        self,
        learning_rate=1e-3,
        weight_decay: float = 0.01,
        epsilon: float = EPSILON,
        global_clipnorm: float | None = 1.0,
        exclude_from_weight_decay: Sequence[str] = NOT_DECAYED,
        name: str = "bert_lamb",
        **kwargs,
    ):
        # Keras' own decay would come before the update.
        super().__init__(
            learning_rate=learning_rate,
            weight_decay=None,
            epsilon=epsilon,
            global_clipnorm=global_clipnorm,
            name=name,
            **kwargs,
        )
        self.decay_rate = weight_decay
        self.exclude_from_weight_decay(var_names=exclude_from_weight_decay)

    def update_step(self, gradient, variable, learning_rate):
        decay_rate = self.decay_rate if self._use_weight_decay(variable) else None
        rate = ops.cast(learning_rate, variable.dtype)
        factors = UpdateFactors(rate, *self._bias_corrections(variable.dtype))
        self._apply_rule(lamb_update, gradient, variable, factors, decay_rate)

    def get_config(self) -> dict:
        return {**super().get_config(), "weight_decay": self.decay_rate}


@register
class WarmupDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up to `learning_rate`, then one of `DECAYS` until `steps`; then the last rate.

    - linear: down to 0, as the original's `create_optimizer`. The decay runs over all steps, the
      warm-up included: at the end of the warm-up the rate jumps from almost `learning_rate` down to
      learning_rate * (1 - warmup_steps / steps).
    - cosine: from `learning_rate` at the end of the warm-up down to 0, half a period of a cosine
      (arXiv 1608.03983).
    - constant: `learning_rate` to the end.
    - wsd: warm-up, stable, decay: `learning_rate` until the last `decay_proportion` of the steps,
      then linearly down to 0 (arXiv 2405.18392). Until the decay begins the rates do not depend on
      `steps`.

    Step 0 of a warm-up has rate 0.

    Args:
      learning_rate: the highest rate.
      steps: of the whole training; batches, where an optimizer of Keras accumulates gradients.
      warmup_steps: usually a tenth of the steps.
      decay: one of `DECAYS`.
      decay_proportion: fraction of the steps in which "wsd" decays, above 0.

    Examples:
        rate = WarmupDecay(1e-4, steps=1000, warmup_steps=100, decay="cosine")
        [float(rate(step)) for step in (0, 50, 100, 1000)]                # 0, 5e-5, 1e-4, 0
    """

    def __init__(
        self,
        learning_rate: float,
        steps: int,
        warmup_steps: int = 0,
        decay: str = "linear",
        decay_proportion: float = 0.1,
    ):
        if decay not in DECAYS:
            raise UserError(f"decay={decay!r} is unknown: use one of {', '.join(DECAYS)}")
        self.learning_rate = learning_rate
        self.steps = steps
        self.warmup_steps = warmup_steps
        self.decay = decay
        self.decay_proportion = decay_proportion

    def __call__(self, step):
        """Returns the rate, float32 [], of the update from `step`, int [], to `step` + 1."""
        # Keras counts steps as integers; float32 is exact to 2^24 of them.
        step = ops.cast(step, "float32")
        if self.decay == "linear":
            factor = ops.maximum(1.0 - step / float(self.steps), 0.0)
        elif self.decay == "constant":
            factor = ops.ones_like(step)
        elif self.decay == "wsd":
            # The stable phase has a factor above 1 here, which is clipped.
            decay_steps = self.steps * self.decay_proportion
            factor = ops.clip((self.steps - step) / decay_steps, 0.0, 1.0)
        elif self.decay == "cosine":
            progress = (step - self.warmup_steps) / float(max(self.steps - self.warmup_steps, 1))
            factor = 0.5 * (1.0 + ops.cos(math.pi * ops.clip(progress, 0.0, 1.0)))
        else:
            raise ValueError(f"decay={self.decay!r} is unknown")
        rate = self.learning_rate * factor
        if not self.warmup_steps:
            return rate
        # Both branches are computed: `step` is a tensor, and a Python `if` would need its value.
        warmup_rate = self.learning_rate * (step / float(self.warmup_steps))
        return ops.where(step < self.warmup_steps, warmup_rate, rate)

    def get_config(self) -> dict:
        return {
            "learning_rate": self.learning_rate,
            "steps": self.steps,
            "warmup_steps": self.warmup_steps,
            "decay": self.decay,
            "decay_proportion": self.decay_proportion,
        }


# Saved optimizers name this class, so it can't be replaced by its base class.
@register
class WarmupLinearDecay(WarmupDecay):
    """`WarmupDecay` with the linear decay, under the name that saved models know.

    Examples:
        rate = WarmupLinearDecay(1e-4, steps=1000, warmup_steps=100)
        float(rate(500))                                                  # 5e-5
    """
