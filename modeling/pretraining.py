"""Pre-training (section 3.1 of the paper) and its left-to-right form (section 5.1, figure 5):
models, heads and losses.

Input: records of masked sequence pairs; output: logits [B, P, V] of the masked tokens and [B, 2] of
the pair. A left-to-right model predicts the next token at every position: logits [B, S, V], or the
sums behind loss and metrics, which are computed without the logits of all positions at once.
"""

from collections.abc import Sequence

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
from modeling.losses import HeadLoss, TokenLoss, example_weights, ops_for
from modeling.saving import Configured, needs_tensorflow, register
from modeling.task_model import BertTaskModel, LinearHead

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf


def masked_lm_loss(mask_id: int | None = None) -> TokenLoss:
    """Returns the loss of the masked tokens.

    Args:
      mask_id: of [MASK]. A fifth of the tokens to predict are left as they are or replaced by
        others (section A.1 of the paper), and those that are left can be copied; with it the
        predictions at [MASK] are counted separately, too. Features then need "input_ids" int [B, S]
        and "masked_lm_positions" int [B, P].
    """

    def labels(features: dict):
        return features["masked_lm_ids"]

    def weights(features: dict):
        ops = ops_for(features)
        used = ops.cast(features["masked_lm_weights"], "float32")  # [B, P]
        return used * example_weights(features)[:, None]

    def weights_at_mask(features: dict):
        positions = ops.cast(features["masked_lm_positions"], "int32")
        ids = ops.convert_to_tensor(features["input_ids"])
        visible = ops.take_along_axis(ids, positions, axis=1)  # [B, P]
        return weights(features) * ops.cast(ops.equal(visible, mask_id), "float32")

    parts = {} if mask_id is None else {"at_mask": weights_at_mask}
    return TokenLoss("masked_lm", labels=labels, weights=weights, parts=parts)


def _next_sentence_labels(features: dict):
    """Returns int [B], or [B, K] for packed rows."""
    labels = features["next_sentence_labels"]
    if "next_sentence_weights" in features:
        return labels
    # Records hold [B, 1].
    return ops_for(features).reshape(labels, (-1,))


def _next_sentence_weights(features: dict):
    """Returns float32 [B], or [B, K] for packed rows, which may hold fewer than K sequences."""
    weights = example_weights(features)
    if "next_sentence_weights" not in features:
        return weights
    return ops_for(features).cast(features["next_sentence_weights"], "float32") * weights[:, None]


# Both losses are means of their own: over the predictions, and over the examples or pairs.
MASKED_LM = masked_lm_loss()
NEXT_SENTENCE = HeadLoss(
    "next_sentence", labels=_next_sentence_labels, weights=_next_sentence_weights
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
        """Scores the vocabulary at the masked positions.

        Args:
          sequence_output: [B, S, H].
          positions: int [B, P], each from 0 to S - 1; unused ones may hold anything in that range.
          word_embeddings: float [V, H], the encoder's table.

        Returns:
          float32 logits [B, P, V].
        """
        # The projection is the largest product of the model: gathering the P masked of S positions
        # first saves most of it.
        masked = gather_positions(sequence_output, positions)
        x = ops.reshape(masked, (-1, self.config.hidden_size))  # [B * P, H]
        logits = self.project(self.transform(x), word_embeddings, self.output_bias)  # [B * P, V]
        return ops.reshape(logits, (*ops.shape(positions), self.config.vocab_size))

    def transform(self, x):
        """Computes the input of the projection to the vocabulary: [R, H] → [R, H]."""
        return self.layer_norm(self.dense(x, activation=self._activation))

    @staticmethod
    def project(x, word_embeddings, output_bias):
        """Projects to the vocabulary: [R, H], [V, H] and [V] → float32 logits [R, V]."""
        # The table stays float32 in memory; the product is computed in the compute dtype, and the
        # bias is added in float32.
        logits = matmul_transposed(x, ops.cast(word_embeddings, x.dtype))
        return add_bias(ops.cast(logits, "float32"), output_bias)


@register
class NextSentenceHead(LinearHead):
    """Predicts whether segment B follows segment A in the text.

    Column 0 scores "is the next", column 1 "is a random one".
    """

    key = "next_sentence"
    _seed_path = "cls/seq_relationship"
    _arguments = ("seed",)

    def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
        super().__init__(config, 2, seed=seed, dropout_rate=None, **kwargs)


@register
class BertForPreTraining(BertTaskModel):
    """Encoder, masked-LM head and next-sentence head; the arguments are `BertTaskModel`'s.

    Raises:
      UserError: the configuration is of a left-to-right model, which `BertForCausalLm` trains.

    Examples:
        config = BertConfig(
            vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=4)
        model = BertForPreTraining(config)
        ids = np.array([[2, 4, 8, 3, 9, 3]])
        outputs = model({"input_ids": ids, "masked_lm_positions": np.array([[1]])})
        outputs["masked_lm_logits"].shape                                 # (1, 1, 100)
        outputs["next_sentence_logits"].shape                             # (1, 2)
    """

    # The paper's loss: mean over the predictions plus mean over the examples.
    head_losses = (MASKED_LM, NEXT_SENTENCE)
    _heads = {"masked_lm": "masked_lm", "next_sentence": "next_sentence"}
    _exported_inputs = {**BertTaskModel._exported_inputs, "masked_lm_positions": 2}
    _predicts_next_token = False

    def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
        super().__init__(config, seed=seed, **kwargs)
        if self.causal and not self._predicts_next_token:
            raise UserError(
                'a left-to-right model ("is_decoder": true in its configuration) has not learned '
                "to fill masks: it predicts the next token, see BertForCausalLm"
            )
        # The original pre-trains without a BiLSTM, and a backward LSTM would see the future of a
        # left-to-right model.
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
          The encoder's outputs (see `BertEncoder.call`), "masked_lm_logits" float32 [B, P, V] and
          "next_sentence_logits" float32 [B, 2]; of packed rows [B, K, 2], and "pooled_output" is
          [B, K, H]. Instead of the masked tokens' a left-to-right model has "next_token_logits"
          float32 [B, S, V]: at position i for the token at i + 1.
        """
        outputs = self.encode_sequences(features, dropout, training)
        x = outputs["sequence_output"]
        # Every position predicts, also the last one and padding: their weights are 0 in the loss.
        if self._predicts_next_token:
            batch, length = ops.shape(x)[:2]
            positions = ops.broadcast_to(ops.arange(length, dtype="int32"), (batch, length))
        else:
            positions = features["masked_lm_positions"]
        # The head shares the encoder's table, which is trained by both.
        word_embeddings = ops.convert_to_tensor(self.encoder.embeddings.word_embeddings)
        token_logits = self.masked_lm(x, positions, word_embeddings)
        return {
            **outputs,
            f"{self.head_losses[0].name}_logits": token_logits,
            "next_sentence_logits": self.next_sentence(outputs["pooled_output"]),
        }

    def encode_sequences(
        self, features: dict, dropout: DropoutStream | None = None, training: bool | None = None
    ) -> dict:
        """Encodes a batch, see `encode`; "pooled_output" of packed rows is [B, K, H], one vector
        for each of the K sequences of a row."""
        max_sequences = None
        if "next_sentence_positions" in features:
            positions = ops.convert_to_tensor(features["next_sentence_positions"])
            max_sequences = positions.shape[1]
        # The encoder pools the first sequence of a row only.
        outputs = self.encode(features, dropout, training, max_sequences)
        if "next_sentence_positions" in features:
            if self.causal:
                # Only the last token of a sequence has seen all of it.
                numbers = ops.arange(1, positions.shape[1] + 1, dtype="int32")[:, None]  # [K, 1]
                is_in_sequence = features["sequence_ids"][:, None, :] == numbers  # [B, K, S]
                indices = ops.arange(is_in_sequence.shape[2], dtype="int32")
                positions = ops.argmax(ops.cast(is_in_sequence, "int32") * indices, axis=-1)
            vectors = gather_positions(outputs["sequence_output"], positions)
            outputs["pooled_output"] = self.encoder.pool(vectors)
        return outputs

    def head_logits(self, outputs: dict) -> dict:
        """Returns the logits by the names in `head_losses`."""
        return {loss.name: outputs[f"{loss.name}_logits"] for loss in self.head_losses}

    def compile_defaults(self) -> dict:
        """Returns losses and metrics by the names of the heads, as `fit_batch` gives labels."""
        losses = {}
        weighted_metrics = {}
        for loss in self.head_losses:
            defaults = loss.compile_defaults()
            losses[loss.name] = defaults["loss"]
            weighted_metrics[loss.name] = defaults["weighted_metrics"]
        return {"loss": losses, "weighted_metrics": weighted_metrics}

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """Computes the loss as Keras does, of the logits, by the names in `head_losses`."""
        return super().compute_loss(x, y, self.head_logits(y_pred), sample_weight, training)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """Computes metrics as Keras does, of the logits, by the names in `head_losses`."""
        return super().compute_metrics(x, y, self.head_logits(y_pred), sample_weight)

    @classmethod
    def fit_batch(cls, features: dict) -> tuple[dict, dict, dict]:
        """Returns records as `fit` takes them: `dataset.map(BertForPreTraining.fit_batch)`.

        Args:
          features: the inputs of the model, "masked_lm_ids" int [B, P], "masked_lm_weights" float
            [B, P] (0 where the prediction is unused), "next_sentence_labels" int [B] or [B, 1], and
            optionally "is_real_example" [B], 0 for padding examples; of packed rows
            "next_sentence_labels" int [B, K] and "next_sentence_weights" float [B, K].

        Returns:
          Inputs, labels and weights; the last two by the names of the heads, "masked_lm" and
          "next_sentence".
        """
        labels = {}
        weights = {}
        for loss in cls.head_losses:
            labels[loss.name] = loss.labels(features)
            weights[loss.name] = loss.weights(features)
        return features, labels, weights


def restore_tokens(features: dict) -> dict:
    """Returns features of records with the original text: masking is undone in "input_ids".

    Args:
      features: int "input_ids" [B, S], "masked_lm_positions" and "masked_lm_ids" [B, P], float
        "masked_lm_weights" [B, P] (0 where there is no prediction); without these three the ids are
        the text already.
    """
    if "masked_lm_positions" not in features:
        return features
    ops = ops_for(features)
    ids = ops.convert_to_tensor(features["input_ids"])
    # Unused predictions hold position 0 and id 0: they must not overwrite the first token.
    is_used = ops.convert_to_tensor(features["masked_lm_weights"]) > 0  # [B, P]
    labels = ops.where(is_used, ops.cast(features["masked_lm_ids"], ids.dtype), -1)
    positions = ops.cast(features["masked_lm_positions"], "int32")[:, :, None]
    indices = ops.arange(ops.shape(ids)[1], dtype="int32")
    # A comparison in place of a scatter, which XLA is slow at.
    is_position = ops.equal(positions, indices)  # [B, P, S]
    # [B, S], -1 where nothing was masked.
    original = ops.max(ops.where(is_position, labels[:, :, None], -1), axis=1)
    return {**features, "input_ids": ops.where(original >= 0, original, ids)}


def next_tokens(features: dict) -> tuple:
    """Returns the labels and weights of next-token prediction.

    Args:
      features: int "input_ids" [B, S], and optionally "input_mask", "sequence_ids" and
        "is_real_example", as in `BertEncoder.call` and `BertForPreTraining.fit_batch`.

    Returns:
      int [B, S], the ids that follow, and float32 [B, S], 1 where a token of the same sequence
      follows, else 0: at the last token of a sequence, in padding and in padding examples.
    """
    ops = ops_for(features)
    ids = ops.convert_to_tensor(features["input_ids"])
    # The last position of a row predicts nothing, so there are S - 1 pairs of neighbors.
    follows = ops.ones_like(ids[:, 1:], dtype="bool")
    if features.get("input_mask") is not None:
        is_token = ops.cast(features["input_mask"], "bool")
        follows = ops.logical_and(is_token[:, :-1], is_token[:, 1:])
    if features.get("sequence_ids") is not None:
        sequences = ops.convert_to_tensor(features["sequence_ids"])
        is_same = ops.equal(sequences[:, :-1], sequences[:, 1:])
        follows = ops.logical_and(follows, is_same)
    weights = ops.cast(follows, "float32") * example_weights(features)[:, None]
    # Nothing follows the last position.
    last = ((0, 0), (0, 1))
    return ops.pad(ids[:, 1:], last), ops.pad(weights, last)


def _next_token_labels(features: dict):
    labels, _ = next_tokens(restore_tokens(features))
    return labels


def _next_token_weights(features: dict):
    _, weights = next_tokens(features)
    return weights


NEXT_TOKEN = TokenLoss("next_token", labels=_next_token_labels, weights=_next_token_weights)


@register
class BertForCausalLm(BertForPreTraining):
    """A left-to-right encoder, masked-LM head and next-sentence head; the arguments are
    `BertTaskModel`'s.

    Raises:
      UserError: the configuration is of a bidirectional model, whose positions would see what they
        predict.

    Examples:
        config = BertConfig(
            vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=4,
            causal=True)
        model = BertForCausalLm(config)
        outputs = model({"input_ids": np.array([[2, 4, 8, 3]])})
        outputs["next_sentence_logits"].shape                             # (1, 2)
    """

    head_losses = (NEXT_TOKEN, NEXT_SENTENCE)
    _exported_inputs = BertTaskModel._exported_inputs
    _predicts_next_token = True

    def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
        super().__init__(config, seed=seed, **kwargs)
        if not self.causal:
            raise UserError(
                'BertForCausalLm needs a left-to-right model: "is_decoder": true in '
                "bert_config.json, or BertConfig(causal=True)"
            )

    @classmethod
    def fit_batch(cls, features: dict) -> tuple[dict, dict, dict]:
        """Returns records as `fit` takes them, see `BertForPreTraining`; masking is undone."""
        return super().fit_batch(restore_tokens(features))

    def sums(self, features: dict, dropout: DropoutStream | None = None) -> dict:
        """Adds up the losses and metrics of a batch, see `HeadLoss.sums`; needs Keras' TensorFlow
        backend.

        The logits are computed in portions. With a dropout stream, as in training, the gradients of
        a portion are computed together with it, so that its logits need not be kept.

        Args:
          features: as for `fit_batch`.
          dropout: as in `BertEncoder.call`.
        """
        needs_tensorflow("BertForCausalLm.sums")
        features = restore_tokens(features)
        labels, weights = next_tokens(features)
        outputs = self.encode_sequences(features, dropout)
        portions = _Portions(
            self.masked_lm,
            self.encoder.embeddings.word_embeddings,
            outputs["sequence_output"],
            labels,
            weights,
        )
        # An evaluation has no stream, and takes no gradients.
        if dropout is None:
            token_sums = portions.sums()
        else:
            token_sums = portions.differentiable_sums()
        pair_logits = self.next_sentence(outputs["pooled_output"])
        pair_sums = NEXT_SENTENCE.sums(pair_logits, features)
        return {**dict(zip(_TOKEN_SUMS, token_sums, strict=True)), **pair_sums}


# Maximum number of logits in a portion (64 MiB): a few hundred rows of the usual vocabulary, enough
# for matrix products at full speed.
_PORTION_SIZE = 2**24
_TOKEN_SUMS = ("next_token_loss_sum", "next_token_count", "next_token_correct")


class _Portions:
    """The positions of a batch in M portions of equal size, whose sums are added up in a loop.

    Positions without weight are sorted to the end; portions that have no others are not computed.

    Args:
      head: with the transform and the output bias.
      word_embeddings: [V, H].
      sequence_output: [B, S, H].
      labels: int [B, S].
      weights: float32 [B, S].
    """

    def __init__(self, head: MaskedLmHead, word_embeddings, sequence_output, labels, weights):
        # Rows of the batch are irrelevant from here on: a portion may hold positions of several.
        labels = tf.reshape(labels, [-1])
        weights = tf.reshape(weights, [-1])
        size = max(1, _PORTION_SIZE // head.config.vocab_size)
        # XLA must know the sizes if they are known while the graph is built.
        total = labels.shape[0]
        if total is None:
            total = tf.shape(labels)[0]
            size = tf.minimum(total, size)
        else:
            size = min(total, size)
        # A stable sort keeps the order of the positions, so that sums are reproducible.
        order = tf.argsort(tf.cast(tf.equal(weights, 0.0), tf.int32), stable=True)
        # The last portion is filled with rows of weight 0.
        fill = tf.zeros([-total % size], tf.int32)
        weights = tf.concat([tf.gather(weights, order), tf.cast(fill, tf.float32)], 0)
        order = tf.concat([order, fill], 0)
        vectors = tf.reshape(sequence_output, [-1, head.config.hidden_size])
        self._x = head.transform(tf.gather(vectors, order))  # [M * size, H]
        self._size = size
        num_rows = tf.shape(order)[0] if order.shape[0] is None else order.shape[0]
        self._num_portions = num_rows // size
        self._labels = tf.reshape(tf.gather(labels, order), [self._num_portions, size])
        self._weights = tf.reshape(weights, [self._num_portions, size])
        num_used = tf.math.count_nonzero(weights, dtype=tf.int32)
        self._num_used_portions = (num_used + size - 1) // size
        self._parameters = (
            tf.convert_to_tensor(word_embeddings.value),
            tf.convert_to_tensor(head.output_bias.value),
        )

    def sums(self) -> tuple:
        """Returns the `_TOKEN_SUMS` of all portions, without gradients."""
        x = self._stacked(self._x)

        def is_left(number, totals):
            return number < self._num_used_portions

        def add_portion(number, totals):
            sums = self._portion_sums(number, x[number], self._parameters)
            return number + 1, _add(totals, sums)

        _, totals = tf.while_loop(
            is_left, add_portion, (tf.constant(0), self._zeros()), parallel_iterations=1
        )
        return totals

    def differentiable_sums(self) -> tuple:
        """Returns the `_TOKEN_SUMS`, of which the loss has gradients for x and the parameters.

        The gradients are computed in the forward pass. Otherwise TensorFlow would keep the logits
        of all portions, or compute them twice.
        """

        @tf.custom_gradient
        def call(x, *parameters):
            totals, gradients = self._sums_and_gradients(x, parameters)

            def gradient(*upstream):
                # The loss is the first sum; the others are metrics, which need no gradients.
                scaled = []
                for value in gradients:
                    scaled.append(value * tf.cast(upstream[0], value.dtype))
                return scaled

            return totals, gradient

        return call(self._x, *self._parameters)

    def _sums_and_gradients(self, x, parameters: tuple) -> tuple:
        """Returns the sums, and the gradients of the loss for x and each of the parameters."""
        stacked = self._stacked(x)
        # A tensor in the loop's state would be copied for every portion.
        x_gradients = tf.TensorArray(x.dtype, self._num_portions, element_shape=stacked.shape[1:])
        parameter_gradients = tuple(tf.zeros_like(value) for value in parameters)

        def is_left(number, *state):
            return number < self._num_used_portions

        def add_portion(number, totals, x_gradients, parameter_gradients):
            rows = stacked[number]
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch([rows, *parameters])
                sums = self._portion_sums(number, rows, parameters)
            rows_gradient, *portion_gradients = tape.gradient(sums[0], [rows, *parameters])
            return (
                number + 1,
                _add(totals, sums),
                x_gradients.write(number, rows_gradient),
                _add(parameter_gradients, portion_gradients),
            )

        # One portion at a time: parallel iterations would hold several portions of logits.
        state = (tf.constant(0), self._zeros(), x_gradients, parameter_gradients)
        _, totals, x_gradients, parameter_gradients = tf.while_loop(
            is_left, add_portion, state, parallel_iterations=1
        )
        x_gradient = tf.reshape(x_gradients.stack(), tf.shape(x))
        return totals, [x_gradient, *parameter_gradients]

    def _portion_sums(self, number, x, parameters: tuple) -> tuple:
        """Returns the `_TOKEN_SUMS` of a portion with rows x [size, H]."""
        logits = MaskedLmHead.project(x, *parameters)
        sums = NEXT_TOKEN.sums_of_rows(logits, self._labels[number], self._weights[number])
        return tuple(sums[name] for name in _TOKEN_SUMS)

    def _stacked(self, x):
        return tf.reshape(x, [self._num_portions, self._size, x.shape[-1]])

    def _zeros(self) -> tuple:
        return tuple(tf.constant(0.0) for _ in _TOKEN_SUMS)


def _add(totals: Sequence, values: Sequence) -> tuple:
    return tuple(tf.add(total, value) for total, value in zip(totals, values, strict=True))
