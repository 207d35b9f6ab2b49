"""AdamW and its learning rates for Keras' `fit`, set up as fine-tuning BERT needs them (section A.3 of the paper).

Our own training loop uses `training/optimization.py`, the original's optimizer, which has no bias correction.
"""

from collections.abc import Sequence

import keras
from keras import ops

from modeling.saving import register

# Names of variables: biases, and gamma and beta of every LayerNorm.
NOT_DECAYED = ("bias", "gamma", "beta")


@register
class BertAdamW(keras.optimizers.AdamW):
  """Keras' AdamW with the constants of the original; biases and LayerNorm are not decayed.

  Keras' own `exclude_from_weight_decay` is forgotten when a model is saved; here the exclusion is part of
  the configuration. Unlike the original's optimizer, Keras' corrects the bias of the moments.

  Args:
    learning_rate: a number or a schedule, such as `WarmupLinearDecay`.
    weight_decay: decay of the variables that are not excluded, times the learning rate.
    exclude_from_weight_decay: regular expressions, searched for in the names of variables ("kernel", "bias", ...).
    global_clipnorm: largest norm of all gradients together.
    kwargs: other arguments of `keras.optimizers.AdamW`.
  """

  def __init__(self, learning_rate=5e-5, weight_decay: float = 0.01, beta_1: float = 0.9, beta_2: float = 0.999,
               epsilon: float = 1e-6, global_clipnorm: float | None = 1.0,
               exclude_from_weight_decay: Sequence[str] = NOT_DECAYED, name: str = "bert_adamw", **kwargs):
    super().__init__(learning_rate=learning_rate, weight_decay=weight_decay, beta_1=beta_1, beta_2=beta_2,
                     epsilon=epsilon, global_clipnorm=global_clipnorm, name=name, **kwargs)
    self.not_decayed = tuple(exclude_from_weight_decay)
    self.exclude_from_weight_decay(var_names=list(self.not_decayed))

  def get_config(self) -> dict:
    return {**super().get_config(), "exclude_from_weight_decay": list(self.not_decayed)}


@register
class WarmupLinearDecay(keras.optimizers.schedules.LearningRateSchedule):
  """Linear warm-up to `learning_rate`, then linear decay to 0 at `steps`, as the original's `create_optimizer`.

  The decay runs over all steps, the warm-up included: at the end of the warm-up the rate jumps from almost
  `learning_rate` down to learning_rate * (1 - warmup_steps / steps). Step 0 of a warm-up has rate 0.

  Args:
    learning_rate: the highest rate.
    steps: of the whole training.
    warmup_steps: of them, usually a tenth.
  """

  def __init__(self, learning_rate: float, steps: int, warmup_steps: int = 0):
    self.learning_rate = learning_rate
    self.steps = steps
    self.warmup_steps = warmup_steps

  def __call__(self, step):
    """int [] → float32 []."""
    step = ops.cast(step, "float32")
    decayed = self.learning_rate * ops.maximum(1.0 - step / self.steps, 0.0)
    if not self.warmup_steps:
      return decayed
    return ops.where(step < self.warmup_steps, self.learning_rate * step / self.warmup_steps, decayed)

  def get_config(self) -> dict:
    return {"learning_rate": self.learning_rate, "steps": self.steps, "warmup_steps": self.warmup_steps}
