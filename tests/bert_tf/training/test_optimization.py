import json

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.training.optimization import AdamWeightDecay, layerwise_factors
from modeling.checkpoints.weights import raw_variables
from tests.modeling.common import golden_model


@pytest.mark.golden
def test_the_decayed_variables_of_the_original(golden):
  expected = json.loads((golden / "optimizer/weight_decay_lists.json").read_text())["pretraining"]
  optimizer = AdamWeightDecay(raw_variables(golden_model(golden)))
  decayed, undecayed = ([name for name, is_decayed in zip(optimizer.names, optimizer.decayed, strict=True)
                         if is_decayed is wanted] for wanted in (True, False))
  assert (len(decayed), len(undecayed)) == (24, 38)
  assert sorted(decayed) == sorted(expected["decayed"])
  assert sorted(undecayed) == sorted(expected["not_decayed"])


@pytest.mark.parametrize("bias_correction", [False, True])
def test_against_adamw_in_numpy(bias_correction):
  rng = np.random.default_rng(0)
  weights = {"a/kernel": rng.normal(size=(4, 3)), "a/bias": rng.normal(size=3)}
  variables = {name: tf.Variable(value, dtype=tf.float32) for name, value in weights.items()}
  optimizer = AdamWeightDecay(variables, bias_correction=bias_correction)
  m = {name: np.zeros_like(value) for name, value in weights.items()}
  v = {name: np.zeros_like(value) for name, value in weights.items()}
  for step in range(6):
    # Norms below and above the clipping.
    gradients = {name: rng.normal(size=value.shape) * 10.0**(step - 3) for name, value in weights.items()}
    norm = np.sqrt(sum(np.sum(gradient**2) for gradient in gradients.values()))
    found = optimizer.update([tf.constant(gradient, tf.float32) for gradient in gradients.values()],
                             tf.constant(0.1), tf.constant(step, tf.int64))
    assert float(found) == pytest.approx(norm, rel=1e-6)
    for name in weights:
      gradient = gradients[name] / max(norm, 1.0)
      m[name] = 0.9 * m[name] + 0.1 * gradient
      v[name] = 0.999 * v[name] + 0.001 * gradient**2
      corrections = (1 - 0.9**(step + 1), 1 - 0.999**(step + 1)) if bias_correction else (1, 1)
      change = m[name] / corrections[0] / (np.sqrt(v[name] / corrections[1]) + 1e-6)
      weights[name] = weights[name] - 0.1 * (change + (0.01 * weights[name] if name == "a/kernel" else 0))
      np.testing.assert_allclose(variables[name].numpy(), weights[name], rtol=1e-4, atol=1e-6)


def test_a_gradient_that_is_not_finite_changes_nothing_where_it_is_skipped():
  variable = tf.Variable([1.0, 2.0])
  optimizer = AdamWeightDecay({"kernel": variable})
  zero = tf.constant(0, tf.int64)
  optimizer.update([tf.constant([0.1, 0.1])], tf.constant(0.1), zero, skip_non_finite=True)
  before = [value.numpy() for value in (variable, *optimizer.m, *optimizer.v)]
  norm = optimizer.update([tf.constant([np.inf, 0.1])], tf.constant(0.1), zero, skip_non_finite=True)
  assert not np.isfinite(float(norm))
  for value, old in zip((variable, *optimizer.m, *optimizer.v), before, strict=True):
    np.testing.assert_array_equal(value.numpy(), old)


def test_learning_rates_that_fall_from_layer_to_layer():
  names = ["bert/embeddings/word_embeddings", "bert/encoder/layer_0/output/dense/bias",
           "bert/encoder/layer_11/output/dense/bias", "bert/pooler/dense/kernel", "cls/tagging/output_weights"]
  assert layerwise_factors(names, 0.5) == [0.5**13, 0.5**12, 0.5, 1.0, 1.0]
  assert layerwise_factors(names, 1.0) == [1.0] * 5
  variables = {name: tf.Variable([2.0]) for name in names}
  optimizer = AdamWeightDecay(variables, rate_factors=layerwise_factors(names, 0.5))
  plain = AdamWeightDecay({name: tf.Variable([2.0]) for name in names})
  for one in (optimizer, plain):
    one.update([tf.constant([0.1])] * 5, tf.constant(0.1), tf.constant(0, tf.int64))
  for factor, changed, expected in zip(optimizer.rate_factors, optimizer.variables, plain.variables, strict=True):
    assert 2.0 - float(changed[0]) == pytest.approx(factor * (2.0 - float(expected[0])), abs=1e-6)
