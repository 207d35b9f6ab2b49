"""Programs in TensorFlow: this project's as its scripts run them, the Model Garden's
(tf-models-official), KerasHub's.

Peers have models of the same shape as ours, with their AdamW, in graphs, with and without XLA;
masked positions are gathered, as ours are.
"""

import functools
from collections.abc import Callable

import numpy as np
import tensorflow as tf

import modeling
from bert_common.errors import UserError
from bert_tf.tasks.pretraining.task import pretraining_loss
from bert_tf.training.examples import training_dataset
from bert_tf.training.optimizer import AdamWeightDecay
from bert_tf.training.step import (
    TrainingState,
    TrainingStep,
)
from modeling.checkpoints.weights import raw_variables
from modeling.config import BertConfig
from modeling.optimizer import WarmupDecay

_LEARNING_RATE = 5e-5
# Precision → policy of Keras.
_POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}


def matmul(size: int, dtype: str = "float32") -> Callable[[], None]:
    """A product of two square matrices: what the machine can do at best."""
    multiply = tf.function(tf.matmul)
    a = tf.cast(tf.random.stateless_normal([size, size], seed=[0, 0]), dtype)
    return lambda: multiply(a, a)[0, 0].numpy()


def pretraining(
    config: BertConfig,
    batch: dict,
    precision: str,
    jit_compile: bool = False,
    recompute: bool = False,
    fused_attention: bool = False,
) -> Callable[[], None]:
    """A training step, as `run_pretraining.py` makes it."""
    model = modeling.BertForPreTraining(config, dtype=_POLICIES[precision])
    model.encoder.recompute, model.encoder.fused_attention = recompute, fused_attention
    features = {
        name: value.astype(np.float32 if name.endswith("_weights") else np.int32)
        for name, value in batch.items()
    }
    step = _step(
        model,
        lambda features, dropout: model(features, dropout=dropout),
        pretraining_loss(model),
        len(batch["input_ids"]),
        jit_compile,
    )
    iterator = iter(tf.data.Dataset.from_tensors(features).cache().repeat())
    return lambda: step.run(iterator, 1)


def fine_tuning(
    task, lengths: np.ndarray, precision: str, warm_up: list[dict]
) -> Callable[[int], None]:
    """Training of any number of steps, as the run scripts do it, after a batch of every shape."""
    examples = task.train_examples
    model, batch_size = task.make_model(_POLICIES[precision]), task.options.train_batch_size
    dataset = training_dataset(
        examples, batch_size, 0, 0, lengths, tf.distribute.InputContext(1, 0, 1)
    )
    for batch in warm_up:
        dataset = tf.data.Dataset.from_tensors(batch).concatenate(dataset)
    forward = functools.partial(task.forward, model)
    step, iterator = _step(model, forward, task.loss(model), batch_size), iter(dataset)
    step.run(iterator, len(warm_up))
    return lambda steps: step.run(iterator, steps)


def _step(model, forward: Callable, loss, batch_size: int, jit_compile: bool = False):
    return TrainingStep(
        forward,
        loss,
        AdamWeightDecay(raw_variables(model)),
        WarmupDecay(_LEARNING_RATE, 10**6),
        TrainingState(),
        tf.distribute.get_strategy(),
        batch_size,
        jit_compile=jit_compile,
    )


def model_garden_pretraining(
    config: BertConfig, batch: dict, precision: str, jit_compile: bool = False
) -> Callable[[], None]:
    """A training step of BertPretrainerV2."""
    import tf_keras
    from official.modeling.optimization import legacy_adamw
    from official.nlp.modeling import layers, models, networks

    def tanh_gelu(x):
        return tf.nn.gelu(x, approximate=True)

    def mean_loss(labels, logits, weights):
        """Cross-entropy in float32, its mean over what has weights."""
        losses = tf_keras.losses.sparse_categorical_crossentropy(
            labels, tf.cast(logits, tf.float32), from_logits=True
        )
        return tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)

    # All layers of the process have the precision.
    tf_keras.mixed_precision.set_global_policy(_POLICIES[precision])
    initializer = tf_keras.initializers.TruncatedNormal(config.initializer_range)
    encoder = networks.BertEncoderV2(
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        num_layers=config.num_hidden_layers,
        num_attention_heads=config.num_attention_heads,
        inner_dim=config.intermediate_size,
        inner_activation=tanh_gelu,
        output_dropout=config.hidden_dropout_prob,
        attention_dropout=config.attention_probs_dropout_prob,
        initializer=initializer,
    )
    model = models.BertPretrainerV2(
        encoder_network=encoder,
        mlm_activation=tanh_gelu,
        mlm_initializer=initializer,
        classification_heads=[
            layers.ClassificationHead(config.hidden_size, num_classes=2, name="next_sentence")
        ],
    )
    names = {
        "input_word_ids": "input_ids",
        "input_mask": "input_mask",
        "input_type_ids": "segment_ids",
        "masked_lm_positions": "masked_lm_positions",
    }
    features = {name: tf.constant(batch[ours], tf.int32) for name, ours in names.items()}
    labels = tf.constant(batch["masked_lm_ids"], tf.int32)
    weights = tf.constant(batch["masked_lm_weights"], tf.float32)
    next_sentence = tf.constant(batch["next_sentence_labels"].ravel(), tf.int32)
    model(features)
    optimizer = legacy_adamw.AdamWeightDecay(
        learning_rate=_LEARNING_RATE,
        weight_decay_rate=0.01,
        epsilon=1e-6,
        gradient_clip_norm=1.0,
        exclude_from_weight_decay=["LayerNorm", "layer_norm", "bias"],
    )

    @tf.function(jit_compile=jit_compile)
    def step():
        with tf.GradientTape() as tape:
            outputs = model(features, training=True)
            loss = mean_loss(labels, outputs["mlm_logits"], weights)
            loss += mean_loss(next_sentence, outputs["next_sentence"], tf.ones(len(next_sentence)))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return lambda: step().numpy()


def keras_hub_pretraining(
    config: BertConfig, batch: dict, precision: str, jit_compile: bool = False
) -> Callable[[], None]:
    """A training step of BertBackbone, MaskedLMHead and a dense layer for the next sentence, as
    `fit` makes it.

    The masked positions are gathered by MaskedLMHead. Keras clips by the global norm.
    """
    import keras

    try:
        import keras_hub
    except ImportError:
        raise UserError("keras_hub is not installed: pip install --group peers") from None

    policy = _POLICIES[precision]
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=config.vocab_size,
        num_layers=config.num_hidden_layers,
        num_heads=config.num_attention_heads,
        hidden_dim=config.hidden_size,
        intermediate_dim=config.intermediate_size,
        dropout=config.hidden_dropout_prob,
        max_sequence_length=config.max_position_embeddings,
        dtype=policy,
    )
    positions = keras.Input((None,), dtype="int32", name="mask_positions")
    head = keras_hub.layers.MaskedLMHead(
        vocabulary_size=config.vocab_size,
        token_embedding=backbone.token_embedding,
        dtype=policy,
        intermediate_activation=lambda x: keras.ops.gelu(x, approximate=True),
    )
    logits = {
        "masked_lm": head(backbone.output["sequence_output"], mask_positions=positions),
        "next_sentence": keras.layers.Dense(2, dtype=policy)(backbone.output["pooled_output"]),
    }
    in_float32 = {
        name: keras.layers.Activation("linear", dtype="float32", name=name)(value)
        for name, value in logits.items()
    }
    model = keras.Model({**backbone.input, "mask_positions": positions}, in_float32)
    optimizer = keras.optimizers.AdamW(
        _LEARNING_RATE, weight_decay=0.01, epsilon=1e-6, global_clipnorm=1.0
    )
    optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    model.compile(
        optimizer,
        {name: keras.losses.SparseCategoricalCrossentropy(from_logits=True) for name in logits},
        jit_compile=jit_compile,
    )
    names = {
        "token_ids": "input_ids",
        "padding_mask": "input_mask",
        "segment_ids": "segment_ids",
        "mask_positions": "masked_lm_positions",
    }
    inputs = {name: batch[ours].astype(np.int32) for name, ours in names.items()}
    labels = {
        "masked_lm": batch["masked_lm_ids"].astype(np.int32),
        "next_sentence": batch["next_sentence_labels"].ravel().astype(np.int32),
    }
    weights = {
        "masked_lm": batch["masked_lm_weights"].astype(np.float32),
        "next_sentence": np.ones(len(batch["input_ids"]), np.float32),
    }
    iterator = iter(
        tf.data.Dataset.from_tensors((inputs, labels, weights)).cache().repeat().prefetch(2)
    )
    model.make_train_function()
    return lambda: model.train_function(iterator)["loss"].numpy()
