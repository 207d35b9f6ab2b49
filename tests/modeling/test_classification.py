import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.classification import CLASSES, SEVERAL_CLASSES, BertForClassification
from tests.modeling.common import arrays

_INPUTS = ("input_ids", "input_mask", "segment_ids", "label_ids")


def golden_classifier(golden, classes, expected) -> BertForClassification:
  """With the weights of the original's model."""
  checkpoint = "tf1_heads/classifier_model.ckpt" if classes == 3 else "tf1_checkpoint"
  model = BertForClassification(read_checkpoint(str(golden / "tf1_checkpoint")).config, classes)
  report = load_weights(model, read_checkpoint(str(golden / checkpoint)))
  assert report.newly_initialised == ([] if classes == 3 else ["output_weights", "output_bias"])
  if classes != 3:
    model.classifier.output_weights.assign(expected["output_weights"])
    model.classifier.output_bias.assign(expected["output_bias"])
  return model


@pytest.mark.golden
@pytest.mark.parametrize("classes", [2, 3])
def test_logits_loss_and_gradients_are_the_originals(golden, classes):
  expected = arrays(golden / f"tf1_heads/classifier_labels{classes}.npz")
  model = golden_classifier(golden, classes, expected)
  kernels = [variable.value for variable in (
      model.classifier.output_weights, model.classifier.output_bias, model.encoder.pooler.kernel)]

  # As the trainer runs it: one graph for all lengths.
  @tf.function(input_signature=[{name: tf.TensorSpec([6] if name == "label_ids" else [6, None], tf.int32)
                                 for name in _INPUTS}])
  def run(features):
    with tf.GradientTape() as tape:
      logits = model(features)
      sums = CLASSES.sums(logits, features)
      loss = sums["classification_loss_sum"] / sums["classification_count"]
    return logits, sums, tape.gradient(loss, kernels)

  logits, sums, gradients = run({name: tf.constant(expected[name]) for name in _INPUTS})
  np.testing.assert_allclose(logits, expected["logits"], atol=2e-5, rtol=0)
  metrics = CLASSES.metrics({name: float(value) for name, value in sums.items()})
  assert metrics["loss"] == pytest.approx(float(expected["loss"]), abs=1e-5)
  assert metrics["accuracy"] == pytest.approx(np.mean(expected["logits"].argmax(-1) == expected["label_ids"]))
  for name, gradient in zip(("output_weights", "output_bias", "pooler_kernel"), gradients, strict=True):
    wanted = expected[f"grad_{name}"]
    np.testing.assert_allclose(gradient, wanted, atol=1e-6 + 2e-5 * np.abs(wanted).max(), rtol=0, err_msg=name)


def test_several_classes_are_binary_cross_entropies():
  rng = np.random.default_rng(2)
  logits, labels = rng.normal(0, 3, (6, 4)).astype(np.float32), rng.integers(0, 2, (6, 4))
  logits[0, 0] = 200.0
  real, weight = np.array([1, 1, 1, 1, 0, 1]), np.array([1, 0.5, 1, 2, 1, 1], np.float32)
  positive = (1.0, 2.0, 0.5, 3.0)
  loss = dataclasses.replace(SEVERAL_CLASSES, positive_weights=positive)
  features = {"label_ids": labels, "is_real_example": real, "loss_weight": weight}
  sums = {name: float(value) for name, value in loss.sums(tf.constant(logits), features).items()}
  wide, shown = logits.astype(np.float64), real == 1
  losses = labels * np.log1p(np.exp(-wide)) * positive + (1 - labels) * np.logaddexp(0, wide)
  expected = np.sum((losses.mean(axis=1) * weight)[shown]) / weight[shown].sum()
  predicted, true = (wide >= 0)[shown], labels[shown]
  assert loss.metrics(sums) == pytest.approx({
      "loss": expected, "subset_accuracy": np.mean((predicted == true).all(axis=1)),
      "micro_f1": 2 * (predicted & (true == 1)).sum() / (predicted.sum() + true.sum())}, rel=1e-6)
