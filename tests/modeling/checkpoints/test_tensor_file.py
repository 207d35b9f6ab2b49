"""Files of every format that a stranger, a crash or a mistake has made: one line, and no time, memory or file lost."""

import json
import os
import shutil
import struct
import time

import h5py
import numpy as np
import pytest

from bert_common.errors import UserError
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS
from modeling.checkpoints.convert import convert
from modeling.checkpoints.keras_hub import _SIZES
from modeling.checkpoints.load import open_checkpoint, read_checkpoint
from modeling.checkpoints.model_garden import to_garden
from modeling.checkpoints.weights import LAYER, all_weights
from modeling.checkpoints.write import write_checkpoint
from modeling.encoder import BertEncoder
from tests.modeling.checkpoints.common import (
  FORMATS_OF_ALL_HEADS,
  assert_refused,
  huggingface_tensors,
  random_weights,
  write_huggingface,
)
from tests.modeling.common import SMALL

KERNEL = "bert/encoder/layer_1/output/dense/kernel"
OUTPUT = {"native": "ckpt-0.data-00000-of-00001", "original": "bert_model.ckpt.data-00000-of-00001",
          "model_garden": "bert_model.ckpt.index", "huggingface": "model.safetensors", "keras_hub": "model.weights.h5"}


def write_keras_hub(folder, weights) -> None:
  """The encoder as KerasHub saves it, without a configuration."""
  rows = all_weights(SMALL.num_hidden_layers)
  with h5py.File(folder / "model.weights.h5", "w") as file:
    for name, value in weights.items():
      file["layers/" + rows[name].keras_hub] = to_garden(rows[name], value, SMALL.num_attention_heads)


def write_vocabulary(path) -> None:
  with open(path, "w") as file:
    file.writelines(f"{token}\n" for token in [*SPECIAL_TOKENS, *(f"w{index}" for index in range(5, SMALL.vocab_size))])


def written(folder, form, weights) -> str:
  folder.mkdir(exist_ok=True)
  if form == "keras_hub":
    write_keras_hub(folder, weights)
  else:
    shutil.rmtree(folder)
    write_checkpoint(form, str(folder), weights, SMALL, None, None)
  return str(folder)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
@pytest.mark.parametrize("form", [*FORMATS_OF_ALL_HEADS, "keras_hub"])
def test_what_is_not_finite_is_named_with_its_file(tmp_path, form, value):
  weights = random_weights()
  weights[KERNEL][3, 2:4] = value
  source = read_checkpoint(written(tmp_path / "model", form, weights))
  with pytest.raises(UserError) as error:
    source.read(KERNEL)
  for part in ("output", "holds 2 values that are not finite"):
    assert part in str(error.value) and "\n" not in str(error.value)
  assert OUTPUT[form].partition(".data")[0].removesuffix(".index") in str(error.value)
  assert np.isfinite(source.read("bert/pooler/dense/bias")).all()


@pytest.mark.golden
def test_what_is_not_finite_in_the_files_of_tensorflow_classes(golden, tmp_path):
  directory = shutil.copytree(golden / "h5/transformers/TFBertForPreTraining", tmp_path / "model")
  with h5py.File(directory / "tf_model.h5", "r+") as file:
    file["bert/tf_bert_for_pre_training/bert/pooler/dense/bias:0"][0] = np.nan
  assert_refused(directory, "tf_model.h5: bert/tf_bert_for_pre_training/bert/pooler/dense/bias:0 holds 1 values")


@pytest.mark.parametrize("kind", ["pipe", "directory", "device", "link to a device"])
@pytest.mark.parametrize("form, name", [
    *OUTPUT.items(), ("native", "ckpt-0.index"), ("native", "bert_config.json"), ("native", "vocab.txt"),
    ("native", "tokenizer_config.json"), ("native", "task.json"), ("native", "tokenizer.json"),
    ("huggingface", "config.json"), ("keras_hub", "config.json")])
def test_what_is_no_file_is_not_read(tmp_path, form, name, kind):
  directory = written(tmp_path / "model", form, random_weights())
  write_vocabulary(os.path.join(directory, "vocab.txt"))
  path = os.path.join(directory, name)
  if os.path.exists(path):
    os.remove(path)
  if kind == "pipe":
    os.mkfifo(path)
  elif kind == "directory":
    os.mkdir(path)
  elif kind == "link to a device":
    os.symlink("/dev/zero", path)
  else:
    try:
      os.mknod(path, 0o20666, os.makedev(1, 5))
    except PermissionError:
      pytest.skip("only root makes devices")
  for read in (open_checkpoint, lambda path: convert(path, "native", str(tmp_path / "converted"))):
    if name == "task.json" and read is not open_checkpoint:
      # It does not concern a conversion.
      continue
    with pytest.raises(UserError) as error:
      read(directory)
    assert name in str(error.value) and "\n" not in str(error.value)


def test_a_state_file_that_is_a_pipe_does_not_matter(tmp_path):
  directory = written(tmp_path / "model", "native", random_weights())
  os.remove(os.path.join(directory, "checkpoint"))
  os.mkfifo(os.path.join(directory, "checkpoint"))
  assert read_checkpoint(directory).description == os.path.join(directory, "ckpt-0")


@pytest.mark.parametrize("length", [2**63, 2**40, 100_000_001, 4096])
def test_a_safetensors_header_of_any_length(tmp_path, length):
  directory = written(tmp_path / "model", "huggingface", random_weights())
  path = tmp_path / "model/model.safetensors"
  path.write_bytes(struct.pack("<Q", length) + path.read_bytes()[8:])
  assert_refused(directory, "model.safetensors can't be read as safetensors, it is damaged or incomplete")


def test_arrays_that_are_far_larger_than_their_file(tmp_path):
  directory = written(tmp_path / "model", "keras_hub", random_weights())
  with h5py.File(tmp_path / "model/model.weights.h5", "r+") as file:
    del file["layers/reversible_embedding/vars/0"]
    # Nothing of it is stored: it would be read as zeros.
    file.create_dataset("layers/reversible_embedding/vars/0", (10**9, 12), np.float32, chunks=(1000, 12))
  assert_refused(directory, "model.weights.h5 describes tensors of 48,000,0", "it is damaged")


def test_attributes_and_types_that_numpy_has_no_name_for(tmp_path):
  """HDF5's own bfloat16, as an attribute or as the type of an array; Keras writes two bytes and a text."""
  bfloat16 = h5py.h5t.IEEE_F32LE.copy()
  bfloat16.set_fields(15, 7, 8, 0, 7)
  bfloat16.set_size(2)
  bfloat16.set_ebias(127)
  name = "layers/dense/vars/1"
  for number, kind in enumerate(["attribute", "number", "array"]):
    directory = written(tmp_path / str(number), "keras_hub", random_weights())
    with h5py.File(tmp_path / str(number) / "model.weights.h5", "r+") as file:
      del file[name]
      space = h5py.h5s.create_simple((SMALL.hidden_size,))
      if kind == "array":
        h5py.h5d.create(file.id, name.encode(), bfloat16, space)
      else:
        array = file.create_dataset(name, data=np.zeros(SMALL.hidden_size, "V2"))
        if kind == "attribute":
          h5py.h5a.create(array.id, b"dtype", bfloat16, space)
        else:
          array.attrs["dtype"] = np.arange(3)
    if kind == "array":
      assert (read_checkpoint(directory).read("bert/pooler/dense/bias") == 0).all()
    else:
      assert_refused(directory, "model.weights.h5")


def test_a_name_that_is_not_utf_8(tmp_path):
  directory = written(tmp_path / "model", "keras_hub", random_weights())
  with h5py.File(tmp_path / "model/model.weights.h5", "r+") as file:
    h5py.h5d.create(file.id, b"layers/a\xff", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((2,)))
  assert_refused(directory, r"holds a tensor with the name 'layers/a\udcff'")


@pytest.mark.parametrize("path", ["gone://bucket/x", "gone://bucket/x.h5", "gone://bucket/x.safetensors"])
def test_a_file_system_that_is_unknown(path):
  for load in (open_checkpoint, BertEncoder.from_checkpoint, lambda path: open_checkpoint(None, bert_config_file=path)):
    with pytest.raises(UserError, match=f"can't read {path}: File system scheme 'gone' not implemented") as error:
      load(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("number", [999_999, 10**30])
@pytest.mark.parametrize("form", ["native", "original", "huggingface", "keras_hub"])
def test_a_layer_of_any_number_costs_nothing(tmp_path, form, number):
  """The name of one tensor once made 16 million rows of a table, 90 seconds and 4.3 GB."""
  name = f"bert/encoder/layer_{number}/output/dense/bias"
  weights = random_weights() | {name: np.ones(SMALL.hidden_size, np.float32)}
  row = {weight.original: weight for weight in (weight.of_layer(number) for weight in LAYER)}[name]
  if form == "huggingface":
    write_huggingface(tmp_path, random_weights(), tensors=huggingface_tensors(random_weights()) | {
        row.huggingface: weights.pop(name)})
  elif form == "keras_hub":
    write_keras_hub(tmp_path, random_weights())
    with h5py.File(tmp_path / "model.weights.h5", "r+") as file:
      file["layers/" + row.keras_hub] = weights.pop(name)
  else:
    write_checkpoint(form, str(tmp_path / "model"), weights, SMALL)
    (tmp_path / "model").rename(tmp_path / "renamed")
    tmp_path /= "renamed"
  start = time.process_time()
  try:
    assert len(read_checkpoint(str(tmp_path)).tensors) == len(random_weights()) + 1
  except UserError as error:
    assert f"layer_{number}/output/dense/bias is there, but num_hidden_layers is" in str(error)
  assert time.process_time() - start < 5


@pytest.mark.parametrize("key, value", [("hidden_size", 3 * 10**7), ("num_hidden_layers", 10**4), ("vocab_size", 10**8),
                                        ("intermediate_size", 10**7), ("max_position_embeddings", 10**8),
                                        ("type_vocab_size", 10**8)])
@pytest.mark.parametrize("form", [*FORMATS_OF_ALL_HEADS, "keras_hub"])
@pytest.mark.parametrize("place", ["beside", "given"])
def test_a_configuration_is_compared_before_anything_is_built(tmp_path, form, key, value, place):
  directory = written(tmp_path / "model", form, random_weights())
  names = {"huggingface": "config.json", "keras_hub": "config.json"}
  sizes = SMALL.to_dict() | {key: value}
  given = None
  if place == "given":
    given = str(tmp_path / "bert_config.json")
  path = given or os.path.join(directory, names.get(form, "bert_config.json"))
  if form == "keras_hub" and not given:
    sizes = {"class_name": "BertBackbone", "config": {theirs: sizes[ours] for theirs, ours in _SIZES.items()}}
  elif os.path.exists(path):
    sizes = json.loads(open(path).read()) | {key: value}
  with open(path, "w") as file:
    json.dump(sizes, file)
  for load in (open_checkpoint, BertEncoder.from_checkpoint):
    with pytest.raises(UserError, match="contradicts the tensors") as error:
      load(directory, bert_config_file=given)
    assert str(tmp_path) in str(error.value) and "\n" not in str(error.value)
