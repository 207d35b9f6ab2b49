import numpy as np
import pytest
import tensorflow as tf

from modeling.multiple_choice import CHOICE, MISSING, BertForMultipleChoice
from tests.modeling.common import SMALL, dropout_stream, random_features

BATCH, CHOICES, LENGTH = 4, 3, 9
NAMES = ("input_ids", "input_mask", "segment_ids")
# Every choice is a sequence of its own.
FLAT = {name: random_features(SMALL, BATCH * CHOICES, LENGTH, 2)[name] for name in NAMES}
FEATURES = {name: value.reshape(BATCH, CHOICES, LENGTH) for name, value in FLAT.items()}


@pytest.fixture(scope="module")
def model():
  return BertForMultipleChoice(SMALL, seed=3)


def test_each_choice_is_scored_as_a_sequence_of_its_own(model):
  pooled = np.asarray(model.encode(FLAT)["pooled_output"])
  scores = pooled @ model.multiple_choice.output_weights.numpy()[0]
  np.testing.assert_allclose(model(FEATURES), scores.reshape(BATCH, CHOICES), rtol=0, atol=1e-5)
  np.testing.assert_allclose(model(list(FEATURES.values())), model(FEATURES), rtol=0, atol=0)


NUM_CHOICES = np.array([2, 3, 1, 3], np.int32)
RAGGED = {**FEATURES, "num_choices": NUM_CHOICES,
          "first_choice": (np.cumsum(NUM_CHOICES) - NUM_CHOICES).astype(np.int32)}


@pytest.mark.parametrize("skip_missing", [True, False])
def test_questions_of_different_numbers_of_choices(model, skip_missing):
  """Whatever the ids of the missing choices are, the others have the logits of a question without them."""
  logits = np.asarray(tf.function(lambda features: model(features, skip_missing=skip_missing))(RAGGED))
  whole = np.asarray(model(FEATURES))
  is_there = np.arange(CHOICES) < NUM_CHOICES[:, None]
  np.testing.assert_allclose(logits[is_there], whole[is_there], rtol=0, atol=1e-5)
  assert (logits[~is_there] == np.float32(MISSING)).all()
  sums = CHOICE.sums(tf.constant(logits), {"label_ids": np.array([1, 0, 0, 2]), "is_real_example": np.ones(4)})
  rows = [whole[number, :count] for number, count in enumerate(NUM_CHOICES)]
  expected = sum(np.log(np.exp(row).sum()) - row[label] for row, label in zip(rows, (1, 0, 0, 2), strict=True))
  assert float(sums["multiple_choice_loss_sum"]) == pytest.approx(expected, rel=1e-5)


def test_nothing_is_computed_for_missing_choices(model, monkeypatch):
  seen, encode = [], BertForMultipleChoice.encode

  def watched(self, features, *rest):
    seen.append(tuple(features["input_ids"].shape))
    return encode(self, features, *rest)

  monkeypatch.setattr(BertForMultipleChoice, "encode", watched)
  model(RAGGED)
  assert seen == [(NUM_CHOICES.sum(), LENGTH)]


@pytest.mark.parametrize("features", [FEATURES, RAGGED], ids=["dense", "with missing choices"])
def test_a_part_of_the_batch_drops_what_the_whole_batch_does(model, features):
  def logits(rows, first):
    stream = dropout_stream(1, tf.constant(2, tf.int64), first)
    return np.asarray(model({name: value[rows] for name, value in features.items()}, dropout=stream))

  whole = logits(slice(0, 4), 0)
  np.testing.assert_allclose(np.concatenate([logits(slice(0, 1), 0), logits(slice(1, 4), 1)]), whole, rtol=0, atol=1e-5)
  # Where no choice is missing, what the dense batch drops.
  full = {**FEATURES, "num_choices": np.full(4, 3, np.int32), "first_choice": np.arange(0, 12, 3, dtype=np.int32)}
  stream = dropout_stream(1, tf.constant(2, tf.int64))
  np.testing.assert_allclose(model(full, dropout=stream), model(FEATURES, dropout=stream), rtol=0, atol=1e-5)
