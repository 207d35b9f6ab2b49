import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.training.devices import graph_function
from modeling import fine_tuning
from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.checkpoints.weights import HEADS
from tests.modeling.common import SMALL, arrays, dropout_stream, random_features


@pytest.mark.parametrize(
    "head, name, total",
    [
        (fine_tuning.ClassificationHead(SMALL, 2), "classification", 8.698298),
        (fine_tuning.QuestionAnsweringHead(SMALL, 2), "question_answering", 8.202427),
        (fine_tuning.TokenClassificationHead(SMALL, 2), "token_classification", 7.980077),
    ],
)
def test_the_place_in_checkpoints_and_the_initial_weights_of_a_seed_stay(head, name, total):
    head.build()
    assert HEADS[name].directory == head.key
    assert float(np.abs(head.output_weights.numpy()).sum()) == pytest.approx(total, abs=1e-4)


def test_a_tenth_of_the_input_is_dropped_in_training_only():
    head = fine_tuning.TokenClassificationHead(SMALL, SMALL.hidden_size)
    head.build()
    head.output_weights.assign(np.eye(SMALL.hidden_size, dtype=np.float32))
    ones = np.ones((8, 16, SMALL.hidden_size), np.float32)
    kept = np.asarray(head(ones, dropout=dropout_stream(1, 2)))
    assert np.mean(kept == 0) == pytest.approx(0.1, abs=0.03)
    assert kept.max() == pytest.approx(1 / 0.9, abs=1e-3)
    np.testing.assert_array_equal(head(ones), ones)


_INPUTS = ("input_ids", "input_mask", "segment_ids", "label_ids")


def golden_classifier(golden, classes, expected) -> fine_tuning.BertForClassification:
    checkpoint = "tf1_heads/classifier_model.ckpt" if classes == 3 else "tf1_checkpoint"
    model = fine_tuning.BertForClassification(
        read_checkpoint(str(golden / "tf1_checkpoint")).config, classes
    )
    report = load_weights(model, read_checkpoint(str(golden / checkpoint)))
    assert report.newly_initialized == ([] if classes == 3 else ["output_weights", "output_bias"])
    if classes != 3:
        model.classifier.output_weights.assign(expected["output_weights"])
        model.classifier.output_bias.assign(expected["output_bias"])
    return model


@pytest.mark.golden
@pytest.mark.parametrize("classes", [2, 3])
def test_logits_loss_and_gradients_are_the_originals(golden, classes):
    expected = arrays(golden / f"tf1_heads/classifier_labels{classes}.npz")
    model = golden_classifier(golden, classes, expected)
    kernels = [
        variable.value
        for variable in (
            model.classifier.output_weights,
            model.classifier.output_bias,
            model.encoder.pooler.kernel,
        )
    ]

    # As the trainer runs it: one graph for all lengths.
    @tf.function(
        input_signature=[
            {
                name: tf.TensorSpec([6] if name == "label_ids" else [6, None], tf.int32)
                for name in _INPUTS
            }
        ]
    )
    def run(features):
        with tf.GradientTape() as tape:
            logits = model(features)
            sums = fine_tuning.CLASSIFICATION_LOSS.sums(logits, features)
            loss = sums["classification_loss_sum"] / sums["classification_count"]
        return logits, sums, tape.gradient(loss, kernels)

    logits, sums, gradients = run({name: tf.constant(expected[name]) for name in _INPUTS})
    np.testing.assert_allclose(logits, expected["logits"], atol=2e-5, rtol=0)
    metrics = fine_tuning.CLASSIFICATION_LOSS.metrics(
        {name: float(value) for name, value in sums.items()}
    )
    assert metrics["loss"] == pytest.approx(float(expected["loss"]), abs=1e-5)
    assert metrics["accuracy"] == pytest.approx(
        np.mean(expected["logits"].argmax(-1) == expected["label_ids"])
    )
    for name, gradient in zip(
        ("output_weights", "output_bias", "pooler_kernel"), gradients, strict=True
    ):
        wanted = expected[f"grad_{name}"]
        np.testing.assert_allclose(
            gradient, wanted, atol=1e-6 + 2e-5 * np.abs(wanted).max(), rtol=0, err_msg=name
        )


def test_several_classes_are_binary_cross_entropies():
    rng = np.random.default_rng(2)
    logits, labels = rng.normal(0, 3, (6, 4)).astype(np.float32), rng.integers(0, 2, (6, 4))
    logits[0, 0] = 200.0
    real, weight = np.array([1, 1, 1, 1, 0, 1]), np.array([1, 0.5, 1, 2, 1, 1], np.float32)
    positive = (1.0, 2.0, 0.5, 3.0)
    loss = dataclasses.replace(fine_tuning.MULTI_LABEL_LOSS, positive_weights=positive)
    features = {"label_ids": labels, "is_real_example": real, "loss_weight": weight}
    sums = {name: float(value) for name, value in loss.sums(tf.constant(logits), features).items()}
    wide, shown = logits.astype(np.float64), real == 1
    losses = labels * np.log1p(np.exp(-wide)) * positive + (1 - labels) * np.logaddexp(0, wide)
    expected = np.sum((losses.mean(axis=1) * weight)[shown]) / weight[shown].sum()
    predicted, true = (wide >= 0)[shown], labels[shown]
    assert loss.metrics(sums) == pytest.approx(
        {
            "loss": expected,
            "subset_accuracy": np.mean((predicted == true).all(axis=1)),
            "micro_f1": 2 * (predicted & (true == 1)).sum() / (predicted.sum() + true.sum()),
        },
        rel=1e-6,
    )


@pytest.mark.golden
def test_logits_loss_and_gradients_of_answers_are_the_originals(golden):
    """What the original's create_model and its training loss give."""
    expected = arrays(golden / "tf1_heads/squad.npz")
    source = read_checkpoint(str(golden / "tf1_checkpoint"))
    model = fine_tuning.BertForQuestionAnswering(source.config)
    report = load_weights(model, source)
    assert report.newly_initialized == ["cls/squad/output_weights", "cls/squad/output_bias"]
    variables = [model.span.output_weights.value, model.span.output_bias.value]
    for variable, name in zip(variables, ("output_weights", "output_bias"), strict=True):
        variable.assign(expected[name])
    with tf.GradientTape() as tape:
        logits = model(expected)
        sums = fine_tuning.SPAN_LOSS.sums(logits, expected)
        loss = sums["span_loss_sum"] / sums["span_count"]
    for one, name in zip(logits, ("start_logits", "end_logits"), strict=True):
        np.testing.assert_allclose(one, expected[name], atol=2e-5, rtol=0)
    np.testing.assert_allclose(loss, expected["loss"], atol=1e-5, rtol=0)
    metrics = fine_tuning.SPAN_LOSS.metrics({name: float(value) for name, value in sums.items()})
    assert metrics["loss"] == pytest.approx(float(loss))
    for gradient, name in zip(
        tape.gradient(loss, variables), ("output_weights", "output_bias"), strict=True
    ):
        golden_gradient = expected[f"grad_{name}"]
        np.testing.assert_allclose(
            gradient, golden_gradient, atol=1e-6 + 2e-5 * np.abs(golden_gradient).max(), rtol=0
        )


def test_dropout_is_that_of_the_encoder_only():
    """The original has none between the encoder and the scores of spans."""
    features = {
        name: value
        for name, value in random_features(SMALL, 3, 12, 2).items()
        if value.shape == (3, 12)
    }
    model = fine_tuning.BertForQuestionAnswering(SMALL)
    stream = dropout_stream(1, 2)
    sequence_output = model.encode(features, stream)["sequence_output"]
    np.testing.assert_array_equal(
        model(features, dropout=stream)[0], model.span(sequence_output)[..., 0]
    )
    assert np.abs(np.asarray(model(features, dropout=stream)[0]) - model(features)[0]).max() > 1e-3


BATCH, CHOICES, LENGTH = 4, 3, 9
NAMES = ("input_ids", "input_mask", "segment_ids")
# Every choice is a sequence of its own.
FLAT = {name: random_features(SMALL, BATCH * CHOICES, LENGTH, 2)[name] for name in NAMES}
FEATURES = {name: value.reshape(BATCH, CHOICES, LENGTH) for name, value in FLAT.items()}


@pytest.fixture(scope="module")
def model():
    return fine_tuning.BertForMultipleChoice(SMALL, seed=3)


def test_each_choice_is_scored_as_a_sequence_of_its_own(model):
    pooled = np.asarray(model.encode(FLAT)["pooled_output"])
    scores = pooled @ model.multiple_choice.output_weights.numpy()[0]
    np.testing.assert_allclose(model(FEATURES), scores.reshape(BATCH, CHOICES), rtol=0, atol=1e-5)
    np.testing.assert_allclose(model(list(FEATURES.values())), model(FEATURES), rtol=0, atol=0)


NUM_CHOICES = np.array([2, 3, 1, 3], np.int32)
RAGGED = {**FEATURES, "num_choices": NUM_CHOICES}


@pytest.mark.parametrize("jit_compile", [False, True])
def test_questions_of_different_numbers_of_choices(model, jit_compile):
    """Whatever the ids of the missing choices are, the others have the logits of a question without
    them."""
    logits = np.asarray(graph_function(lambda features: model(features), jit_compile)(RAGGED))
    whole = np.asarray(model(FEATURES))
    is_there = np.arange(CHOICES) < NUM_CHOICES[:, None]
    np.testing.assert_allclose(logits[is_there], whole[is_there], rtol=0, atol=1e-5)
    assert (logits[~is_there] == np.float32(fine_tuning.MISSING)).all()
    features = {"label_ids": np.array([1, 0, 0, 2]), "is_real_example": np.ones(4)}
    sums = fine_tuning.MULTIPLE_CHOICE_LOSS.sums(tf.constant(logits), features)
    rows = [whole[number, :count] for number, count in enumerate(NUM_CHOICES)]
    expected = sum(
        np.log(np.exp(row).sum()) - row[label]
        for row, label in zip(rows, (1, 0, 0, 2), strict=True)
    )
    assert float(sums["multiple_choice_loss_sum"]) == pytest.approx(expected, rel=1e-5)


def test_a_choice_without_a_token_is_missing(model):
    mask = np.array(FEATURES["input_mask"])
    mask[0, 2] = mask[2, 1:] = 0
    logits = np.asarray(model({**FEATURES, "input_mask": mask}))
    expected = np.asarray(model({**FEATURES, "num_choices": np.array([2, 3, 1, 3])}))
    np.testing.assert_allclose(logits, expected, rtol=0, atol=1e-5)
    assert (logits == np.float32(fine_tuning.MISSING)).sum() == 3


def test_nothing_is_computed_for_missing_choices(model, monkeypatch):
    seen, encode = [], fine_tuning.BertForMultipleChoice.encode

    def watched(self, features, *rest):
        seen.append(tuple(features["input_ids"].shape))
        return encode(self, features, *rest)

    monkeypatch.setattr(fine_tuning.BertForMultipleChoice, "encode", watched)
    model(RAGGED)
    assert seen == [(NUM_CHOICES.sum(), LENGTH)]


@pytest.mark.parametrize("features", [FEATURES, RAGGED], ids=["dense", "with missing choices"])
def test_a_part_of_the_batch_drops_what_the_whole_batch_does(model, features):
    def logits(rows, first, jit_compile=False):
        part = {name: value[rows] for name, value in features.items()}

        def compute():
            return model(part, dropout=dropout_stream(1, tf.constant(2, tf.int64), first))

        return graph_function(compute, jit_compile)().numpy()

    whole = logits(slice(0, 4), 0)
    np.testing.assert_allclose(
        np.concatenate([logits(slice(0, 1), 0), logits(slice(1, 4), 1)]), whole, rtol=0, atol=1e-5
    )
    # XLA computes the missing choices, too.
    np.testing.assert_allclose(logits(slice(0, 4), 0, jit_compile=True), whole, rtol=0, atol=1e-5)
    # A choice drops the same whether or not others are missing.
    dense = model(FEATURES, dropout=dropout_stream(1, tf.constant(2, tf.int64)))
    exists = whole != fine_tuning.MISSING
    np.testing.assert_allclose(whole[exists], np.asarray(dense)[exists], rtol=0, atol=1e-5)
