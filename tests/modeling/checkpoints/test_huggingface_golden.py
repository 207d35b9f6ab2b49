"""Models saved by transformers, with its outputs."""

import numpy as np
import pytest
import tensorflow as tf

from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.classification import ClassificationHead
from modeling.losses import softmax_cross_entropy
from modeling.pretraining import BertForPreTraining
from modeling.question_answering import QuestionAnsweringHead
from modeling.token_classification import TokenClassificationHead
from tests.modeling.checkpoints.common import load_into
from tests.modeling.common import arrays

POOLER = ["bert/pooler/dense/kernel", "bert/pooler/dense/bias"]


def assert_outputs(outputs, expected, extra=()):
  """All layers and what else is named."""
  names = ["embedding_output", *(name for name in expected if name.startswith("encoder_layer_")), *extra]
  assert len(names) > 2
  for name in names:
    np.testing.assert_allclose(outputs[name], expected[name], atol=2e-5, rtol=0, err_msg=name)


def mean_loss(logits, labels):
  """Cross-entropy over the labels that are not -100."""
  logits, labels = np.reshape(logits, (-1, logits.shape[-1])), np.reshape(labels, -1)
  kept = labels != -100
  losses, _ = softmax_cross_entropy(tf.constant(logits[kept]), tf.constant(labels[kept], tf.int32))
  return float(np.mean(losses))


def encode(model, values):
  return model.encoder(values["input_ids"], values["attention_mask"], values["token_type_ids"])


@pytest.mark.golden
@pytest.mark.parametrize("folder", ["pretraining", "pretraining_legacy_names"])
def test_pretraining(full_golden, folder):
  source = read_checkpoint(str(full_golden / "hf" / folder))
  assert source.config.hidden_act == "gelu_erf"
  model = BertForPreTraining(source.config)
  report = load_weights(model, source)
  assert (report.newly_initialised, report.unused) == ([], [])
  expected = arrays(full_golden / "hf/pretraining/inputs_outputs.npz")
  batch, length = expected["input_ids"].shape
  outputs = model({
      "input_ids": expected["input_ids"], "input_mask": expected["attention_mask"],
      "segment_ids": expected["token_type_ids"],
      "masked_lm_positions": np.broadcast_to(np.arange(length, dtype=np.int32), (batch, length))})
  assert_outputs(outputs, expected, ["pooled_output"])
  np.testing.assert_allclose(outputs["masked_lm_logits"][:2], expected["prediction_logits_first2"], atol=2e-5, rtol=0)
  np.testing.assert_allclose(
      outputs["next_sentence_logits"], expected["seq_relationship_logits"], atol=2e-5, rtol=0)
  loss = (mean_loss(outputs["masked_lm_logits"], expected["labels"])
          + mean_loss(outputs["next_sentence_logits"], expected["next_sentence_label"]))
  assert loss == pytest.approx(float(expected["loss"]), abs=1e-5)


@pytest.mark.golden
def test_sequence_classification(full_golden):
  folder = full_golden / "hf/sequence_classification"
  model, report = load_into(folder, lambda config: {"classification": ClassificationHead(config, 3)})
  assert (report.newly_initialised, report.unused) == ([], [])
  assert model.config.hidden_act == "gelu"
  assert model.config.extra["id2label"] == {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}
  expected = arrays(folder / "inputs_outputs.npz")
  outputs = encode(model, expected)
  assert_outputs(outputs, expected, ["pooled_output"])
  logits = model.heads["classification"](outputs["pooled_output"])
  np.testing.assert_allclose(logits, expected["logits"], atol=2e-5, rtol=0)
  assert mean_loss(logits, expected["labels"]) == pytest.approx(float(expected["loss"]), abs=1e-5)


@pytest.mark.golden
def test_question_answering_has_no_pooler(golden):
  folder = golden / "hf/question_answering"
  model, report = load_into(folder, lambda config: {"question_answering": QuestionAnsweringHead(config)})
  assert (report.newly_initialised, report.unused) == (POOLER, [])
  assert "newly initialised, not in the checkpoint: bert/pooler/dense/kernel" in report.describe()
  expected = arrays(folder / "inputs_outputs.npz")
  outputs = encode(model, expected)
  assert_outputs(outputs, expected)
  start, end = model.heads["question_answering"](outputs["sequence_output"])
  np.testing.assert_allclose(start, expected["start_logits"], atol=2e-5, rtol=0)
  np.testing.assert_allclose(end, expected["end_logits"], atol=2e-5, rtol=0)
  loss = (mean_loss(start, expected["start_positions"]) + mean_loss(end, expected["end_positions"])) / 2
  assert loss == pytest.approx(float(expected["loss"]), abs=1e-5)


@pytest.mark.golden
def test_token_classification_has_no_pooler_and_another_epsilon(full_golden):
  folder = full_golden / "hf/token_classification"
  model, report = load_into(folder, lambda config: {"token_classification": TokenClassificationHead(config, 5)})
  assert (report.newly_initialised, report.unused) == (POOLER, [])
  assert (model.config.layer_norm_epsilon, model.config.hidden_act) == (1e-5, "relu")
  expected = arrays(folder / "inputs_outputs.npz")
  outputs = encode(model, expected)
  assert_outputs(outputs, expected)
  logits = model.heads["token_classification"](outputs["sequence_output"])
  np.testing.assert_allclose(logits, expected["logits"], atol=2e-5, rtol=0)
  assert mean_loss(logits, expected["labels"]) == pytest.approx(float(expected["loss"]), abs=1e-5)
