"""The count of arithmetic against the matrix products that TensorFlow itself counts in a graph."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.profiler import model_analyzer, option_builder

from modeling.classification import BertForClassification
from modeling.flops import training_flops
from modeling.pretraining import BertForPreTraining
from tests.modeling.common import SMALL, random_features

LENGTH, PREDICTIONS, BATCH = 16, 4, 3


def products(function, *arguments) -> float:
  """Operations of the matrix products in the graph of a function."""
  graph = tf.function(function, autograph=False).get_concrete_function(*arguments).graph
  options = option_builder.ProfileOptionBuilder(option_builder.ProfileOptionBuilder.float_operation())
  return model_analyzer.profile(graph, options=options.with_empty_output().build()).total_float_ops


def test_a_training_step_is_three_forward_passes():
  # Large enough for the matrix products to be nearly all there is.
  config = dataclasses.replace(SMALL, hidden_size=64, num_attention_heads=2, intermediate_size=256, vocab_size=1000,
                               hidden_act="relu", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
  model = BertForPreTraining(config)
  features = {name: tf.constant(value) for name, value in random_features(config, BATCH, LENGTH, PREDICTIONS).items()}
  counted = products(model, features)
  assert BATCH * training_flops(config, LENGTH, PREDICTIONS) == pytest.approx(3 * counted, rel=0.05)


def test_what_is_frozen_has_no_gradients():
  whole, layers = training_flops(SMALL, 1, 3), SMALL.num_hidden_layers
  head = 2 * training_flops(dataclasses.replace(SMALL, num_hidden_layers=layers // 2), 1, 3) - whole
  frozen = {(layers, True, False): 1 / 3, (layers, False, False): 2 / 3, (0, True, False): 1, (0, False, True): 2 / 3}
  for (frozen_layers, frozen_embeddings, has_lora), share in frozen.items():
    found = training_flops(SMALL, 1, 3, frozen_layers=frozen_layers, frozen_embeddings=frozen_embeddings,
                           has_lora=has_lora)
    # Attention has no kernels: its two gradients stay where gradients go through.
    assert (found - head) / (whole - head) == pytest.approx(share, rel=0.1)
    assert found <= whole


def test_lengths_of_several_rows_at_once():
  lengths = np.array([3, 16])
  np.testing.assert_allclose(training_flops(SMALL, lengths, 0), [training_flops(SMALL, one, 0) for one in (3, 16)])


def test_a_bilstm_is_counted():
  config = dataclasses.replace(SMALL, bilstm_units=8)
  model = BertForClassification(config, 2)
  kernels = sum(np.prod(variable.shape) for variable in model.bilstm.weights if len(variable.shape) == 2)
  assert training_flops(config, 16, 0) - training_flops(SMALL, 16, 0) == 3 * 2 * 16 * kernels
