import re

import numpy as np
import pytest
import tensorflow as tf

from modeling import BertEncoder, BertForPreTraining, WarmupDecay, freeze_layers
from tests.bert_tf.training.common import TINY, batches, instances, make_trainer, train, weights
from tests.modeling.common import dropout_stream, random_features


def test_training_is_the_same():
    """With dropout, which TINY has, and micro-batches."""
    assert TINY.hidden_dropout_prob > 0 and TINY.attention_probs_dropout_prob > 0
    reports, results = [], []
    for recompute in (False, True):
        model = BertForPreTraining(TINY)
        model.encoder.recompute = recompute
        data = batches({name: value[None] for name, value in instances(8).items()}).repeat()
        trainer = make_trainer(
            model, data, 8, WarmupDecay(0.01, 10), jit_compile=False, gradient_accumulation_steps=2
        )
        reports.append(train(trainer, 3, 3)[0])
        results.append(weights(model))
    for name in ("loss", "gradient_norm", "masked_lm_accuracy"):
        assert reports[1][name] == pytest.approx(reports[0][name], rel=1e-6), name
    for name, value in results[0].items():
        np.testing.assert_allclose(results[1][name], value, rtol=0, atol=1e-6, err_msg=name)


def test_frozen_layers_and_mixed_precision():
    features = {
        name: value
        for name, value in random_features(TINY, 4, 10, 2).items()
        if name != "masked_lm_positions"
    }
    gradients = []
    for recompute in (False, True):
        encoder = BertEncoder(TINY, dtype="mixed_bfloat16")
        freeze_layers(encoder, 1)
        encoder.recompute = recompute

        @tf.function
        def run(encoder):
            stream = dropout_stream(1, tf.constant(5, tf.int64))
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(
                    tf.cast(encoder(features, dropout=stream)["pooled_output"], tf.float32) ** 2
                )
            return [
                loss,
                *tape.gradient(loss, [variable.value for variable in encoder.trainable_variables]),
            ]

        gradients.append([tf.convert_to_tensor(value).numpy() for value in run(encoder)])
    for found, expected in zip(*gradients, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_no_compiler_merges_the_second_computation_with_the_first():
    """Merged, its results would be kept, and nothing would be gained."""
    features = {"input_ids": tf.zeros([4, 8], tf.int32)}

    def products(recompute: bool) -> int:
        """In the compiled gradient."""
        encoder = BertEncoder(TINY)
        encoder.recompute = recompute

        @tf.function(jit_compile=True)
        def gradients(features):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(
                    encoder(features, dropout=dropout_stream(1, tf.constant(5, tf.int64)))[
                        "pooled_output"
                    ]
                )
            return tape.gradient(loss, [variable.value for variable in encoder.trainable_variables])

        return len(
            re.findall(
                r" dot\(", gradients.experimental_get_compiler_ir(features)(stage="optimized_hlo")
            )
        )

    # Of a layer: six dense layers, scores and context.
    assert products(True) == products(False) + 8 * TINY.num_hidden_layers
