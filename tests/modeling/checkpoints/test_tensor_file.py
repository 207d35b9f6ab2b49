"""Files of every format that a crash or a mistake has made: one line that names them, before anything is built."""

import json
import os
import shutil

import h5py
import numpy as np
import pytest

from bert_common.errors import UserError
from modeling.checkpoints.load import open_checkpoint, read_checkpoint
from modeling.checkpoints.write import write_checkpoint
from modeling.encoder import BertEncoder
from tests.modeling.checkpoints.common import FORMATS_OF_ALL_HEADS, assert_refused, random_weights
from tests.modeling.common import SMALL

KERNEL = "bert/encoder/layer_1/output/dense/kernel"
OUTPUT = {"native": "ckpt-0", "original": "bert_model.ckpt", "model_garden": "bert_model.ckpt",
          "huggingface": "model.safetensors"}


def written(folder, form, weights) -> str:
  write_checkpoint(form, str(folder), weights, SMALL)
  return str(folder)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
@pytest.mark.parametrize("form", FORMATS_OF_ALL_HEADS)
def test_what_is_not_finite_is_named_with_its_file(tmp_path, form, value):
  weights = random_weights()
  weights[KERNEL][3, 2:4] = value
  source = read_checkpoint(written(tmp_path / "model", form, weights))
  with pytest.raises(UserError) as error:
    source.read(KERNEL)
  for part in ("output", "holds 2 values that are not finite", OUTPUT[form]):
    assert part in str(error.value) and "\n" not in str(error.value)
  assert np.isfinite(source.read("bert/pooler/dense/bias")).all()


@pytest.mark.golden
def test_what_is_not_finite_in_the_files_of_tensorflow_classes(golden, tmp_path):
  directory = shutil.copytree(golden / "h5/transformers/TFBertForPreTraining", tmp_path / "model")
  with h5py.File(directory / "tf_model.h5", "r+") as file:
    file["bert/tf_bert_for_pre_training/bert/pooler/dense/bias:0"][0] = np.nan
  assert_refused(directory, "tf_model.h5: bert/tf_bert_for_pre_training/bert/pooler/dense/bias:0 holds 1 values")


@pytest.mark.parametrize("path", ["gone://bucket/x", "gone://bucket/x.h5", "gone://bucket/x.safetensors"])
def test_a_file_system_that_is_unknown(path):
  for load in (open_checkpoint, BertEncoder.from_checkpoint, lambda path: open_checkpoint(None, bert_config_file=path)):
    with pytest.raises(UserError, match=f"can't read {path}: File system scheme 'gone' not implemented") as error:
      load(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("key, value", [("hidden_size", 3 * 10**7), ("num_hidden_layers", 10**4)])
@pytest.mark.parametrize("form", FORMATS_OF_ALL_HEADS)
@pytest.mark.parametrize("place", ["beside", "given"])
def test_a_configuration_is_compared_before_anything_is_built(tmp_path, form, key, value, place):
  directory = written(tmp_path / "model", form, random_weights())
  given = str(tmp_path / "bert_config.json") if place == "given" else None
  path = given or os.path.join(directory, {"huggingface": "config.json"}.get(form, "bert_config.json"))
  sizes = SMALL.to_dict() if given else json.loads(open(path).read())
  with open(path, "w") as file:
    json.dump(sizes | {key: value}, file)
  for load in (open_checkpoint, BertEncoder.from_checkpoint):
    with pytest.raises(UserError, match="contradicts the tensors") as error:
      load(directory, bert_config_file=given)
    assert str(tmp_path) in str(error.value) and "\n" not in str(error.value)
