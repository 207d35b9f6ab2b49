import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from bert_tf.training.devices import graph_function
from modeling.fine_tuning import (
    CLASSIFICATION_LOSS,
    MULTI_LABEL_LOSS,
    REGRESSION_LOSS,
    SPAN_LOSS,
    TOKEN_CLASSIFICATION_LOSS,
)
from modeling.losses import (
    CrossEntropy,
    distillation_loss,
    mean_soft_labels,
    softmax_cross_entropy,
)
from modeling.xla import jit_compile_scope


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 3000.0])
@pytest.mark.parametrize("num_classes", [40, None])
@pytest.mark.parametrize("jit_compile", [False, True])
def test_losses_and_gradients_are_those_of_float64(scale, jit_compile, num_classes):
    """In both forms, of a known number of classes and, as of starts and ends, of any."""
    rng = np.random.default_rng(0)
    logits = (rng.normal(size=(6, 40)) * scale).astype(np.float32)
    labels, weights = rng.integers(0, 40, 6), rng.random(6).astype(np.float32)

    @tf.function(
        jit_compile=jit_compile, input_signature=[tf.TensorSpec([6, num_classes], tf.float32)]
    )
    def run(scores):
        with jit_compile_scope(jit_compile), tf.GradientTape() as tape:
            tape.watch(scores)
            losses, predictions = softmax_cross_entropy(scores, tf.constant(labels))
            total = tf.reduce_sum(losses * weights)
        return losses, predictions, tape.gradient(total, scores)

    losses, predictions, gradient = run(tf.constant(logits))
    exact = -special.log_softmax(logits.astype(np.float64), axis=-1)[np.arange(6), labels]
    np.testing.assert_allclose(losses, exact, rtol=1e-6, atol=1e-5)
    np.testing.assert_array_equal(predictions, logits.argmax(-1))
    exact = (special.softmax(logits.astype(np.float64), axis=-1) - np.eye(40)[labels]) * weights[
        :, None
    ]
    # The exponent of the compiled form has the rounding of a float32 of some 60.
    np.testing.assert_allclose(gradient, exact, rtol=0, atol=3e-6)


def test_of_equal_scores_the_first_is_predicted():
    losses, predictions = softmax_cross_entropy(tf.zeros([2, 8]), tf.constant([0, 5]))
    assert predictions.numpy().tolist() == [0, 0]
    np.testing.assert_allclose(losses, np.log(8), rtol=1e-6)


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_score_that_is_no_number_shows_in_the_loss(wrong, jit_compile):
    """Also under XLA, whose maximum leaves NaN out on a CPU."""
    scores = tf.constant([[0.0, wrong, 1.0], [0.0, 1.0, 2.0]])
    compute = graph_function(
        lambda scores: softmax_cross_entropy(scores, tf.constant([0, 0]))[0], jit_compile
    )
    assert np.isfinite(compute(scores).numpy()).tolist() == [False, True]


@pytest.mark.parametrize("is_jit_compiled", [False, True])
@pytest.mark.parametrize("label", [3, -1])
def test_a_label_that_is_no_class_shows_in_the_loss(label, is_jit_compiled):
    """XLA reads the nearest class, or none, where a CPU raises an error."""

    @tf.function(jit_compile=True)
    def compute():
        with jit_compile_scope(is_jit_compiled):
            return softmax_cross_entropy(tf.zeros([2, 3]), tf.constant([label, 0]))[0]

    assert np.isfinite(compute().numpy()).tolist() == [False, True]


def test_a_label_without_weight_may_be_no_class():
    """Under XLA, as where a CPU raises an error for it."""
    features = {
        "input_ids": tf.ones([2, 2], tf.int32),
        "label_ids": tf.constant([1, 9]),
        "is_real_example": tf.constant([1.0, 0.0]),
        "is_labeled": tf.constant([1.0, 0.0]),
        "soft_labels": tf.fill([2, 3], 1 / 3),
    }

    @tf.function(jit_compile=True)
    def compute(features):
        scores = tf.zeros([2, 3])
        keras_loss = CrossEntropy()(features["label_ids"], scores, tf.constant([1.0, 0.0]))
        losses = [keras_loss]
        for head in (CLASSIFICATION_LOSS, distillation_loss(CLASSIFICATION_LOSS, 0.5, 1.0)):
            losses.append(head.sums(scores, features)["classification_loss_sum"])
        return losses

    np.testing.assert_allclose(compute(features), np.log(3), rtol=1e-6)


_RNG = np.random.default_rng(3)
_TEACHERS = [_RNG.normal(size=(5, 3)).astype(np.float32) * 3 for _ in range(2)]
_LOGITS = _RNG.normal(size=(5, 3)).astype(np.float32) * 2
_WEIGHT, _TEMPERATURE = 0.7, 2.5
_IS_LABELED = np.array([1, 1, 0, 1, 0], np.float32)
_LOSS_WEIGHTS = np.array([1, 0.5, 2, 1, 1], np.float32)


def _mixed(hard: np.ndarray, soft: np.ndarray) -> float:
    each = np.where(_IS_LABELED == 1, _WEIGHT * soft + (1 - _WEIGHT) * hard, soft)
    return (each * _LOSS_WEIGHTS).sum() / _LOSS_WEIGHTS.sum()


def _found(head, logits, teachers, labels) -> tuple[dict, np.ndarray]:
    loss = distillation_loss(head, _WEIGHT, _TEMPERATURE)
    features = {
        "input_ids": np.zeros((5, 1), np.int32),
        "label_ids": labels,
        "is_labeled": _IS_LABELED,
        "loss_weight": _LOSS_WEIGHTS,
        "soft_labels": mean_soft_labels(head, teachers, _TEMPERATURE),
    }
    scores = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(scores)
        sums = loss.sums(scores, features)
    return (
        loss.metrics({name: float(value) for name, value in sums.items()}),
        tape.gradient(sums[f"{head.name}_loss_sum"], scores).numpy(),
    )


def test_of_classes():
    labels = np.array([0, 2, 1, 1, 0])
    metrics, gradient = _found(CLASSIFICATION_LOSS, _LOGITS, _TEACHERS, labels)
    mean = (
        sum(special.softmax(one.astype(np.float64) / _TEMPERATURE, axis=-1) for one in _TEACHERS)
        / 2
    )
    student = special.log_softmax(_LOGITS.astype(np.float64) / _TEMPERATURE, axis=-1)
    hard = -special.log_softmax(_LOGITS.astype(np.float64), axis=-1)[np.arange(5), labels]
    assert metrics["loss"] == pytest.approx(
        _mixed(hard, -(_TEMPERATURE**2) * (mean * student).sum(-1)), rel=1e-5
    )
    assert metrics["accuracy"] == pytest.approx((_LOGITS.argmax(-1) == labels).mean())
    # Of a row without a label that of the teacher alone: T (q - p).
    expected = _TEMPERATURE * (np.exp(student) - mean)[2] * _LOSS_WEIGHTS[2]
    np.testing.assert_allclose(gradient[2], expected, rtol=0, atol=1e-5)


def test_of_classes_of_which_several_may_apply():
    """The weights of positives are for hard labels."""
    labels = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0], [0, 0, 1]])
    head = dataclasses.replace(MULTI_LABEL_LOSS, positive_weights=(1.0, 3.0, 0.5))
    metrics, _ = _found(head, _LOGITS, _TEACHERS, labels)
    mean = sum(special.expit(one.astype(np.float64) / _TEMPERATURE) for one in _TEACHERS) / 2
    chance = special.expit(_LOGITS.astype(np.float64))
    tempered = special.expit(_LOGITS.astype(np.float64) / _TEMPERATURE)
    hard = -(labels * np.log(chance) * [1, 3, 0.5] + (1 - labels) * np.log(1 - chance)).mean(-1)
    soft = -(_TEMPERATURE**2) * (mean * np.log(tempered) + (1 - mean) * np.log(1 - tempered)).mean(
        -1
    )
    assert metrics["loss"] == pytest.approx(_mixed(hard, soft), rel=1e-5)


def test_of_scores():
    labels, teachers = np.array([1.0, 2, 0, 4, 0], np.float32), [one[:, :1] for one in _TEACHERS]
    metrics, _ = _found(REGRESSION_LOSS, _LOGITS[:, :1], teachers, labels)
    soft = (_LOGITS[:, 0] - (teachers[0][:, 0] + teachers[1][:, 0]) / 2) ** 2
    assert metrics["loss"] == pytest.approx(_mixed((_LOGITS[:, 0] - labels) ** 2, soft), rel=1e-5)


def test_of_tokens_and_of_starts_and_ends():
    """A row is a token, or an example with two positions; the means are over those that count."""
    teacher, student = (_RNG.normal(size=(2, 4, 3)).astype(np.float32) for _ in range(2))
    labels = np.array([[0, -1, 2, 1], [1, 1, -1, -1]])
    features = {
        "input_ids": np.zeros((2, 4)),
        "label_ids": labels,
        "soft_labels": mean_soft_labels(TOKEN_CLASSIFICATION_LOSS, [teacher], _TEMPERATURE),
    }
    each = -(_TEMPERATURE**2) * (
        special.softmax(teacher / _TEMPERATURE, axis=-1)
        * special.log_softmax(student / _TEMPERATURE, axis=-1)
    ).sum(-1)
    sums = distillation_loss(TOKEN_CLASSIFICATION_LOSS, 1.0, _TEMPERATURE).sums(
        tf.constant(student), features
    )
    assert float(sums["token_classification_loss_sum"]) == pytest.approx(
        each[labels >= 0].sum(), rel=1e-5
    )
    taught, own = ([values[0, :, :2].T, values[1, :, :2].T] for values in (teacher, student))
    features = {
        "input_ids": np.zeros((2, 4)),
        "start_positions": [1, 0],
        "end_positions": [2, 3],
        "soft_labels": mean_soft_labels(SPAN_LOSS, [taught], _TEMPERATURE),
    }
    each = (
        sum(
            -(_TEMPERATURE**2)
            * (
                special.softmax(a / _TEMPERATURE, axis=-1)
                * special.log_softmax(b / _TEMPERATURE, axis=-1)
            ).sum(-1)
            for a, b in zip(taught, own, strict=True)
        )
        / 2
    )
    sums = distillation_loss(SPAN_LOSS, 1.0, _TEMPERATURE).sums(
        list(map(tf.constant, own)), features
    )
    assert float(sums["span_loss_sum"]) == pytest.approx(each.sum(), rel=1e-5)


def test_without_a_weight_the_teacher_says_nothing():
    features = {
        "input_ids": np.zeros((5, 1), np.int32),
        "label_ids": np.array([0, 2, 1, 1, 0]),
        "soft_labels": mean_soft_labels(CLASSIFICATION_LOSS, _TEACHERS, 1.0),
    }
    mixed = distillation_loss(CLASSIFICATION_LOSS, 0.0, 1.0).sums(tf.constant(_LOGITS), features)
    alone = CLASSIFICATION_LOSS.sums(tf.constant(_LOGITS), features)
    assert {name: float(value) for name, value in mixed.items()} == pytest.approx(
        {name: float(value) for name, value in alone.items()}, rel=1e-6
    )
