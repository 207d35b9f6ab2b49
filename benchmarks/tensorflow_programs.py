"""Training steps in TensorFlow: this project's as its scripts run them, and a peer's.

The peer is the Model Garden (tf-models-official): a model of the same shape as ours with its AdamW,
in a graph, with and without XLA; masked positions are gathered, as ours are.
"""

import functools
from collections.abc import Callable

import numpy as np
import tensorflow as tf

import modeling
from bert_tf.tasks.pretraining.task import pretraining_loss
from bert_tf.tasks.question_answering.task import OUTPUTS
from bert_tf.training.examples import Examples, lengths_for, training_dataset
from bert_tf.training.optimizer import AdamWeightDecay
from bert_tf.training.prediction import Prediction
from bert_tf.training.step import (
    TrainingState,
    TrainingStep,
)
from modeling.checkpoints.weights import raw_variables
from modeling.config import BertConfig
from modeling.optimizer import WarmupDecay

_LEARNING_RATE = 5e-5
_POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}


def matmul(size: int, dtype: str = "float32") -> Callable[[], None]:
    """Returns the product of two square matrices, the machine's peak."""
    multiply = tf.function(tf.matmul)
    a = tf.cast(tf.random.stateless_normal([size, size], seed=[0, 0]), dtype)
    # Reading an element waits for the device.
    return lambda: multiply(a, a)[0, 0].numpy()


def pretraining(
    config: BertConfig,
    batch: dict,
    precision: str,
    jit_compile: bool = False,
    recompute: bool = False,
) -> Callable[[], None]:
    """Returns a training step as in `run_pretraining.py`."""
    model = modeling.BertForPreTraining(config, dtype=_POLICIES[precision])
    model.encoder.recompute = recompute
    features = {}
    for name, value in batch.items():
        features[name] = value.astype(np.float32 if name.endswith("_weights") else np.int32)
    # Records are read as int32 and float32. The batch stays in memory: input is not measured.
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
    """Returns training of any number of steps as in the run scripts.

    Args:
      task: a `FineTuningTask`.
      lengths: lengths that batches are padded to.
      precision: "float32" or "bfloat16".
      warm_up: a batch of each shape, trained on before the function is returned.
    """
    model = task.make_model(_POLICIES[precision])
    batch_size = task.options.train_batch_size
    dataset = training_dataset(
        task.train_examples, batch_size, 0, 0, lengths, tf.distribute.InputContext(1, 0, 1)
    )
    # In front of the epoch, in the same iterator: a second one would compile the step again.
    for batch in warm_up:
        dataset = tf.data.Dataset.from_tensors(batch).concatenate(dataset)
    forward = functools.partial(task.forward, model)
    step = _step(model, forward, task.loss(model), batch_size)
    iterator = iter(dataset)
    step.run(iterator, len(warm_up))
    return lambda steps: step.run(iterator, steps)


def question_answering(
    config: BertConfig, windows: Examples, batch_size: int
) -> Callable[[], object]:
    """Returns a prediction of all windows as in `run_squad.py`."""
    model = modeling.BertForQuestionAnswering(config)
    predict = Prediction(
        lambda features: dict(zip(OUTPUTS, model(features), strict=True)),
        batch_size,
        lengths_for(int(windows.row_lengths.max()), few=False),
        tf.distribute.get_strategy(),
        jit_compile=False,
        token_outputs=OUTPUTS,
    )
    return lambda: predict(windows)


def _step(model, forward: Callable, loss, batch_size: int, jit_compile: bool = False):
    return TrainingStep(
        forward,
        loss,
        AdamWeightDecay(raw_variables(model)),
        # So many steps that the rate does not reach 0.
        WarmupDecay(_LEARNING_RATE, 10**6),
        TrainingState(),
        tf.distribute.get_strategy(),
        batch_size,
        jit_compile=jit_compile,
    )


def model_garden_pretraining(
    config: BertConfig, batch: dict, precision: str, jit_compile: bool = False
) -> Callable[[], None]:
    """Returns a training step of BertPretrainerV2."""
    import tf_keras
    from official.modeling.optimization import legacy_adamw
    from official.nlp.modeling import layers, models, networks

    def tanh_gelu(x):
        return tf.nn.gelu(x, approximate=True)

    def mean_loss(labels, logits, weights):
        losses = tf_keras.losses.sparse_categorical_crossentropy(
            labels, tf.cast(logits, tf.float32), from_logits=True
        )
        return tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)

    # Its layers have no argument for all of their sublayers' precision.
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
    next_sentence_head = layers.ClassificationHead(
        config.hidden_size, num_classes=2, name="next_sentence"
    )
    model = models.BertPretrainerV2(
        encoder_network=encoder,
        mlm_activation=tanh_gelu,
        mlm_initializer=initializer,
        classification_heads=[next_sentence_head],
    )
    features = {
        "input_word_ids": tf.constant(batch["input_ids"], tf.int32),
        "input_mask": tf.constant(batch["input_mask"], tf.int32),
        "input_type_ids": tf.constant(batch["segment_ids"], tf.int32),
        "masked_lm_positions": tf.constant(batch["masked_lm_positions"], tf.int32),
    }
    labels = tf.constant(batch["masked_lm_ids"], tf.int32)
    weights = tf.constant(batch["masked_lm_weights"], tf.float32)
    next_sentence = tf.constant(batch["next_sentence_labels"].ravel(), tf.int32)
    # The first call makes the variables, which a `tf.function` can't.
    model(features)
    # The Garden's port of the original's optimizer, with its clipping and without bias correction.
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
