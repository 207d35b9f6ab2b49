import numpy as np
import pytest
import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.training.devices import graph_function
from modeling.config import POOLINGS
from modeling.sentence_embedding import (
    NO_TEXT,
    BertForSentenceEmbedding,
    CosineRegression,
    InBatchNegatives,
    pool,
)
from tests.modeling.common import SMALL, dropout_stream, random_features

VECTORS = np.random.default_rng(0).normal(size=(6, 3, 8)).astype(np.float32)
TEXTS = np.arange(18).reshape(6, 3)


def cosine(a, b) -> float:
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_pooling_ignores_padding(pooling):
    states = np.random.default_rng(1).normal(size=(2, 5, 4)).astype(np.float32) - 3
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    expected = [
        {"mean": row[:n].mean(0), "max": row[:n].max(0), "cls": row[0]}[pooling]
        for row, n in zip(states, (3, 5), strict=True)
    ]
    np.testing.assert_allclose(pool(states, mask, pooling), expected, atol=1e-6)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_texts_of_an_example_are_those_of_rows(pooling):
    model = BertForSentenceEmbedding(SMALL, seed=2, pooling=pooling)
    features = {name: random_features(SMALL, 6, 8, 2)[name] for name in ("input_ids", "input_mask")}
    rows = model(features).numpy()
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)
    stacked = {name: value.reshape(3, 2, 8) for name, value in features.items()}
    lengths = np.broadcast_to(features["input_mask"].sum(1).reshape(3, 2).max(0), (3, 2))
    for given in (stacked, {**stacked, "text_lengths": lengths}):
        for jit_compile in (False, True):
            vectors = graph_function(lambda x: model(x), jit_compile)(given)
            np.testing.assert_allclose(vectors.numpy().reshape(6, -1), rows, atol=1e-5)


def test_the_same_text_twice_is_dropped_differently_and_alike_in_parts():
    model = BertForSentenceEmbedding(SMALL, seed=2)
    ids = np.repeat(np.random.default_rng(3).integers(1, 50, (4, 1, 6)), 2, axis=1)
    vectors = model({"input_ids": ids}, dropout=dropout_stream(5, 7)).numpy()
    assert np.abs(vectors[:, 0] - vectors[:, 1]).max(1).min() > 0.01
    second = model({"input_ids": ids[2:]}, dropout=dropout_stream(5, 7, 2)).numpy()
    np.testing.assert_allclose(second, vectors[2:], atol=1e-5)


def in_batch_by_hand(vectors, texts) -> list[float]:
    losses = []
    rows = range(len(vectors))
    for i in rows:
        if texts[i, 0] == NO_TEXT:
            losses.append(None)
            continue
        scores = [20 * cosine(vectors[i, 0], vectors[i, 1])]
        for j in rows:
            for k in range(1, vectors.shape[1]):
                is_positive_of_it = k == 1 and texts[j, 0] == texts[i, 0]
                if (
                    (j, k) != (i, 1)
                    and texts[j, k] not in (NO_TEXT, texts[i, 0], texts[i, 1])
                    and not is_positive_of_it
                ):
                    scores.append(20 * cosine(vectors[i, 0], vectors[j, k]))
        losses.append(float(np.log(np.exp(scores).sum()) - scores[0]))
    return losses


def test_in_batch_negatives_without_duplicates_missing_and_padding_examples():
    texts = TEXTS.copy()
    texts[1, 1] = texts[0, 1]  # the same positive
    texts[2, 0] = texts[3, 0]  # the same anchor
    texts[3, 2] = texts[4, 1]  # a negative that is another's positive
    texts[4, 2] = NO_TEXT  # a negative that is not there
    texts[5] = NO_TEXT  # a padding example
    losses, _ = InBatchNegatives("x").measure(VECTORS, texts)
    expected = in_batch_by_hand(VECTORS, texts)
    np.testing.assert_allclose(losses[:5], expected[:5], rtol=2e-5, atol=1e-6)
    # What does not count has no gradient either.
    with tf.GradientTape() as tape:
        vectors = tf.constant(VECTORS)
        tape.watch(vectors)
        sums = InBatchNegatives("x").sums(
            vectors, {"text_ids": texts, "is_real_example": np.array([1, 1, 1, 1, 1, 0])}
        )
    gradient = tape.gradient(sums["x_loss_sum"], vectors).numpy()
    assert not gradient[5].any() and not gradient[4, 2].any() and gradient[:4].any(axis=2).all()
    assert float(sums["x_count"]) == 5


def test_cosine_regression():
    labels = np.linspace(0, 1, 6).astype(np.float32)
    found = CosineRegression("x").score(VECTORS[:, :2], labels)
    errors = [cosine(*row) - label for row, label in zip(VECTORS[:, :2], labels, strict=True)]
    assert found["loss"] == pytest.approx(np.square(errors).mean(), rel=1e-5)
    assert found["mean_absolute_error"] == pytest.approx(np.abs(errors).mean(), rel=1e-5)


def test_losses_and_gradients_are_those_of_sentence_transformers():
    torch = pytest.importorskip("torch")
    losses = pytest.importorskip("sentence_transformers.sentence_transformer.losses")
    labels = np.array([1, 0, 1, 0, 1, 0], np.float32)
    cases = [
        (InBatchNegatives("x"), losses.MultipleNegativesRankingLoss(None), VECTORS),
        (CosineRegression("x"), losses.CosineSimilarityLoss(None), VECTORS[:, :2]),
    ]
    for ours, theirs, vectors in cases:
        features = {
            "text_ids": TEXTS[:, : vectors.shape[1]],
            "label_ids": labels,
            "input_ids": TEXTS,
        }
        with tf.GradientTape() as tape:
            given = tf.constant(vectors)
            tape.watch(given)
            loss = ours.sums(given, features)["x_loss_sum"] / 6
        other = torch.tensor(vectors, requires_grad=True)
        expected = theirs.compute_loss_from_embeddings(
            [other[:, k] for k in range(vectors.shape[1])], torch.tensor(labels)
        )
        expected.backward()
        assert float(loss) == pytest.approx(expected.item(), rel=1e-5, abs=1e-7)
        np.testing.assert_allclose(tape.gradient(loss, given), other.grad.numpy(), atol=1e-5)


def test_an_unknown_pooling_is_refused():
    with pytest.raises(UserError, match="choose one of mean, cls, max"):
        BertForSentenceEmbedding(SMALL, pooling="sum")
