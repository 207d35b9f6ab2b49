"""The tagger on fixed activations: ways of combining layers, padding, weights that start independently."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from modeling.checkpoints.weights import original_names
from modeling.dropout import dropout_stream
from modeling.feature_tagger import BertForFeatureTagging, FeatureTagger
from tests.modeling.common import SMALL


def test_ways_of_combining_layers():
  hidden = SMALL.hidden_size
  states = np.random.default_rng(1).normal(size=(2, 3, 4, hidden)).astype(np.float32)
  mask = tf.constant([[True, True, True], [True, False, False]])
  for combine, width in (("concat", 4 * hidden), ("sum", hidden), ("weighted_sum", hidden)):
    tagger = FeatureTagger(SMALL, 3, 4, combine, units=2, seed=1)
    assert tagger(states, mask).shape == (2, 3, 3)
    assert tagger.lstms[0].forward_layer.cell.kernel.shape[0] == width
    # What stands after a sentence does not matter.
    changed = np.concatenate([states[:, :1], states[:, 1:] + 7.0], 1)
    np.testing.assert_allclose(tagger(changed, mask)[1, 0], tagger(states, mask)[1, 0], atol=1e-6)
  with pytest.raises(ValueError, match="none of concat"):
    FeatureTagger(SMALL, 3, 4, "mean")


def test_no_two_weights_start_alike():
  """Neither directions, nor layers, nor layers of different seeds."""
  starts = {}
  for seed in range(4):
    model = BertForFeatureTagging(SMALL, 3, (0, 1), "concat", units=8, depth=3, seed=seed)
    starts |= {(seed, name): np.asarray(one) for name, one in original_names(model).items()
               if name.startswith("feature_tagger/lstm") and not name.endswith("bias")}
  assert len(starts) == 4 * 3 * 2 * 2
  for (one, a), (other, b) in itertools.combinations(starts.items(), 2):
    rows = min(len(a), len(b))
    assert not np.allclose(a[:rows, :8], b[:rows, :8]), (one, other)


def test_dropout_is_a_function_of_seed_and_step():
  model = BertForFeatureTagging(SMALL, 3, (0, 1), "concat", units=8, depth=1, dropout=0.5, seed=1)
  states = np.random.default_rng(1).normal(size=(4, 5, 2, SMALL.hidden_size)).astype(np.float16)
  features = {"states": states, "input_mask": np.ones((4, 5), np.int32)}
  whole = model(features, dropout=dropout_stream(1, tf.constant(7, tf.int64)))
  half = model({name: value[2:] for name, value in features.items()},
               dropout=dropout_stream(1, tf.constant(7, tf.int64), 2))
  np.testing.assert_allclose(whole[2:], half, atol=1e-6)
  assert not np.allclose(whole, model(features, dropout=dropout_stream(1, tf.constant(8, tf.int64))))
  assert not model.encoder.trainable_variables and len(model.trainable_variables) == 8
