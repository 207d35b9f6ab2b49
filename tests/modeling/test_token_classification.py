import numpy as np
import pytest

from modeling.token_classification import BertForTokenClassification
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
