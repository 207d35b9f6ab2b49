"""Poolings, and losses of sentence vectors against calculations pair by pair, and against sentence-transformers."""

import numpy as np
import pytest
import tensorflow as tf

from bert_common.errors import UserError
from modeling.config import POOLINGS
from modeling.sentence_embedding import (
  NO_TEXT,
  BertForSentenceEmbedding,
  CosineRegression,
  InBatchNegatives,
  OnlineContrastive,
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
  expected = [{"mean": row[:n].mean(0), "max": row[:n].max(0), "cls": row[0]}[pooling]
              for row, n in zip(states, (3, 5), strict=True)]
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
    np.testing.assert_allclose(model(given).numpy().reshape(6, -1), rows, atol=1e-5)


def test_the_same_text_twice_is_dropped_differently_and_alike_in_parts():
  model = BertForSentenceEmbedding(SMALL, seed=2)
  ids = np.repeat(np.random.default_rng(3).integers(1, 50, (4, 1, 6)), 2, axis=1)
  vectors = model({"input_ids": ids}, dropout=dropout_stream(5, 7)).numpy()
  assert np.abs(vectors[:, 0] - vectors[:, 1]).max(1).min() > 0.01
  second = model({"input_ids": ids[2:]}, dropout=dropout_stream(5, 7, 2)).numpy()
  np.testing.assert_allclose(second, vectors[2:], atol=1e-5)


def in_batch_by_hand(vectors, texts, symmetric=False) -> list[float]:
  losses = []
  rows = range(len(vectors))
  for i in rows:
    if texts[i, 0] == NO_TEXT:
      losses.append(None)
      continue
    scores, backward = [20 * cosine(vectors[i, 0], vectors[i, 1])], [20 * cosine(vectors[i, 0], vectors[i, 1])]
    for j in rows:
      for k in range(1, vectors.shape[1]):
        is_positive_of_it = k == 1 and texts[j, 0] == texts[i, 0]
        if (j, k) != (i, 1) and texts[j, k] not in (NO_TEXT, texts[i, 0], texts[i, 1]) and not is_positive_of_it:
          scores.append(20 * cosine(vectors[i, 0], vectors[j, k]))
      if j != i and texts[j, 0] not in (NO_TEXT, texts[i, 0], texts[i, 1]) and texts[j, 1] != texts[i, 1]:
        backward.append(20 * cosine(vectors[j, 0], vectors[i, 1]))
    of = [np.log(np.exp(one).sum()) - one[0] for one in map(np.array, (scores, backward) if symmetric else (scores,))]
    losses.append(float(np.mean(of)))
  return losses


@pytest.mark.parametrize("symmetric", [False, True])
def test_in_batch_negatives_without_duplicates_missing_and_padding_examples(symmetric):
  texts = TEXTS.copy()
  texts[1, 1] = texts[0, 1]            # the same positive
  texts[2, 0] = texts[3, 0]            # the same anchor
  texts[3, 2] = texts[4, 1]            # a negative that is another's positive
  texts[4, 2] = NO_TEXT                # a negative that is not there
  texts[5] = NO_TEXT                   # a padding example
  losses, _ = InBatchNegatives("x", symmetric=symmetric).measure(VECTORS, texts)
  expected = in_batch_by_hand(VECTORS, texts, symmetric)
  np.testing.assert_allclose(losses[:5], expected[:5], rtol=2e-5, atol=1e-6)
  # What does not count has no gradient either.
  with tf.GradientTape() as tape:
    vectors = tf.constant(VECTORS)
    tape.watch(vectors)
    sums = InBatchNegatives("x", symmetric=symmetric).sums(
        vectors, {"text_ids": texts, "is_real_example": np.array([1, 1, 1, 1, 1, 0])})
  gradient = tape.gradient(sums["x_loss_sum"], vectors).numpy()
  assert not gradient[5].any() and not gradient[4, 2].any() and gradient[:4].any(axis=2).all()
  assert float(sums["x_count"]) == 5


def test_cosine_regression():
  labels = np.linspace(0, 1, 6).astype(np.float32)
  found = CosineRegression("x").score(VECTORS[:, :2], labels)
  errors = [cosine(*row) - label for row, label in zip(VECTORS[:, :2], labels, strict=True)]
  assert found["loss"] == pytest.approx(np.square(errors).mean(), rel=1e-5)
  assert found["mean_absolute_error"] == pytest.approx(np.abs(errors).mean(), rel=1e-5)


@pytest.mark.parametrize("labels", [[1, 0, 1, 0, 1, 0], [1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]])
def test_losses_and_gradients_are_those_of_sentence_transformers(labels):
  torch = pytest.importorskip("torch")
  losses = pytest.importorskip("sentence_transformers.sentence_transformer.losses")
  labels = np.array(labels, np.float32)
  pairs = VECTORS[:, :2].copy()
  pairs[3] = [[1, 0, 0, 0, 0, 0, 0, 0], [.9, .1, 0, 0, 0, 0, 0, 0]]
  both = {"directions": ("query_to_doc", "doc_to_query"), "partition_mode": "per_direction"}
  cases = [
      (InBatchNegatives("x"), losses.MultipleNegativesRankingLoss(None), VECTORS, 6),
      (InBatchNegatives("x", symmetric=True), losses.MultipleNegativesRankingLoss(None, **both), VECTORS, 6),
      (CosineRegression("x"), losses.CosineSimilarityLoss(None), pairs, 6),
      # Theirs is the sum over the batch.
      (OnlineContrastive("x"), losses.OnlineContrastiveLoss(None), pairs, 1)]
  for ours, theirs, vectors, count in cases:
    features = {"text_ids": TEXTS[:, :vectors.shape[1]], "label_ids": labels, "input_ids": TEXTS}
    with tf.GradientTape() as tape:
      given = tf.constant(vectors)
      tape.watch(given)
      loss = ours.sums(given, features)["x_loss_sum"] / count
    other = torch.tensor(vectors, requires_grad=True)
    expected = theirs.compute_loss_from_embeddings([other[:, k] for k in range(vectors.shape[1])],
                                                   torch.tensor(labels))
    expected.backward()
    assert float(loss) == pytest.approx(expected.item(), rel=1e-5, abs=1e-7)
    np.testing.assert_allclose(tape.gradient(loss, given), other.grad.numpy(), atol=1e-5)


def hard_pairs_by_hand(pairs, labels, margin) -> float:
  """The sum over the batch, as `OnlineContrastiveLoss` of sentence-transformers 6.2 computes it."""
  distances = np.array([1 - cosine(*pair) for pair in pairs])
  negative, positive = distances[labels == 0], distances[labels == 1]
  hard_negative = negative[negative < (positive.max() if len(positive) else negative.mean())]
  hard_positive = positive[positive > (negative.min() if len(negative) else positive.mean())]
  return np.square(hard_positive).sum() + np.square(np.maximum(margin - hard_negative, 0)).sum()


@pytest.mark.parametrize(("distances", "labels", "expected"), [
    # A single positive pair, which is nearer than all negative ones; one of each kind, both hard; one kind alone.
    ([0.2, 0.3, 0.7], [1, 0, 0], 0.0), ([0.4, 0.1], [1, 0], 0.4**2 + 0.4**2), ([0.3, 0.1], [1, 1], 0.3**2),
    ([0.3, 0.1], [0, 0], 0.4**2), ([0.9, 0.2, 0.3, 0.6], [1, 1, 0, 0], 0.9**2 + 0.2**2)])
def test_hard_pairs_count_though_there_is_one_of_a_kind(distances, labels, expected):
  angles = np.arccos(1 - np.array(distances))
  pairs = np.stack([np.tile([1.0, 0.0], (len(angles), 1)), np.stack([np.cos(angles), np.sin(angles)], 1)], 1)
  labels = np.array(labels, np.float32)
  texts = np.arange(2 * len(labels)).reshape(-1, 2)
  losses, _ = OnlineContrastive("x").measure(tf.constant(pairs, tf.float32), (texts, labels))
  assert float(np.sum(losses)) == pytest.approx(expected, abs=1e-5)
  assert hard_pairs_by_hand(pairs, labels, 0.5) == pytest.approx(expected, abs=1e-9)
  drawn = np.random.default_rng(len(labels)).normal(size=(8, len(labels), 2, 3)).astype(np.float32)
  found = [np.sum(OnlineContrastive("x").measure(one, (texts, labels))[0]) for one in drawn]
  assert found == pytest.approx([hard_pairs_by_hand(one, labels, 0.5) for one in drawn], abs=1e-5)


def test_online_contrastive_without_padding_examples():
  labels = np.array([1, 0, 1, 0, 1, 0], np.float32)
  texts = TEXTS[:, :2].copy()
  texts[4:] = NO_TEXT
  loss = OnlineContrastive("x")
  whole = loss.measure(VECTORS[:4, :2], (texts[:4], labels[:4]))
  padded = loss.measure(VECTORS[:, :2], (texts, labels))
  for one, other in ((whole[0], padded[0]), (whole[1]["correct"], padded[1]["correct"])):
    np.testing.assert_allclose(one, other[:4], rtol=1e-6)
  assert not np.any(padded[0][4:])


def test_an_unknown_pooling_is_refused():
  with pytest.raises(UserError, match="choose one of mean, cls, max"):
    BertForSentenceEmbedding(SMALL, pooling="sum")
