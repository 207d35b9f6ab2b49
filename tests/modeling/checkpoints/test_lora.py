"""What is saved of a model with LoRA: merged for all who read it, apart for who resumes."""

import keras
import numpy as np
import pytest

from bert_common.errors import UserError
from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.checkpoints.lora import LoraWeights, lora_matrices
from modeling.checkpoints.native import checkpoint_of, weight_variables
from modeling.checkpoints.weights import native_path, original_name
from modeling.classification import BertForClassification
from tests.modeling.common import SMALL, random_features

FEATURES = random_features(SMALL, 4, 10, predictions=3)


def adapted(seed: int) -> BertForClassification:
  """With updates that are not 0."""
  model = BertForClassification(SMALL, 3, seed=seed)
  model.encoder.enable_lora(2, lora_alpha=3.0, layers="all")
  rng = np.random.default_rng(seed)
  for variable in lora_matrices(model).values():
    variable.assign(rng.normal(0, 0.05, variable.shape))
  return model


def test_merged_and_unmerged_compute_the_same(tmp_path):
  model = adapted(1)
  lora = LoraWeights(model)
  lora.merge()
  prefix = checkpoint_of({**weight_variables(model), **lora.variables}).write(str(tmp_path / "ckpt-3"))
  checkpoint = read_checkpoint(prefix)
  merged = BertForClassification(SMALL, 3, seed=2)
  report = load_weights(merged, checkpoint)
  assert report.unused == [] and report.newly_initialised == []
  np.testing.assert_allclose(merged(FEATURES), model(FEATURES), rtol=0, atol=1e-6)
  # Who resumes has all as it was, and what a seed begins with does not count.
  resumed = adapted(4)
  load_weights(resumed, checkpoint)
  LoraWeights(resumed).load(prefix)
  np.testing.assert_array_equal(resumed(FEATURES), model(FEATURES))
  for name, variable in lora_matrices(model).items():
    np.testing.assert_array_equal(lora_matrices(resumed)[name], variable, err_msg=name)


def test_a_checkpoint_without_updates_is_refused(tmp_path):
  prefix = checkpoint_of(weight_variables(BertForClassification(SMALL, 3))).write(str(tmp_path / "ckpt-3"))
  with pytest.raises(UserError, match="there is no lora/encoder/layer_0/attention/self/query/kernel"):
    LoraWeights(adapted(1)).load(prefix)


def test_names_lead_there_and_back():
  names = lora_matrices(adapted(1))
  assert len(names) == SMALL.num_hidden_layers * 6 * 2
  for name in names:
    assert original_name(native_path(name)) == native_path(name) == name
  assert lora_matrices(BertForClassification(SMALL, 3)) == {}


def test_the_first_matrix_follows_from_the_seed():
  def matrices(seed):
    keras.utils.set_random_seed(seed + 7)
    model = BertForClassification(SMALL, 3, seed=seed)
    model.encoder.enable_lora(2)
    return {name: variable.numpy() for name, variable in lora_matrices(model).items()}

  first, again, other = matrices(1), matrices(1), matrices(2)
  for name, value in first.items():
    np.testing.assert_array_equal(value, again[name], err_msg=name)
    assert name.endswith("_b") or not np.array_equal(value, other[name])
  assert len({value.tobytes() for name, value in first.items() if name.endswith("_a")}) == len(first) / 2
