import dataclasses
import shutil

import numpy as np
import pytest
import tensorflow as tf

from common.errors import UserError
from modeling.checkpoints.load import Checkpoint, load_weights, read_checkpoint
from modeling.checkpoints.native import weights_tree
from modeling.checkpoints.weights import original_names
from modeling.config import BertConfig
from modeling.encoder import BertEncoder
from modeling.pretraining import BertForPreTraining
from tests.modeling.common import SMALL, arrays


def build(config):
  model = BertForPreTraining(config)
  model.build_weights()
  return model


def save(folder, name="ckpt-1", config=SMALL):
  tree = weights_tree(build(config))
  return tf.train.Checkpoint(encoder=tree.encoder, heads=tree.heads).write(str(folder / name))


def assert_refused(path, *messages):
  with pytest.raises(UserError) as error:
    read_checkpoint(str(path))
  for message in messages:
    assert message in str(error.value)
  assert "\n" not in str(error.value)


@pytest.mark.parametrize("path", [
    "tf1_checkpoint", "tf1_checkpoint/bert_model.ckpt", "tf1_checkpoint/bert_model.ckpt.index",
    "tf1_checkpoint/bert_model.ckpt.data-00000-of-00001"])
def test_an_original_checkpoint_is_found_by_any_of_its_names(golden, path):
  source = read_checkpoint(str(golden / path))
  folder = golden / "tf1_checkpoint"
  assert source.description == f"{folder / 'bert_model.ckpt'} (original TensorFlow 1 checkpoint)"
  assert source.config == BertConfig.from_file(str(folder / "bert_config.json"))
  assert source.vocab_file == str(folder / "vocab.txt")
  assert source.do_lower_case is None
  model = build(source.config)
  account = load_weights(model, source)
  assert account.loaded == list(original_names(model))
  assert len(account.loaded) == 62
  assert (account.newly_initialised, account.unused) == ([], [])


def test_the_optimizers_slots_of_the_original_are_left_aside(full_golden):
  source = read_checkpoint(str(full_golden / "optimizer"))
  expected = arrays(full_golden / "optimizer/pretrain_final_weights.npz")
  assert set(source.tensors) == set(expected)
  model = build(source.config)
  account = load_weights(model, source)
  assert (account.newly_initialised, account.unused) == ([], [])
  for name, variable in original_names(model).items():
    np.testing.assert_array_equal(variable.numpy(), expected[name], err_msg=name)


def test_a_classifiers_head_is_left_over_and_the_missing_heads_stay_fresh(golden):
  source = read_checkpoint(str(golden / "tf1_heads"))
  assert source.config is None
  model = build(BertConfig.from_file(str(golden / "tf1_checkpoint/bert_config.json")))
  account = load_weights(model, source)
  assert account.unused == ["output_bias", "output_weights"]
  assert all(name.startswith("bert/") for name in account.loaded)
  assert all(name.startswith("cls/") for name in account.newly_initialised)
  assert (len(account.loaded), len(account.newly_initialised)) == (55, 7)
  lines = account.describe().split("\n")
  assert lines[0].startswith("loaded 55 tensors from ") and "classifier_model.ckpt" in lines[0]
  assert "cls/seq_relationship/output_bias" in lines[1]
  assert "output_bias, output_weights" in lines[2]


@pytest.mark.parametrize("folder, expected", [
    ("uncased_L-12_H-768_A-12", True), ("cased_L-24_H-1024_A-16", False), ("multi_cased_L-12_H-768_A-12", False),
    ("wwm_uncased_L-24_H-1024_A-16", True), ("chinese_L-12_H-768_A-12", True),
    ("multilingual_L-12_H-768_A-12", True), ("my_model", None)])
def test_the_directory_of_a_released_model_tells_its_casing(golden, tmp_path, folder, expected):
  for suffix in ("index", "data-00000-of-00001"):
    (tmp_path / folder).mkdir(exist_ok=True)
    shutil.copy(golden / f"tf1_checkpoint/bert_model.ckpt.{suffix}", tmp_path / folder)
  assert read_checkpoint(str(tmp_path / folder)).do_lower_case is expected


def test_a_checkpoint_of_another_size_is_refused_and_nothing_changes(tmp_path):
  source = read_checkpoint(save(tmp_path))
  model = build(dataclasses.replace(SMALL, vocab_size=60, intermediate_size=24))
  before = {name: variable.numpy() for name, variable in original_names(model).items()}
  with pytest.raises(UserError) as error:
    load_weights(model, source)
  message = str(error.value)
  assert "bert/embeddings/word_embeddings is [50, 12] there and [60, 12] here" in message
  assert "bert/encoder/layer_0/intermediate/dense/kernel is [12, 20] there and [12, 24] here" in message
  assert "and 2 more" in message and "bert_config.json" in message and "\n" not in message
  for name, variable in original_names(model).items():
    np.testing.assert_array_equal(variable.numpy(), before[name], err_msg=name)


def test_an_encoder_is_loaded_whole_or_not_at_all(tmp_path):
  source = read_checkpoint(save(tmp_path))
  with pytest.raises(UserError) as error:
    load_weights(build(dataclasses.replace(SMALL, num_hidden_layers=3)), source)
  message = str(error.value)
  assert "bert/encoder/layer_2/attention/self/query/kernel [12, 12]" in message
  assert "and 10 more" in message and "whole encoder" in message and "\n" not in message


def test_layers_the_model_does_not_have_are_left_over(tmp_path):
  source = read_checkpoint(save(tmp_path))
  account = load_weights(build(dataclasses.replace(SMALL, num_hidden_layers=1)), source)
  assert len(account.unused) == 16
  assert all(name.startswith("bert/encoder/layer_1/") for name in account.unused)


def test_a_source_of_any_format_will_do():
  encoder = BertEncoder(SMALL)
  encoder.build_weights()
  tensors = {name: tuple(variable.shape) for name, variable in original_names(encoder).items()}
  account = load_weights(encoder, Checkpoint("ones", tensors, read=lambda name: np.ones(tensors[name], np.float32)))
  assert account.describe() == "loaded 39 tensors from ones"
  assert all((variable.numpy() == 1).all() for variable in encoder.variables)


def test_nothing_there(tmp_path):
  assert_refused(tmp_path / "bert_model.ckpt", "there is no checkpoint", "bert_model.ckpt.index")
  assert_refused(tmp_path, f"{tmp_path} holds no checkpoint")
  (tmp_path / "vocab.txt").write_text("[PAD]\n")
  assert_refused(tmp_path / "vocab.txt", "vocab.txt holds no checkpoint")


def test_several_candidates(tmp_path):
  save(tmp_path, "first.ckpt")
  save(tmp_path, "second.ckpt")
  assert_refused(tmp_path, "holds 2 checkpoints (first.ckpt, second.ckpt)", str(tmp_path / "second.ckpt"))


def test_the_one_that_is_meant_is_missing(tmp_path):
  save(tmp_path, "ckpt-1")
  (tmp_path / "checkpoint").write_text('model_checkpoint_path: "ckpt-2"\n')
  assert_refused(tmp_path, "names ckpt-2", "ckpt-2.index is missing")


def test_where_the_directory_does_not_tell_a_single_candidate_is_meant(tmp_path):
  prefix = save(tmp_path, "ckpt-1")
  (tmp_path / "checkpoint").write_text("nonsense {")
  assert read_checkpoint(str(tmp_path)).description == prefix


def test_a_missing_shard(tmp_path):
  prefix = save(tmp_path)
  (tmp_path / "ckpt-1.data-00000-of-00001").rename(tmp_path / "ckpt-1.data-00001-of-00002")
  assert_refused(prefix, "ckpt-1.data-00000-of-00002 is missing: the checkpoint has 2 data files")
  (tmp_path / "ckpt-1.data-00001-of-00002").unlink()
  assert_refused(tmp_path, "ckpt-1.data-00000-of-00001 is missing")


def test_a_missing_index(tmp_path):
  prefix = save(tmp_path)
  (tmp_path / "ckpt-1.index").unlink()
  assert_refused(prefix, "ckpt-1.index is missing")


def test_a_damaged_index(tmp_path):
  prefix = save(tmp_path)
  index = tmp_path / "ckpt-1.index"
  index.write_bytes(index.read_bytes()[:100])
  assert_refused(prefix, "ckpt-1.index can't be read as a checkpoint")


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_damaged_data_change_nothing(tmp_path, damage):
  prefix = save(tmp_path)
  data = tmp_path / "ckpt-1.data-00000-of-00001"
  content = data.read_bytes()
  middle = len(content) // 2
  data.write_bytes(content[:middle] if damage == "cut" else
                   content[:middle] + bytes(100) + content[middle + 100:])
  model = build(SMALL)
  before = {name: variable.numpy() for name, variable in original_names(model).items()}
  with pytest.raises(UserError, match="can't be read, the data are damaged"):
    load_weights(model, read_checkpoint(prefix))
  for name, variable in original_names(model).items():
    np.testing.assert_array_equal(variable.numpy(), before[name], err_msg=name)


def test_an_unknown_kind(tmp_path):
  prefix = tf.train.Checkpoint(layer=tf.Module(), weight=tf.Variable(1.0)).write(str(tmp_path / "other"))
  assert_refused(prefix, "a checkpoint of an unknown kind", "weight/.ATTRIBUTES/VARIABLE_VALUE")
