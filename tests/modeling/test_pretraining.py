import numpy as np
import pytest
import tensorflow as tf

from modeling import pretraining
from modeling.checkpoints.weights import original_names
from modeling.losses import SumOfLosses
from tests.golden.values import assert_close
from tests.modeling.common import SMALL, arrays, golden_model, random_features

_LOSS = SumOfLosses((pretraining.MASKED_LM, pretraining.NEXT_SENTENCE))


@pytest.fixture(scope="module")
def model(golden):
    return golden_model(golden)


def total_loss(sums):
    return (
        sums["masked_lm_loss_sum"] / (sums["masked_lm_count"] + 1e-5)
        + sums["next_sentence_loss_sum"] / sums["next_sentence_count"]
    )


@pytest.mark.golden
@pytest.mark.parametrize("jit_compile", [False, True])
def test_forward_losses_and_gradients_are_the_originals(golden, golden_set, model, jit_compile):
    names = original_names(model)

    @tf.function(jit_compile=jit_compile)
    def run(features):
        with tf.GradientTape() as tape:
            outputs = model(features)
            sums = _LOSS.sums(outputs, features)
            loss = total_loss(sums)
        gradients = tape.gradient(loss, {name: variable.value for name, variable in names.items()})
        return (
            outputs,
            sums,
            loss,
            {name: tf.convert_to_tensor(value) for name, value in gradients.items()},
        )

    features = arrays(golden / "tf1_checkpoint/inputs.npz")
    expected = arrays(golden / "tf1_checkpoint/outputs.npz")
    outputs, sums, loss, gradients = run(
        {name: tf.constant(value) for name, value in features.items()}
    )

    hidden = [
        "embedding_output",
        "encoder_layer_0",
        "encoder_layer_1",
        "encoder_layer_2",
        "sequence_output",
        "pooled_output",
    ]
    assert set(hidden) | {"masked_lm_logits", "next_sentence_logits"} == set(outputs)
    for name in hidden:
        np.testing.assert_allclose(outputs[name], expected[name], rtol=0, atol=2e-5, err_msg=name)
    log_probs = tf.nn.log_softmax(outputs["masked_lm_logits"])
    np.testing.assert_allclose(
        tf.reshape(log_probs, [35, 1000]), expected["masked_lm_log_probs"], rtol=0, atol=2e-5
    )
    np.testing.assert_allclose(
        tf.nn.log_softmax(outputs["next_sentence_logits"]),
        expected["next_sentence_log_probs"],
        rtol=0,
        atol=2e-5,
    )
    np.testing.assert_allclose(
        sums["masked_lm_loss_sum"] / (sums["masked_lm_count"] + 1e-5),
        expected["masked_lm_loss"],
        rtol=0,
        atol=1e-5,
    )
    np.testing.assert_allclose(
        sums["next_sentence_loss_sum"] / sums["next_sentence_count"],
        expected["next_sentence_loss"],
        rtol=0,
        atol=1e-5,
    )
    np.testing.assert_allclose(loss, expected["total_loss"], rtol=0, atol=1e-5)

    assert_close(gradients, golden_set / "tf1_checkpoint/gradients.npz", atol=1e-6, of_largest=2e-5)


def test_predictions_at_mask_are_counted_by_themselves():
    model = pretraining.BertForPreTraining(SMALL)
    features = random_features(SMALL, batch=5, length=10, predictions=3)
    features["is_real_example"] = np.array([1, 1, 1, 0, 1])
    features["input_ids"][:, 2], features["masked_lm_positions"][:, 0] = 4, 2
    features["masked_lm_positions"][:, 1:] = 3
    outputs = model(features)
    predicted = outputs["masked_lm_logits"].numpy().argmax(axis=-1)
    features["masked_lm_ids"] = np.where(
        [[True], [False], [True], [True], [False]], predicted, predicted + 1
    )
    weights = features["masked_lm_weights"][:, 0] * features["is_real_example"]
    sums = SumOfLosses((pretraining.masked_lm_loss(4), pretraining.NEXT_SENTENCE)).sums(
        outputs, features
    )
    at_mask = features["input_ids"][:, 3] == 4
    more = (
        features["masked_lm_weights"][:, 1:]
        * features["is_real_example"][:, None]
        * at_mask[:, None]
    ).sum(axis=1)
    assert float(sums["masked_lm_at_mask_count"]) == weights.sum() + more.sum() > 0
    assert float(sums["masked_lm_at_mask_correct"]) == (weights + more)[[0, 2]].sum()
    plain = _LOSS.sums(outputs, features)
    assert plain == {name: value for name, value in sums.items() if "at_mask" not in name}
    count, correct = (
        float(sums["masked_lm_at_mask_count"]),
        float(sums["masked_lm_at_mask_correct"]),
    )
    losses = pretraining.masked_lm_loss(mask_id=4), pretraining.NEXT_SENTENCE
    metrics = SumOfLosses(losses).metrics({name: float(value) for name, value in sums.items()})
    assert metrics["masked_lm_accuracy_at_mask"] == correct / count
    assert "masked_lm_accuracy_at_mask" not in SumOfLosses(losses).metrics(
        {**sums, "masked_lm_at_mask_count": 0.0}
    )


def test_perplexity():
    sums = {"masked_lm_loss_sum": 3 * np.log(7.0), "masked_lm_count": 3.0, "masked_lm_correct": 1.0}
    metrics = SumOfLosses((pretraining.MASKED_LM,)).metrics(sums)
    assert metrics["masked_lm_perplexity"] == pytest.approx(7)
    diverged = SumOfLosses((pretraining.MASKED_LM,)).metrics({**sums, "masked_lm_loss_sum": 1e4})
    assert (
        np.isfinite(diverged["masked_lm_perplexity"]) and diverged["masked_lm_perplexity"] > 1e300
    )
    # There are two answers only.
    assert not any(
        "perplexity" in name
        for name in SumOfLosses([pretraining.NEXT_SENTENCE]).metrics(
            {name.replace("masked_lm", "next_sentence"): value for name, value in sums.items()}
        )
    )
