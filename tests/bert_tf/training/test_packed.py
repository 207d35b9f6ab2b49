import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from data_gen.pretraining.schema import Schema
from modeling.checkpoints.weights import raw_variables
from modeling.losses import SumOfLosses
from modeling.optimizer import WarmupDecay
from modeling.pretraining import (
    MASKED_LM,
    NEXT_SENTENCE,
    BertForPreTraining,
    masked_lm_loss,
)
from tests.bert_tf.training.common import TINY, make_trainer, weights
from tests.bert_tf.training.packed import pack_features, parsed, sequences_of

NO_DROPOUT = dataclasses.replace(
    TINY, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, max_position_embeddings=512
)
LENGTHS = {
    "odd": (np.array([3, 17, 5, 9, 16, 7, 11, 4, 13, 6, 8, 10]), 24, 12),
    "twelve": (np.full(24, 5), 64, 12),
    "single": (np.array([24, 23, 22]), 24, 12),
    "128": (np.array([128, 100, 28, 60, 61, 7]), 128, 12),
    "512": (np.array([512, 300, 200, 12, 130, 380]), 512, 3),
}


def both(name: str, folder) -> tuple[dict, dict]:
    length, width, most = LENGTHS[name]
    features = sequences_of(length, width, max(width * 20 // 128, 1), TINY.vocab_size)
    schema, rows = pack_features(features, most)
    unpacked = parsed(Schema(width, schema.max_predictions_per_seq), features, TINY, folder)
    return unpacked, parsed(schema, rows, TINY, folder)


def loss_and_gradients(model, features: dict) -> tuple[float, list[np.ndarray], dict]:
    variables = list(raw_variables(model).values())
    with tf.GradientTape() as tape:
        sums = SumOfLosses((masked_lm_loss(4), NEXT_SENTENCE)).sums(model(features), features)
        counts = MASKED_LM.counts(features) | NEXT_SENTENCE.counts(features)
        loss = sum(
            sums[f"{part}_loss_sum"] / counts[f"{part}_count"]
            for part in ("masked_lm", "next_sentence")
        )
    gradients = [tf.convert_to_tensor(one).numpy() for one in tape.gradient(loss, variables)]
    return float(loss), gradients, {key: float(value) for key, value in sums.items()}


@pytest.mark.parametrize("name", LENGTHS)
def test_loss_and_all_gradients(name, tmp_path):
    unpacked, packed = both(name, tmp_path)
    assert len(packed["input_ids"]) <= len(unpacked["input_ids"])
    model = BertForPreTraining(NO_DROPOUT)
    loss, gradients, sums = loss_and_gradients(model, unpacked)
    packed_loss, packed_gradients, packed_sums = loss_and_gradients(model, packed)
    assert packed_loss == pytest.approx(loss, rel=1e-6)
    assert packed_sums == pytest.approx(sums, rel=1e-5)
    for one, expected in zip(packed_gradients, gradients, strict=True):
        # Single bits of float32 differ on processors with AVX2 alone.
        limit = 1e-5 * max(np.linalg.norm(expected), 1e-4) + 1e-7
        assert np.linalg.norm(one - expected) <= limit


@pytest.mark.parametrize(
    ("dtype", "options", "tolerance"),
    [
        ("float32", {"jit_compile": False}, 1e-5),
        ("float32", {"jit_compile": True}, 1e-5),
        ("float32", {"jit_compile": False, "gradient_accumulation_steps": 2}, 1e-5),
        ("mixed_bfloat16", {"jit_compile": False}, 2e-2),
    ],
)
def test_twenty_steps(dtype, options, tolerance, tmp_path):
    unpacked, packed = both("odd", tmp_path)
    rows = len(packed["input_ids"])
    if rows % 2:
        # A row of nothing but copies, as batches that are filled up have.
        packed = {name: tf.concat([value, value[:1]], 0) for name, value in packed.items()}
        packed["is_real_example"] = tf.constant([1] * rows + [0])
    results = []
    for features in (unpacked, packed):
        model = BertForPreTraining(
            dataclasses.replace(NO_DROPOUT, num_hidden_layers=1), dtype=dtype
        )
        trainer = make_trainer(
            model,
            tf.data.Dataset.from_tensors(features).repeat(),
            len(features["input_ids"]),
            WarmupDecay(1e-3, 100),
            **options,
        )
        losses = [trainer.run(1)["loss"] for _ in range(20)]
        results.append((losses, weights(model)))
    (losses, expected), (packed_losses, found) = results
    np.testing.assert_allclose(packed_losses, losses, rtol=tolerance)
    assert losses[-1] < losses[0]
    for name, value in expected.items():
        # The softmax does not see the bias of the keys: its gradient is nothing but rounding.
        if not name.endswith("key/bias"):
            assert (
                np.linalg.norm(found[name] - value) <= 10 * tolerance * np.linalg.norm(value) + 1e-6
            ), name
