import numpy as np
import pytest
import tensorflow as tf

from modeling.token_classification import TOKENS, BertForTokenClassification
from tests.modeling.common import SMALL, random_features

CLASSES = 5
FEATURES = {name: value for name, value in random_features(SMALL, 3, 9, 2).items() if value.shape == (3, 9)}


def test_hugging_face_computes_the_same(tmp_path):
  torch = pytest.importorskip("torch")
  transformers = pytest.importorskip("transformers")
  model = BertForTokenClassification(SMALL, CLASSES, seed=3)
  assert model(FEATURES).shape == (3, 9, CLASSES)
  model.save_checkpoint(str(tmp_path / "huggingface"), "huggingface")
  other = transformers.BertForTokenClassification.from_pretrained(tmp_path / "huggingface").eval()
  with torch.no_grad():
    logits = other(*(torch.tensor(FEATURES[name]) for name in ("input_ids", "input_mask", "segment_ids"))).logits
  np.testing.assert_allclose(model(FEATURES), logits.numpy(), rtol=0, atol=2e-5)


def test_sums_leave_out_positions_without_a_label_and_padding_examples():
  rng = np.random.default_rng(0)
  logits = rng.normal(size=(4, 6, CLASSES)).astype(np.float32)
  labels = np.where(rng.random((4, 6)) < 0.4, [[-1, -100] * 3], rng.integers(0, CLASSES, (4, 6)))
  features = {"label_ids": labels, "input_ids": labels, "is_real_example": np.array([1, 1, 0, 1])}
  known = (labels >= 0) & (features["is_real_example"][:, None] == 1)
  losses = np.log(np.exp(logits).sum(-1)) - np.take_along_axis(logits, np.maximum(labels, 0)[..., None], -1)[..., 0]
  sums = TOKENS.sums(tf.constant(logits), features)
  assert float(sums["token_classification_count"]) == known.sum()
  assert float(TOKENS.counts(features)["token_classification_count"]) == known.sum()
  metrics = TOKENS.metrics({name: float(value) for name, value in sums.items()})
  assert metrics == pytest.approx(
      {"loss": losses[known].mean(), "accuracy": (logits.argmax(-1) == labels)[known].mean()}, rel=1e-5)
  assert TOKENS.metrics({name: 0.0 for name in sums}) == {"loss": 0, "accuracy": 0}
