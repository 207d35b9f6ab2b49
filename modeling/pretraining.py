"""Pre-training (section 3.1 of the paper): the model, its two heads and their losses.

Input: records of masked sequence pairs; output: logits [B, P, V] and [B, 2].
"""

from collections.abc import Mapping, Sequence

import keras
from keras import ops

from bert_common.errors import UserError
from modeling.config import BertConfig
from modeling.dropout import DropoutStream
from modeling.layers import (
  LayerNorm,
  activation,
  add_bias,
  check_policy,
  dense,
  gather_positions,
  matmul_transposed,
  truncated_normal,
)
from modeling.losses import ClassLoss, HeadLoss, TokenLoss, example_weights
from modeling.saving import Configured, register
from modeling.task_model import BertTaskModel


def token_weights(features: dict):
  """Of the masked positions, float32 [B, P]."""
  return ops.cast(features["masked_lm_weights"], "float32") * example_weights(features)[:, None]


def sentence_weights(features: dict):
  """Of the sequences in the next-sentence loss, float32 [B]; of packed rows [B, K]."""
  weights = example_weights(features)
  if "next_sentence_weights" in features:
    return ops.cast(features["next_sentence_weights"], "float32") * weights[:, None]
  return weights


def sentence_labels(features: dict):
  """Of the next-sentence task, int [B]; of packed rows [B, K]."""
  labels = features["next_sentence_labels"]
  return labels if "next_sentence_weights" in features else ops.reshape(labels, (-1,))


def masked_lm_loss(mask_id: int | None = None) -> TokenLoss:
  """The loss of the masked tokens.

  Args:
    mask_id: of [MASK]. A fifth of the tokens to predict are left as they are or replaced by others (section A.1 of the
      paper), and those that are left can be copied; with it the predictions at [MASK] are counted by themselves, too.
      Features need "input_ids" int [B, S] and "masked_lm_positions" int [B, P] then.
  """
  def weights_at_mask(features: dict):
    positions = ops.cast(features["masked_lm_positions"], "int32")
    visible = ops.take_along_axis(ops.convert_to_tensor(features["input_ids"]), positions, axis=1)  # [B, P]
    return token_weights(features) * ops.cast(ops.equal(visible, mask_id), "float32")

  return TokenLoss("masked_lm", labels=lambda features: features["masked_lm_ids"], weights=token_weights,
                   parts={} if mask_id is None else {"at_mask": weights_at_mask})


MASKED_LM = masked_lm_loss()
NEXT_SENTENCE = ClassLoss("next_sentence", labels=sentence_labels, weights=sentence_weights)


@register
class MaskedLmHead(Configured, keras.layers.Layer):
  """Predicts the tokens at the masked positions.

  Variables: `dense`, `layer_norm`, output_bias [V]. The projection to the vocabulary is the word embedding table.
  """

  def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
    super().__init__(**kwargs)
    check_policy(self.dtype_policy)
    self.config = config
    self.seed = seed
    self._activation = activation(config.hidden_act)
    self.dense = dense(config, config.hidden_size, seed, "cls/predictions/transform/dense", name="dense",
                       dtype=self.dtype_policy)
    self.layer_norm = LayerNorm(config.layer_norm_epsilon, name="LayerNorm", dtype=self.dtype_policy)

  def build(self, input_shape=None):
    self.dense.build((None, self.config.hidden_size))
    self.layer_norm.build((None, self.config.hidden_size))
    self.output_bias = self.add_weight(
        shape=(self.config.vocab_size,), initializer="zeros", name="output_bias", autocast=False)

  def call(self, sequence_output, positions, word_embeddings):
    """Scores of the vocabulary at the masked positions.

    Args:
      sequence_output: [B, S, H].
      positions: int [B, P], each from 0 to S - 1; unused ones may hold anything in that range.
      word_embeddings: float [V, H], the encoder's table.

    Returns:
      float32 logits [B, P, V].
    """
    # P of S positions are asked for: gathering them first saves S / P of the largest product of the model.
    x = ops.reshape(gather_positions(sequence_output, positions), (-1, self.config.hidden_size))  # [B * P, H]
    logits = self.project(self.transform(x), word_embeddings, self.output_bias)  # [B * P, V]
    return ops.reshape(logits, (*ops.shape(positions), self.config.vocab_size))

  def transform(self, x):
    """What is projected to the vocabulary: [R, H] → [R, H]."""
    return self.layer_norm(self._activation(self.dense(x)))

  @staticmethod
  def project(x, word_embeddings, output_bias):
    """float [R, H], float [V, H] and float [V] → float32 logits [R, V]."""
    logits = matmul_transposed(x, ops.cast(word_embeddings, x.dtype))
    return add_bias(ops.cast(logits, "float32"), output_bias)


@register
class NextSentenceHead(Configured, keras.layers.Layer):
  """Predicts whether segment B follows segment A in the text. Computes in float32 under any policy.

  Variables: output_weights [2, H], output_bias [2].
  """

  def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
    super().__init__(**{**kwargs, "dtype": "float32"})
    self.config = config
    self.seed = seed

  def build(self, input_shape=None):
    initializer = truncated_normal(self.config.initializer_range, self.seed, "cls/seq_relationship/output_weights")
    self.output_weights = self.add_weight(
        shape=(2, self.config.hidden_size), initializer=initializer, name="output_weights")
    self.output_bias = self.add_weight(shape=(2,), initializer="zeros", name="output_bias")

  def call(self, pooled_output):
    """[..., H] → float32 logits [..., 2]: column 0 "is the next", column 1 "is a random one"."""
    flat = matmul_transposed(ops.reshape(pooled_output, (-1, self.config.hidden_size)), self.output_weights)
    return ops.reshape(add_bias(flat, self.output_bias), (*ops.shape(pooled_output)[:-1], 2))


@register
class BertForPreTraining(BertTaskModel):
  """Encoder, masked-LM head and next-sentence head; the arguments are those of `BertTaskModel`.

  Raises:
    UserError: the configuration is of a left-to-right model, which `BertForCausalLm` trains.

  Examples:
      config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=4)
      model = BertForPreTraining(config)
      features = {"input_ids": np.array([[2, 4, 8, 3, 9, 3]]), "masked_lm_positions": np.array([[1]])}
      outputs = model(features)
      {name: value.shape for name, value in outputs.items()}            # logits of the masked tokens and of the pair
  """

  # The paper's loss: mean over the predictions plus mean over the examples.
  head_losses = (MASKED_LM, NEXT_SENTENCE)
  _predicts_next_token = False

  def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
    super().__init__(config, seed=seed, **kwargs)
    if self.causal and not self._predicts_next_token:
      raise UserError("a left-to-right model (\"is_decoder\": true in its configuration) has not learnt to fill masks: "
                      "it predicts the next token, see BertForCausalLm")
    if self.bilstm is not None:
      raise UserError("bilstm_units: a BiLSTM is for fine-tuning, not for pre-training")
    self.masked_lm = MaskedLmHead(config, seed=seed, name="masked_lm", dtype=self.dtype_policy)
    self.next_sentence = NextSentenceHead(config, seed=seed, name="next_sentence")
    self.build_weights()

  @property
  def heads(self) -> dict[str, keras.layers.Layer]:
    return {"masked_lm": self.masked_lm, "next_sentence": self.next_sentence}

  def call(self, features: dict, *, dropout: DropoutStream | None = None, training: bool | None = None) -> dict:
    """Runs the model on a batch of pre-training records.

    Args:
      features: the encoder's inputs, "input_ids" [B, S] and so on, and int "masked_lm_positions" [B, P]; of rows that
        hold K sequences also int "next_sentence_positions" [B, K], where each begins. Other keys are ignored.
      dropout, training: as in `BertEncoder.call`.

    Returns:
      the encoder's outputs (see `BertEncoder.call`), "masked_lm_logits" float32 [B, P, V] and
      "next_sentence_logits" float32 [B, 2]; of packed rows [B, K, 2], and "pooled_output" is [B, K, H].
    """
    outputs = self.encode_sequences(features, dropout, training)
    return {
        **outputs,
        "masked_lm_logits": self.masked_lm(
            outputs["sequence_output"], features["masked_lm_positions"],
            ops.convert_to_tensor(self.encoder.embeddings.word_embeddings)),
        "next_sentence_logits": self.next_sentence(outputs["pooled_output"]),
    }

  def encode_sequences(self, features: dict, dropout: DropoutStream | None = None,
                       training: bool | None = None) -> dict:
    """As `encode`; of packed rows "pooled_output" is [B, K, H], one for each of the K sequences of a row."""
    outputs = self.encode(features, dropout, training)
    if "next_sentence_positions" in features:
      positions = ops.convert_to_tensor(features["next_sentence_positions"])
      if self.causal:
        is_mine = features["sequence_ids"][:, None, :] == ops.arange(1, positions.shape[1] + 1)[:, None]  # [B, K, S]
        positions = ops.argmax(ops.cast(is_mine, "int32") * ops.arange(is_mine.shape[2], dtype="int32"), axis=-1)
      outputs["pooled_output"] = self.encoder.pool(gather_positions(outputs["sequence_output"], positions))
    return outputs

  def head_logits(self, outputs: dict) -> dict:
    return {loss.name: outputs[f"{loss.name}_logits"] for loss in self.head_losses}

  def compile_defaults(self) -> dict:
    """The losses and metrics by the names of the heads, as `fit_batch` gives labels and weights."""
    each = {loss.name: loss.compile_defaults() for loss in self.head_losses}
    return {argument: {name: defaults[argument] for name, defaults in each.items()}
            for argument in ("loss", "weighted_metrics")}

  def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
    """As in Keras; losses are given by the names in `head_losses`, for the logits only."""
    return super().compute_loss(x, y, self.head_logits(y_pred), sample_weight, training)

  def compute_metrics(self, x, y, y_pred, sample_weight=None):
    """As in Keras; metrics are given by the names in `head_losses`, for the logits only."""
    return super().compute_metrics(x, y, self.head_logits(y_pred), sample_weight)

  @classmethod
  def fit_batch(cls, features: dict) -> tuple[dict, dict, dict]:
    """Records as `fit` takes them: `dataset.map(BertForPreTraining.fit_batch)`.

    Args:
      features: the inputs of the model, "masked_lm_ids" int [B, P], "masked_lm_weights" float [B, P] (0 where the
        prediction is unused), "next_sentence_labels" int [B] or [B, 1], and optionally "is_real_example" [B], 0 for
        padding examples; of packed rows "next_sentence_labels" int [B, K] and "next_sentence_weights" float [B, K].

    Returns:
      inputs, labels and weights; the last two by the names of the heads, "masked_lm" and "next_sentence".
    """
    return (features, {loss.name: loss.labels(features) for loss in cls.head_losses},
            {loss.name: loss.weights(features) for loss in cls.head_losses})


def pretraining_sums(outputs: dict, features: dict, losses: Sequence[HeadLoss] = (MASKED_LM, NEXT_SENTENCE)) -> dict:
  """Adds up the losses and metrics of a batch, see `HeadLoss.sums`.

  Args:
    outputs: "masked_lm_logits" float32 [B, P, V], "next_sentence_logits" float32 [B, 2]; of packed rows [B, K, 2].
    features: as for `BertForPreTraining.fit_batch`.
    losses: of both heads; those of the model unless others are given.
  """
  return {name: value for loss in losses
          for name, value in loss.sums(outputs[f"{loss.name}_logits"], features).items()}


def pretraining_metrics(sums: Mapping[str, float], losses: Sequence[HeadLoss]) -> dict[str, float]:
  """"loss", the sum of these losses, and the metrics of each as "<name>_<metric>", from sums over any batches."""
  metrics = {f"{loss.name}_{metric}": value for loss in losses for metric, value in loss.metrics(sums).items()}
  return {"loss": sum(metrics[f"{loss.name}_loss"] for loss in losses), **metrics}
