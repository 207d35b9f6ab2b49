import numpy as np
import pytest
import tensorflow as tf

from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.checkpoints.weights import HEADS
from modeling.classification import ClassificationHead
from modeling.dropout import dropout_stream
from modeling.losses import softmax_cross_entropy
from modeling.multiple_choice import MultipleChoiceHead
from modeling.question_answering import QuestionAnsweringHead
from modeling.token_classification import TokenClassificationHead
from tests.modeling.checkpoints.common import WithHeads
from tests.modeling.common import SMALL, arrays


def model_with(golden, checkpoint, **heads):
  config = read_checkpoint(str(golden / "tf1_checkpoint")).config
  model = WithHeads(config, **{name: make(config) for name, make in heads.items()})
  report = load_weights(model, read_checkpoint(str(golden / checkpoint)))
  return model, report


def assert_gradient(found, expected):
  np.testing.assert_allclose(found, expected, atol=1e-6 + 2e-5 * np.abs(expected).max(), rtol=0)


@pytest.mark.golden
@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_is_the_originals(golden, classes):
  expected = arrays(golden / f"tf1_heads/classifier_labels{classes}.npz")
  checkpoint = "tf1_heads/classifier_model.ckpt" if classes == 3 else "tf1_checkpoint"
  model, report = model_with(golden, checkpoint, classification=lambda config: ClassificationHead(config, classes))
  head = model.heads["classification"]
  if classes == 3:
    assert (report.newly_initialised, report.unused) == ([], [])
    np.testing.assert_array_equal(head.output_weights.numpy(), expected["output_weights"])
  else:
    assert report.newly_initialised == ["output_weights", "output_bias"]
    head.output_weights.assign(expected["output_weights"])
    head.output_bias.assign(expected["output_bias"])
  with tf.GradientTape() as tape:
    outputs = model.encoder(expected["input_ids"], expected["input_mask"], expected["segment_ids"])
    logits = head(outputs["pooled_output"])
    losses, _ = softmax_cross_entropy(logits, expected["label_ids"])
    loss = tf.reduce_mean(losses)
  np.testing.assert_allclose(logits, expected["logits"], atol=2e-5, rtol=0)
  np.testing.assert_allclose(losses, expected["per_example_loss"], atol=1e-5, rtol=0)
  np.testing.assert_allclose(loss, expected["loss"], atol=1e-5, rtol=0)
  gradients = tape.gradient(loss, [variable.value for variable in
                                   (head.output_weights, head.output_bias, model.encoder.pooler.kernel)])
  for name, gradient in zip(("output_weights", "output_bias", "pooler_kernel"), gradients, strict=True):
    assert_gradient(gradient, expected[f"grad_{name}"])


@pytest.mark.golden
def test_a_span_head_is_the_originals(golden):
  expected = arrays(golden / "tf1_heads/squad.npz")
  model, report = model_with(golden, "tf1_checkpoint", question_answering=QuestionAnsweringHead)
  head = model.heads["question_answering"]
  assert report.newly_initialised == ["cls/squad/output_weights", "cls/squad/output_bias"]
  head.output_weights.assign(expected["output_weights"])
  head.output_bias.assign(expected["output_bias"])
  with tf.GradientTape() as tape:
    outputs = model.encoder(expected["input_ids"], expected["input_mask"], expected["segment_ids"])
    start, end = head(outputs["sequence_output"])
    loss = sum(tf.reduce_mean(softmax_cross_entropy(logits, expected[f"{end_point}_positions"])[0])
               for logits, end_point in ((start, "start"), (end, "end"))) / 2
  np.testing.assert_allclose(start, expected["start_logits"], atol=2e-5, rtol=0)
  np.testing.assert_allclose(end, expected["end_logits"], atol=2e-5, rtol=0)
  np.testing.assert_allclose(loss, expected["loss"], atol=1e-5, rtol=0)
  weights, bias = tape.gradient(loss, [head.output_weights.value, head.output_bias.value])
  assert_gradient(weights, expected["grad_output_weights"])
  assert_gradient(bias, expected["grad_output_bias"])


def test_choices_of_an_example_lie_side_by_side():
  head = MultipleChoiceHead(SMALL)
  head.build()
  pooled = np.random.default_rng(0).standard_normal((6, SMALL.hidden_size)).astype(np.float32)
  logits = head(pooled, choices=3)
  assert logits.shape == (2, 3)
  np.testing.assert_allclose(logits[1, 2], pooled[5] @ head.output_weights.numpy()[0], atol=1e-6)


def test_initial_weights_are_small_differ_by_head_and_depend_on_the_seed():
  heads = [ClassificationHead(SMALL, 2), TokenClassificationHead(SMALL, 2), ClassificationHead(SMALL, 2, seed=1),
           ClassificationHead(SMALL, 2)]
  for head in heads:
    head.build()
  first, other, seeded, again = (head.output_weights.numpy() for head in heads)
  assert 0 < np.abs(first).max() <= 2 * SMALL.initializer_range
  assert not np.array_equal(first, other) and not np.array_equal(first, seeded)
  np.testing.assert_array_equal(first, again)
  assert not heads[0].output_bias.numpy().any()


@pytest.mark.parametrize("head, name, total", [
    (ClassificationHead(SMALL, 2), "classification", 8.698298),
    (QuestionAnsweringHead(SMALL), "question_answering", 8.202427),
    (TokenClassificationHead(SMALL, 2), "token_classification", 7.980077)], ids=lambda value: str(value)[:20])
def test_the_place_in_checkpoints_and_the_initial_weights_of_a_seed_stay(head, name, total):
  head.build()
  assert HEADS[name].directory == head.key
  assert float(np.abs(head.output_weights.numpy()).sum()) == pytest.approx(total, abs=1e-4)


def test_a_tenth_of_the_input_is_dropped_in_training_only():
  head = TokenClassificationHead(SMALL, SMALL.hidden_size)
  head.build()
  head.output_weights.assign(np.eye(SMALL.hidden_size, dtype=np.float32))
  ones = np.ones((8, 16, SMALL.hidden_size), np.float32)
  kept = np.asarray(head(ones, dropout=dropout_stream(1, 2)))
  assert np.mean(kept == 0) == pytest.approx(0.1, abs=0.03)
  assert kept.max() == pytest.approx(1 / 0.9, abs=1e-3)
  np.testing.assert_array_equal(head(ones), ones)


def test_spans_are_read_without_dropout():
  head = QuestionAnsweringHead(SMALL)
  head.build()
  x = np.random.default_rng(0).standard_normal((2, 4, SMALL.hidden_size)).astype(np.float32)
  np.testing.assert_array_equal(head(x, dropout=dropout_stream(1, 2))[0], head(x)[0])
