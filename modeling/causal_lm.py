"""Left-to-right pre-training (section 5.1 and figure 5 of the paper): every position predicts the token that follows.

Input: the records of masked-LM pre-training, whose masks are undone; output: logits [B, S, V] and [B, 2], or the sums
that loss and metrics are made of, for which the logits of all positions never exist at once.

The weights are those of `BertForPreTraining`: the masked-LM head predicts the next token, as in GPT and in Hugging
Face's `BertLMHeadModel`. Packed rows stay what they are: no position sees, or predicts, a token of another sequence.
"""

from keras import ops

from bert_common.errors import UserError
from modeling.config import BertConfig
from modeling.dropout import DropoutStream
from modeling.losses import TokenLoss, example_weights
from modeling.portions import sums_in_portions
from modeling.pretraining import NEXT_SENTENCE, BertForPreTraining
from modeling.saving import register

# Logits of a portion of rows, at most so many numbers (64 MiB): a few hundred rows of the usual vocabulary, enough for
# matrix products at full speed.
_PORTION_SIZE = 2**24


def restore_tokens(features: dict) -> dict:
  """Features of records with the text as it was: "input_ids" with the tokens that masking has hidden or replaced.

  Args:
    features: int "input_ids" [B, S], "masked_lm_positions" and "masked_lm_ids" [B, P], float "masked_lm_weights" [B, P]
      (0 where there is no prediction); without these three the ids are the text already.
  """
  if "masked_lm_positions" not in features:
    return features
  ids = ops.convert_to_tensor(features["input_ids"])
  is_used = ops.convert_to_tensor(features["masked_lm_weights"]) > 0  # [B, P]
  truth = ops.where(is_used, ops.cast(features["masked_lm_ids"], ids.dtype), -1)
  at_position = ops.equal(ops.cast(features["masked_lm_positions"], "int32")[:, :, None],
                          ops.arange(ids.shape[1], dtype="int32"))  # [B, P, S]
  hidden = ops.max(ops.where(at_position, truth[:, :, None], -1), axis=1)  # [B, S], -1 where nothing was hidden
  return {**features, "input_ids": ops.where(hidden >= 0, hidden, ids)}


def next_tokens(features: dict) -> tuple:
  """What every position is to predict.

  Args:
    features: int "input_ids" [B, S], and as far as given "input_mask", "sequence_ids" and "is_real_example", as in
      `BertEncoder.call` and `BertForPreTraining.fit_batch`.

  Returns:
    int [B, S], the ids that follow, and float32 [B, S], 1 where a token of the same sequence follows, else 0: at the
    last token of a sequence, in padding and in padding examples.
  """
  ids = ops.convert_to_tensor(features["input_ids"])
  follows = ops.ones_like(ids[:, 1:], dtype="bool")
  if features.get("input_mask") is not None:
    is_token = ops.cast(features["input_mask"], "bool")
    follows = ops.logical_and(is_token[:, :-1], is_token[:, 1:])
  if features.get("sequence_ids") is not None:
    sequences = ops.convert_to_tensor(features["sequence_ids"])
    follows = ops.logical_and(follows, ops.equal(sequences[:, :-1], sequences[:, 1:]))
  weights = ops.cast(follows, "float32") * example_weights(features)[:, None]
  return ops.pad(ids[:, 1:], ((0, 0), (0, 1))), ops.pad(weights, ((0, 0), (0, 1)))


NEXT_TOKEN = TokenLoss("next_token", labels=lambda features: next_tokens(restore_tokens(features))[0],
                       weights=lambda features: next_tokens(features)[1])


@register
class BertForCausalLm(BertForPreTraining):
  """A left-to-right encoder, masked-LM head and next-sentence head; the arguments are those of `BertTaskModel`.

  Raises:
    UserError: the configuration is of a bidirectional model, whose positions would see what they predict.

  Examples:
      config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, causal=True)
      model = BertForCausalLm(config)
      outputs = model({"input_ids": np.array([[2, 4, 8, 3]])})
      outputs["next_sentence_logits"].shape                             # (1, 2)
  """

  head_losses = (NEXT_TOKEN, NEXT_SENTENCE)
  _predicts_next_token = True

  def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
    super().__init__(config, seed=seed, **kwargs)
    if not self.causal:
      raise UserError("BertForCausalLm needs a left-to-right model: \"is_decoder\": true in bert_config.json, or "
                      "BertConfig(causal=True)")

  def call(self, features, *, dropout: DropoutStream | None = None, training: bool | None = None) -> dict:
    """Scores the vocabulary at every position.

    Args:
      features: as in `BertForClassification.call`.
      dropout, training: as in `BertEncoder.call`.

    Returns:
      the encoder's outputs (see `BertEncoder.call`), "next_token_logits" float32 [B, S, V], at position i those of the
      token at i + 1, and "next_sentence_logits" float32 [B, 2].
    """
    outputs = self.encode_sequences(features, dropout, training)
    x = outputs["sequence_output"]
    batch, length = ops.shape(x)[:2]
    everywhere = ops.broadcast_to(ops.arange(length, dtype="int32"), (batch, length))
    return {
        **outputs,
        "next_token_logits": self.masked_lm(
            x, everywhere, ops.convert_to_tensor(self.encoder.embeddings.word_embeddings)),
        "next_sentence_logits": self.next_sentence(outputs["pooled_output"]),
    }

  @classmethod
  def fit_batch(cls, features: dict) -> tuple[dict, dict, dict]:
    """Records as `fit` takes them, see `BertForPreTraining.fit_batch`; the masks are undone."""
    return super().fit_batch(restore_tokens(features))

  def sums(self, features: dict, dropout: DropoutStream | None = None) -> dict:
    """Adds up the losses and metrics of a batch, see `HeadLoss.sums`; needs Keras' TensorFlow backend.

    Of the logits never more than a portion exists: with a dropout stream, as in training, the gradients of a portion
    are computed at once, so that nothing of it is kept for later.

    Args:
      features: as for `fit_batch`.
      dropout: as in `BertEncoder.call`.
    """
    features = restore_tokens(features)
    labels, weights = next_tokens(features)
    outputs = self.encode_sequences(features, dropout)
    token_sums = self._next_token_sums(outputs["sequence_output"], labels, weights, with_gradients=dropout is not None)
    return {**token_sums, **NEXT_SENTENCE.sums(self.next_sentence(outputs["pooled_output"]), features)}

  def _next_token_sums(self, sequence_output, labels, weights, with_gradients: bool) -> dict:
    """The sums over the positions that predict; [B, S, H], int [B, S] and float32 [B, S]."""
    import tensorflow as tf

    head = self.masked_lm
    names = [f"next_token_{what}" for what in ("loss_sum", "count", "correct")]
    labels, weights = tf.reshape(labels, [-1]), tf.reshape(weights, [-1])
    total = labels.shape[0] or tf.shape(labels)[0]
    portion = max(1, _PORTION_SIZE // self.config.vocab_size)
    size = min(total, portion) if isinstance(total, int) else tf.minimum(total, portion)
    # Positions that predict something come first: nothing is computed for the others. The last portion is filled with
    # rows of weight 0.
    order = tf.argsort(tf.cast(tf.equal(weights, 0.0), tf.int32), stable=True)
    count = (tf.math.count_nonzero(weights, dtype=tf.int32) + size - 1) // size
    fill = tf.zeros([-total % size], tf.int32)
    order = tf.concat([order, fill], 0)
    weights = tf.concat([tf.gather(weights, order[:total]), tf.cast(fill, tf.float32)], 0)
    x = head.transform(tf.gather(tf.reshape(sequence_output, [-1, self.config.hidden_size]), order))

    def sums(x, labels, weights, *parameters):
      found = NEXT_TOKEN.sums_of_rows(head.project(x, *parameters), labels, weights)
      return tuple(found[name] for name in names)

    parameters = tuple(tf.convert_to_tensor(variable.value) for variable in (
        self.encoder.embeddings.word_embeddings, head.output_bias))
    return dict(zip(names, sums_in_portions(sums, len(names), x, (tf.gather(labels, order), weights), parameters, size,
                                            count, with_gradients), strict=True))
