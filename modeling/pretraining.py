"""Pre-training (section 3.1 of the paper) and its left-to-right form (section 5.1, figure 5):
models, heads and losses.

Input: records of masked sequence pairs; output: logits [B, P, V] of the masked tokens and [B, 2] of
the pair. A left-to-right model predicts the next token at every position: logits [B, S, V], or the
sums that loss and metrics are made of, for which the logits of all positions never exist at once.
"""

from collections.abc import Callable, Mapping, Sequence

import keras
from keras import ops

from bert_common.errors import UserError
from modeling.config import BertConfig
from modeling.dropout import DropoutStream
from modeling.layers import (
    LayerNorm,
    activation,
    add_bias,
    dense,
    gather_positions,
    matmul_transposed,
)
from modeling.losses import HeadLoss, TokenLoss, example_weights
from modeling.saving import Configured, needs_tensorflow, register
from modeling.task_model import BertTaskModel, LinearHead

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf


def masked_lm_loss(mask_id: int | None = None) -> TokenLoss:
    """The loss of the masked tokens.

    Args:
      mask_id: of [MASK]. A fifth of the tokens to predict are left as they are or replaced by
        others (section A.1 of the paper), and those that are left can be copied; with it the
        predictions at [MASK] are counted by themselves, too. Features need "input_ids" int [B, S]
        and "masked_lm_positions" int [B, P] then.
    """

    def weights(features: dict):
        return (
            ops.cast(features["masked_lm_weights"], "float32") * example_weights(features)[:, None]
        )  # [B, P]

    def weights_at_mask(features: dict):
        positions = ops.cast(features["masked_lm_positions"], "int32")
        visible = ops.take_along_axis(
            ops.convert_to_tensor(features["input_ids"]), positions, axis=1
        )  # [B, P]
        return weights(features) * ops.cast(ops.equal(visible, mask_id), "float32")

    return TokenLoss(
        "masked_lm",
        labels=lambda features: features["masked_lm_ids"],
        weights=weights,
        parts={} if mask_id is None else {"at_mask": weights_at_mask},
    )


MASKED_LM = masked_lm_loss()
# Labels int [B] and weights float32 [B]; of packed rows [B, K].
NEXT_SENTENCE = HeadLoss(
    "next_sentence",
    labels=lambda features: (
        features["next_sentence_labels"]
        if "next_sentence_weights" in features
        else ops.reshape(features["next_sentence_labels"], (-1,))
    ),
    weights=lambda features: (
        ops.cast(features["next_sentence_weights"], "float32") * example_weights(features)[:, None]
        if "next_sentence_weights" in features
        else example_weights(features)
    ),
)


@register
class MaskedLmHead(Configured, keras.layers.Layer):
    """Predicts the tokens at the masked positions.

    Variables: `dense`, `layer_norm`, output_bias [V]. The projection to the vocabulary is the word
    embedding table.
    """

    def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
        super().__init__(**kwargs)
        self.config = config
        self.seed = seed
        self._activation = activation(config.hidden_act)
        self.dense = dense(
            config,
            config.hidden_size,
            seed,
            "cls/predictions/transform/dense",
            name="dense",
            dtype=self.dtype_policy,
        )
        self.layer_norm = LayerNorm(
            config.layer_norm_epsilon, name="LayerNorm", dtype=self.dtype_policy
        )

    def build(self, input_shape=None):
        self.dense.build((None, self.config.hidden_size))
        self.layer_norm.build((None, self.config.hidden_size))
        self.output_bias = self.add_weight(
            shape=(self.config.vocab_size,), initializer="zeros", name="output_bias", autocast=False
        )

    def call(self, sequence_output, positions, word_embeddings):
        """Scores of the vocabulary at the masked positions.

        Args:
          sequence_output: [B, S, H].
          positions: int [B, P], each from 0 to S - 1; unused ones may hold anything in that range.
          word_embeddings: float [V, H], the encoder's table.

        Returns:
          float32 logits [B, P, V].
        """
        # P of S positions are asked for: gathering them first saves S / P of the largest product of
        # the model.
        x = ops.reshape(
            gather_positions(sequence_output, positions), (-1, self.config.hidden_size)
        )  # [B * P, H]
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
class NextSentenceHead(LinearHead):
    """Predicts whether segment B follows segment A in the text: column 0 "is the next", column 1
    "is a random one"."""

    key, _seeded_as = "next_sentence", "cls/seq_relationship"
    _arguments = ("seed",)

    def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
        super().__init__(config, 2, seed=seed, dropout_rate=None, **kwargs)


@register
class BertForPreTraining(BertTaskModel):
    """Encoder, masked-LM head and next-sentence head; the arguments are those of `BertTaskModel`.

    Raises:
      UserError: the configuration is of a left-to-right model, which `BertForCausalLm` trains.

    Examples:
        config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1,
        num_attention_heads=4) model = BertForPreTraining(config)
        features = {"input_ids": np.array([[2, 4, 8, 3, 9, 3]]), "masked_lm_positions":
        np.array([[1]])} outputs = model(features)
        {name: value.shape for name, value in outputs.items()}            # logits of the masked
        tokens and of the pair
    """

    # The paper's loss: mean over the predictions plus mean over the examples.
    head_losses = (MASKED_LM, NEXT_SENTENCE)
    _heads = {"masked_lm": "masked_lm", "next_sentence": "next_sentence"}
    _predicts_next_token = False

    def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
        super().__init__(config, seed=seed, **kwargs)
        if self.causal and not self._predicts_next_token:
            raise UserError(
                'a left-to-right model ("is_decoder": true in its configuration) has not learnt to fill masks: '
                "it predicts the next token, see BertForCausalLm"
            )
        if self.bilstm is not None:
            raise UserError("bilstm_units: a BiLSTM is for fine-tuning, not for pre-training")
        self.masked_lm = MaskedLmHead(config, seed=seed, name="masked_lm", dtype=self.dtype_policy)
        self.next_sentence = NextSentenceHead(config, seed=seed, name="next_sentence")
        self.build()

    def call(
        self, features, *, dropout: DropoutStream | None = None, training: bool | None = None
    ) -> dict:
        """Runs the model on a batch of pre-training records.

        Args:
          features: the encoder's inputs, "input_ids" [B, S] and so on, and int
            "masked_lm_positions" [B, P]; of rows that hold K sequences also int
            "next_sentence_positions" [B, K], where each begins. Other keys are ignored.
          dropout, training: as in `BertEncoder.call`.

        Returns:
          the encoder's outputs (see `BertEncoder.call`), "masked_lm_logits" float32 [B, P, V] and
          "next_sentence_logits" float32 [B, 2]; of packed rows [B, K, 2], and "pooled_output" is
          [B, K, H]. Of a left-to-right model "next_token_logits" float32 [B, S, V] come first, at
          position i those of the token at i + 1.
        """
        outputs = self.encode_sequences(features, dropout, training)
        x = outputs["sequence_output"]
        if self._predicts_next_token:
            batch, length = ops.shape(x)[:2]
            positions = ops.broadcast_to(ops.arange(length, dtype="int32"), (batch, length))
        else:
            positions = features["masked_lm_positions"]
        return {
            **outputs,
            f"{self.head_losses[0].name}_logits": self.masked_lm(
                x, positions, ops.convert_to_tensor(self.encoder.embeddings.word_embeddings)
            ),
            "next_sentence_logits": self.next_sentence(outputs["pooled_output"]),
        }

    def encode_sequences(
        self, features: dict, dropout: DropoutStream | None = None, training: bool | None = None
    ) -> dict:
        """As `encode`; of packed rows "pooled_output" is [B, K, H], one for each of the K sequences
        of a row."""
        outputs = self.encode(features, dropout, training)
        if "next_sentence_positions" in features:
            positions = ops.convert_to_tensor(features["next_sentence_positions"])
            if self.causal:
                is_mine = (
                    features["sequence_ids"][:, None, :]
                    == ops.arange(1, positions.shape[1] + 1)[:, None]
                )  # [B, K, S]
                positions = ops.argmax(
                    ops.cast(is_mine, "int32") * ops.arange(is_mine.shape[2], dtype="int32"),
                    axis=-1,
                )
            outputs["pooled_output"] = self.encoder.pool(
                gather_positions(outputs["sequence_output"], positions)
            )
        return outputs

    def head_logits(self, outputs: dict) -> dict:
        return {loss.name: outputs[f"{loss.name}_logits"] for loss in self.head_losses}

    def compile_defaults(self) -> dict:
        """The losses and metrics by the names of the heads, as `fit_batch` gives labels and
        weights."""
        each = {loss.name: loss.compile_defaults() for loss in self.head_losses}
        return {
            argument: {name: defaults[argument] for name, defaults in each.items()}
            for argument in ("loss", "weighted_metrics")
        }

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
          features: the inputs of the model, "masked_lm_ids" int [B, P], "masked_lm_weights" float
            [B, P] (0 where the prediction is unused), "next_sentence_labels" int [B] or [B, 1], and
            optionally "is_real_example" [B], 0 for padding examples; of packed rows
            "next_sentence_labels" int [B, K] and "next_sentence_weights" float [B, K].

        Returns:
          inputs, labels and weights; the last two by the names of the heads, "masked_lm" and
          "next_sentence".
        """
        return (
            features,
            {loss.name: loss.labels(features) for loss in cls.head_losses},
            {loss.name: loss.weights(features) for loss in cls.head_losses},
        )


def pretraining_sums(
    outputs: dict, features: dict, losses: Sequence[HeadLoss] = (MASKED_LM, NEXT_SENTENCE)
) -> dict:
    """Adds up the losses and metrics of a batch, see `HeadLoss.sums`, of outputs of
    `BertForPreTraining` and features as its `fit_batch` takes."""
    return {
        name: value
        for loss in losses
        for name, value in loss.sums(outputs[f"{loss.name}_logits"], features).items()
    }


def pretraining_metrics(sums: Mapping[str, float], losses: Sequence[HeadLoss]) -> dict[str, float]:
    """ "loss", the sum of these losses, and the metrics of each as "<name>_<metric>", from sums
    over any batches."""
    metrics = {
        f"{loss.name}_{metric}": value
        for loss in losses
        for metric, value in loss.metrics(sums).items()
    }
    return {"loss": sum(metrics[f"{loss.name}_loss"] for loss in losses), **metrics}


# Logits of a portion of rows, at most so many numbers (64 MiB): a few hundred rows of the usual
# vocabulary, enough for matrix products at full speed.
_PORTION_SIZE = 2**24


def restore_tokens(features: dict) -> dict:
    """Features of records with the text as it was: "input_ids" with the tokens that masking has
    hidden or replaced.

    Args:
      features: int "input_ids" [B, S], "masked_lm_positions" and "masked_lm_ids" [B, P], float
        "masked_lm_weights" [B, P] (0 where there is no prediction); without these three the ids are
        the text already.
    """
    if "masked_lm_positions" not in features:
        return features
    ids = ops.convert_to_tensor(features["input_ids"])
    is_used = ops.convert_to_tensor(features["masked_lm_weights"]) > 0  # [B, P]
    truth = ops.where(is_used, ops.cast(features["masked_lm_ids"], ids.dtype), -1)
    at_position = ops.equal(
        ops.cast(features["masked_lm_positions"], "int32")[:, :, None],
        ops.arange(ids.shape[1], dtype="int32"),
    )  # [B, P, S]
    hidden = ops.max(
        ops.where(at_position, truth[:, :, None], -1), axis=1
    )  # [B, S], -1 where nothing was hidden
    return {**features, "input_ids": ops.where(hidden >= 0, hidden, ids)}


def next_tokens(features: dict) -> tuple:
    """What every position is to predict.

    Args:
      features: int "input_ids" [B, S], and as far as given "input_mask", "sequence_ids" and
        "is_real_example", as in `BertEncoder.call` and `BertForPreTraining.fit_batch`.

    Returns:
      int [B, S], the ids that follow, and float32 [B, S], 1 where a token of the same sequence
      follows, else 0: at the last token of a sequence, in padding and in padding examples.
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


NEXT_TOKEN = TokenLoss(
    "next_token",
    labels=lambda features: next_tokens(restore_tokens(features))[0],
    weights=lambda features: next_tokens(features)[1],
)


@register
class BertForCausalLm(BertForPreTraining):
    """A left-to-right encoder, masked-LM head and next-sentence head; the arguments are those of
    `BertTaskModel`.

    Raises:
      UserError: the configuration is of a bidirectional model, whose positions would see what they
        predict.

    Examples:
        config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1,
        num_attention_heads=4, causal=True) model = BertForCausalLm(config)
        outputs = model({"input_ids": np.array([[2, 4, 8, 3]])})
        outputs["next_sentence_logits"].shape                             # (1, 2)
    """

    head_losses = (NEXT_TOKEN, NEXT_SENTENCE)
    _predicts_next_token = True

    def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
        super().__init__(config, seed=seed, **kwargs)
        if not self.causal:
            raise UserError(
                'BertForCausalLm needs a left-to-right model: "is_decoder": true in bert_config.json, or '
                "BertConfig(causal=True)"
            )

    @classmethod
    def fit_batch(cls, features: dict) -> tuple[dict, dict, dict]:
        """Records as `fit` takes them, see `BertForPreTraining.fit_batch`; the masks are undone."""
        return super().fit_batch(restore_tokens(features))

    def sums(self, features: dict, dropout: DropoutStream | None = None) -> dict:
        """Adds up the losses and metrics of a batch, see `HeadLoss.sums`; needs Keras' TensorFlow
        backend.

        Of the logits never more than a portion exists: with a dropout stream, as in training, the
        gradients of a portion are computed at once, so that nothing of it is kept for later.

        Args:
          features: as for `fit_batch`.
          dropout: as in `BertEncoder.call`.
        """
        needs_tensorflow("BertForCausalLm.sums")
        features = restore_tokens(features)
        labels, weights = next_tokens(features)
        outputs = self.encode_sequences(features, dropout)
        head = self.masked_lm
        names = [f"next_token_{what}" for what in ("loss_sum", "count", "correct")]
        labels, weights = tf.reshape(labels, [-1]), tf.reshape(weights, [-1])
        total = labels.shape[0] or tf.shape(labels)[0]
        portion = max(1, _PORTION_SIZE // self.config.vocab_size)
        size = min(total, portion) if isinstance(total, int) else tf.minimum(total, portion)
        # Positions that predict something come first: nothing is computed for the others. The last
        # portion is filled with rows of weight 0.
        order = tf.argsort(tf.cast(tf.equal(weights, 0.0), tf.int32), stable=True)
        count = (tf.math.count_nonzero(weights, dtype=tf.int32) + size - 1) // size
        fill = tf.zeros([-total % size], tf.int32)
        order = tf.concat([order, fill], 0)
        weights = tf.concat([tf.gather(weights, order[:total]), tf.cast(fill, tf.float32)], 0)
        x = head.transform(
            tf.gather(tf.reshape(outputs["sequence_output"], [-1, self.config.hidden_size]), order)
        )

        def of_portion(x, labels, weights, *parameters):
            found = NEXT_TOKEN.sums_of_rows(head.project(x, *parameters), labels, weights)
            return tuple(found[name] for name in names)

        parameters = tuple(
            tf.convert_to_tensor(variable.value)
            for variable in (self.encoder.embeddings.word_embeddings, head.output_bias)
        )
        token_sums = sums_in_portions(
            of_portion,
            len(names),
            x,
            (tf.gather(labels, order), weights),
            parameters,
            size,
            count,
            with_gradients=dropout is not None,
        )
        return {
            **dict(zip(names, token_sums, strict=True)),
            **NEXT_SENTENCE.sums(self.next_sentence(outputs["pooled_output"]), features),
        }


def sums_in_portions(
    sums: Callable,
    num_sums: int,
    x,
    others: tuple,
    parameters: tuple,
    size: int,
    count,
    with_gradients: bool,
) -> tuple:
    """Adds up the sums of portions; needs Keras' TensorFlow backend.

    Args:
      sums: (x [size, H], others [size] …, parameters …) → tuple of `num_sums` float32 scalars.
      x: float [M * size, H].
      others: [M * size] each, without gradients.
      parameters: float tensors.
      size: rows of a portion.
      count: int32 [], at most M: how many portions are computed. The rows after them add nothing to
        any sum.
      with_gradients: for the gradients of the first sum with respect to `x` and the parameters (of
        the other sums there are none). They are computed with each portion, of which nothing has to
        be kept or computed again; the cost is that of the sums and their gradients without
        portions. Without it TensorFlow would keep all portions.

    Returns:
      the sums of all portions.
    """
    # XLA must know the sizes, where they are known while the graph is made.
    width, most = x.shape[-1], (x.shape[0] or tf.shape(x)[0]) // size
    stacked = [tf.reshape(values, [most, size]) for values in others]

    def run(x, parameters, differentiate: bool) -> tuple:
        """The sums; and their gradients, or nothing."""

        def add(number, totals, gradients):
            rows, arguments = stacked_x[number], [values[number] for values in stacked]
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch([rows, *parameters] if differentiate else [])
                found = sums(rows, *arguments, *parameters)
            if differentiate:
                of_rows, *of_parameters = tape.gradient(found[0], [rows, *parameters])
                gradients = (
                    gradients[0].write(number, of_rows),
                    *map(tf.add, gradients[1:], of_parameters),
                )
            return number + 1, tuple(map(tf.add, totals, found)), gradients

        stacked_x = tf.reshape(x, [most, size, width])
        nothing = tuple(tf.constant(0.0) for _ in range(num_sums))
        empty = (
            (
                tf.TensorArray(
                    x.dtype, most, element_shape=[size if isinstance(size, int) else None, width]
                ),
                *map(tf.zeros_like, parameters),
            )
            if differentiate
            else ()
        )
        _, totals, gradients = tf.while_loop(
            lambda number, *_: number < count,
            add,
            (tf.constant(0), nothing, empty),
            parallel_iterations=1,
        )
        return totals, (
            tf.reshape(gradients[0].stack(), tf.shape(x)),
            *gradients[1:],
        ) if differentiate else ()

    if not with_gradients:
        return run(x, parameters, differentiate=False)[0]

    @tf.custom_gradient
    def call(x, *parameters):
        totals, gradients = run(x, parameters, differentiate=True)
        return totals, lambda *upstream: [
            one * tf.cast(upstream[0], one.dtype) for one in gradients
        ]

    return call(x, *parameters)
