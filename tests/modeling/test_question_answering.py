import numpy as np
import pytest
import tensorflow as tf

from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.question_answering import SPAN, BertForQuestionAnswering
from tests.modeling.common import SMALL, arrays, dropout_stream, random_features


@pytest.mark.golden
def test_logits_loss_and_gradients_are_the_originals(golden):
  """What the original's create_model and its training loss give."""
  expected = arrays(golden / "tf1_heads/squad.npz")
  source = read_checkpoint(str(golden / "tf1_checkpoint"))
  model = BertForQuestionAnswering(source.config)
  report = load_weights(model, source)
  assert report.newly_initialised == ["cls/squad/output_weights", "cls/squad/output_bias"]
  variables = [model.span.output_weights.value, model.span.output_bias.value]
  for variable, name in zip(variables, ("output_weights", "output_bias"), strict=True):
    variable.assign(expected[name])
  with tf.GradientTape() as tape:
    logits = model(expected)
    sums = SPAN.sums(logits, expected)
    loss = sums["span_loss_sum"] / sums["span_count"]
  for one, name in zip(logits, ("start_logits", "end_logits"), strict=True):
    np.testing.assert_allclose(one, expected[name], atol=2e-5, rtol=0)
  np.testing.assert_allclose(loss, expected["loss"], atol=1e-5, rtol=0)
  assert SPAN.metrics({name: float(value) for name, value in sums.items()})["loss"] == pytest.approx(float(loss))
  for gradient, name in zip(tape.gradient(loss, variables), ("output_weights", "output_bias"), strict=True):
    golden_gradient = expected[f"grad_{name}"]
    np.testing.assert_allclose(gradient, golden_gradient, atol=1e-6 + 2e-5 * np.abs(golden_gradient).max(), rtol=0)


def test_dropout_is_that_of_the_encoder_only():
  """The original has none between the encoder and the scores of spans."""
  features = {name: value for name, value in random_features(SMALL, 3, 12, 2).items() if value.shape == (3, 12)}
  model = BertForQuestionAnswering(SMALL)
  stream = dropout_stream(1, 2)
  sequence_output = model.encode(features, stream)["sequence_output"]
  np.testing.assert_array_equal(model(features, dropout=stream)[0], model.span(sequence_output)[0])
  assert np.abs(np.asarray(model(features, dropout=stream)[0]) - model(features)[0]).max() > 1e-3
