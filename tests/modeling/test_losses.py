import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from modeling.losses import softmax_cross_entropy


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 3000.0])
@pytest.mark.parametrize("jit_compile", [False, True])
def test_losses_and_gradients_are_those_of_float64(scale, jit_compile):
  rng = np.random.default_rng(0)
  logits = (rng.normal(size=(6, 40)) * scale).astype(np.float32)
  labels, weights = rng.integers(0, 40, 6), rng.random(6).astype(np.float32)

  @tf.function(jit_compile=jit_compile)
  def run(scores):
    with tf.GradientTape() as tape:
      tape.watch(scores)
      losses, predictions = softmax_cross_entropy(scores, tf.constant(labels))
      total = tf.reduce_sum(losses * weights)
    return losses, predictions, tape.gradient(total, scores)

  losses, predictions, gradient = run(tf.constant(logits))
  exact = -special.log_softmax(logits.astype(np.float64), axis=-1)[np.arange(6), labels]
  np.testing.assert_allclose(losses, exact, rtol=1e-6, atol=1e-5)
  np.testing.assert_array_equal(predictions, logits.argmax(-1))
  exact = (special.softmax(logits.astype(np.float64), axis=-1) - np.eye(40)[labels]) * weights[:, None]
  np.testing.assert_allclose(gradient, exact, rtol=0, atol=1e-6)


def test_of_equal_scores_the_first_is_predicted():
  losses, predictions = softmax_cross_entropy(tf.zeros([2, 8]), tf.constant([0, 5]))
  assert predictions.numpy().tolist() == [0, 0]
  np.testing.assert_allclose(losses, np.log(8), rtol=1e-6)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_score_that_is_no_number_shows_in_the_loss(wrong):
  losses, _ = softmax_cross_entropy(tf.constant([[0.0, wrong, 1.0], [0.0, 1.0, 2.0]]), tf.constant([0, 0]))
  assert np.isfinite(losses.numpy()).tolist() == [False, True]
