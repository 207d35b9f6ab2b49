"""Which of several endings continues a text best (section 4.4 of the paper): the model, its head and its loss.

Input: ids [B, K, S] of every text with each of its K endings; output: logits [B, K]. Where questions have different
numbers of choices, nothing is computed for those that are not there.
"""

import dataclasses
from collections.abc import Mapping

import keras
from keras import ops

from modeling.config import HEAD_DROPOUT, BertConfig
from modeling.dropout import DropoutStream
from modeling.encoder import encoder_inputs
from modeling.losses import ClassLoss
from modeling.saving import register
from modeling.task_model import BertTaskModel, LinearHead

# The logit of a choice that is not there: its probability is 0, and so is its gradient.
MISSING = -1e9
# In training the number of sequences is rounded up to one of so many values: the functions that XLA fuses
# (`modeling/layers.py`) are compiled for each of them.
_SIZES = 16
# "label_ids" int [B] are the numbers of the right choices.
CHOICE = ClassLoss("multiple_choice")


@register
class MultipleChoiceHead(LinearHead):
  """A score for every choice."""

  key = "multiple_choice"
  _arguments = ("seed", "dropout_rate")

  def __init__(self, config: BertConfig, *, seed: int = 0, dropout_rate: float = HEAD_DROPOUT, **kwargs):
    super().__init__(config, 1, seed=seed, dropout_rate=dropout_rate, **kwargs)

  def call(self, pooled_output, *, choices: int = 1, dropout: DropoutStream | None = None,
           training: bool | None = None):
    """[B * choices, H], the choices of an example side by side → float32 logits [B, choices]."""
    return ops.reshape(super().call(pooled_output, dropout=dropout, training=training), (-1, choices))


@register
class BertForMultipleChoice(BertTaskModel):
  """Encoder and multiple-choice head.

  Args:
    config: sizes, rates, activation.
    head_dropout: dropout rate of the head's input.
    kwargs: as in `BertTaskModel`.

  Examples:
      config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=4)
      model = BertForMultipleChoice(config)
      features = {"input_ids": np.array([[[2, 7, 3, 8, 3], [2, 7, 3, 9, 3]]])}  # 1 example, 2 choices, 5 tokens
      model(features).shape                                             # (1, 2): logits
      float(CrossEntropy()(np.array([1]), model(features)))
  """

  head_losses = (CHOICE,)
  _heads = {"multiple_choice": "multiple_choice"}
  _arguments = (*BertTaskModel._arguments, "head_dropout")

  def __init__(self, config: BertConfig, *, seed: int = 0, head_dropout: float = HEAD_DROPOUT, **kwargs):
    super().__init__(config, seed=seed, **kwargs)
    self.head_dropout = head_dropout
    self.multiple_choice = MultipleChoiceHead(config, seed=seed, dropout_rate=head_dropout)
    self.build()

  def call(self, features, *, dropout: DropoutStream | None = None, training: bool | None = None,
           skip_missing: bool = True):
    """Scores the choices of a batch.

    Args:
      features: as for `BertForClassification`, but each input [B, K, S]: sequence k of an example is its text with
        ending k. K must be known while a graph is made. Where examples have different numbers of choices, also
        "num_choices" int [B], each at least 1: those from that number on do not exist, whatever their ids are. With it
        `dropout` needs "first_choice" int [B], the number of choices of the examples before in the global batch.
      dropout: the stream of a step of our own training loop; its first example is counted in examples, not choices.
      training: as in `BertEncoder.call`.
      skip_missing: leave out the choices that do not exist; false where XLA compiles the model, which needs to know all
        sizes, as it does under other backends than TensorFlow. The logits are the same.

    Returns:
      float32 logits [B, K]; `MISSING` for choices that do not exist.
    """
    inputs = {name: value for name, value in encoder_inputs(features).items() if value is not None}
    num_choices = features.get("num_choices") if isinstance(features, Mapping) else None
    if num_choices is not None and skip_missing and keras.backend.backend() == "tensorflow":
      return self._score_existing(inputs, num_choices, features.get("first_choice"), dropout, training)
    choices, length = ops.shape(inputs["input_ids"])[1:]
    batch = inputs["input_ids"].shape[0]
    rows = -1 if batch is None else batch * choices
    flat = {name: ops.reshape(value, (rows, length)) for name, value in inputs.items()}
    if dropout is not None:
      dropout = dataclasses.replace(dropout, first_example=dropout.first_example * choices)
    pooled = self.encode(flat, dropout, training)["pooled_output"]
    logits = self.multiple_choice(pooled, choices=choices, dropout=dropout, training=training)
    if num_choices is None:
      return logits
    return ops.where(ops.arange(choices) < ops.cast(num_choices, "int32")[:, None], logits, MISSING)

  def scores(self, features):
    """Scores of choices one by one: features [N, S] as for `BertForClassification` → float32 [N].

    The softmax of those of an example gives the probabilities of its choices.
    """
    return self.multiple_choice(self.encode(features)["pooled_output"], choices=1)[:, 0]

  def _score_existing(self, inputs: dict, num_choices, first_choice, dropout: DropoutStream | None,
                      training: bool | None):
    """The logits, of sequences that are taken out of [B, K, S] first; needs Keras' TensorFlow backend."""
    import tensorflow as tf

    batch, choices, length = tf.unstack(tf.shape(inputs["input_ids"]))
    is_there = tf.range(choices) < tf.cast(num_choices, tf.int32)[:, None]  # [B, K]
    places = tf.where(is_there)  # [N, 2]
    rows = tf.cast(places[:, 0], tf.int32) * choices + tf.cast(places[:, 1], tf.int32)
    count = tf.shape(rows)[0]
    if dropout is not None or training:
      step = -(-batch * choices // _SIZES)
      rows = tf.concat([rows, tf.zeros([-count % step], tf.int32)], 0)
    if dropout is not None:
      dropout = dataclasses.replace(dropout, first_example=tf.cast(first_choice[0], tf.int64))
    flat = {name: tf.gather(tf.reshape(value, [-1, length]), rows) for name, value in inputs.items()}
    pooled = self.encode(flat, dropout, training)["pooled_output"]
    scores = self.multiple_choice(pooled, choices=1, dropout=dropout, training=training)[:count, 0]
    logits = tf.tensor_scatter_nd_update(tf.fill([batch, choices], MISSING), places, scores)
    return tf.ensure_shape(logits, inputs["input_ids"].shape[:2])
