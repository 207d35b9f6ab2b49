"""The forms for programs that XLA compiles as a whole compute what the usual ones do."""

import numpy as np
import pytest
import tensorflow as tf

from modeling.layers import LayerNorm, activation, compiled_whole, gather_positions, is_compiled_whole
from modeling.losses import softmax_cross_entropy
from modeling.pretraining import NEXT_SENTENCE, BertForPreTraining, masked_lm_loss, pretraining_sums
from tests.modeling.common import SMALL, dropout_stream, random_features


def gradients(function, arguments, whole):
  """Value and gradients of the sum of squares."""
  @tf.function(jit_compile=True, autograph=False)
  def compute(arguments):
    with compiled_whole(whole), tf.GradientTape() as tape:
      tape.watch(arguments)
      result = function(*arguments)
      total = tf.reduce_sum(tf.square(result))
    return result, *tape.gradient(total, arguments)

  return [one.numpy() for one in compute(arguments)]


def normal(*shape, seed=0):
  return tf.random.stateless_normal(shape, seed=[seed, 1])


def layer_norm(x, gamma, beta):
  layer = LayerNorm(1e-12)
  layer.gamma, layer.beta = gamma, beta
  return layer.call(x)


LABELS, POSITIONS = tf.constant([3, 0, 9, 3]), tf.constant([[0, 4, 4], [2, 1, 0]])


@pytest.mark.parametrize("function, arguments", [
    (layer_norm, [normal(2, 5, 8), normal(8, seed=2), normal(8, seed=3)]),
    (lambda x: gather_positions(x, POSITIONS), [normal(2, 5, 8)]),
    (lambda scores: softmax_cross_entropy(scores, LABELS)[0], [5 * normal(4, 10)]),
    (activation("gelu", training=True), [4 * normal(6, 7)])], ids=["LayerNorm", "positions", "cross-entropy", "GELU"])
def test_values_and_gradients_are_the_same(function, arguments):
  for found, expected in zip(gradients(function, arguments, True), gradients(function, arguments, False), strict=True):
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * np.abs(expected).max())


def test_a_training_step_is_the_same():
  """With dropout: masks do not depend on how the step is computed."""
  model = BertForPreTraining(SMALL)
  features = {name: tf.constant(value) for name, value in random_features(SMALL, 4, 16, 3).items()}
  variables = [one.value for one in model.trainable_variables]

  def step(whole):
    @tf.function(jit_compile=True, autograph=False)
    def compute():
      with compiled_whole(whole), tf.GradientTape() as tape:
        sums = pretraining_sums(model(features, dropout=dropout_stream(1, tf.constant(5, tf.int64))), features,
                                (masked_lm_loss(None), NEXT_SENTENCE))
        loss = sums["masked_lm_loss_sum"] + sums["next_sentence_loss_sum"]
      return loss, [tf.convert_to_tensor(one) for one in tape.gradient(loss, variables)]

    return compute()

  (loss, found), (usual_loss, expected) = step(True), step(False)
  np.testing.assert_allclose(loss, usual_loss, rtol=1e-6)
  for variable, one, other in zip(model.trainable_variables, found, expected, strict=True):
    np.testing.assert_allclose(one, other, rtol=0, atol=2e-6 * max(np.abs(other).max(), 1.0), err_msg=variable.path)


def test_it_is_in_effect_within_the_block_only():
  assert not is_compiled_whole()
  with compiled_whole():
    assert is_compiled_whole()
    with compiled_whole(False):
      assert not is_compiled_whole()
  assert not is_compiled_whole()
