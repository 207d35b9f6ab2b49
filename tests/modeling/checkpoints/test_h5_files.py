"""`.h5` files written by transformers' TensorFlow classes, with the outputs they had there (tests/golden/README.md)."""

import shutil

import h5py
import numpy as np
import pytest

from modeling.checkpoints.convert import convert
from modeling.checkpoints.load import read_checkpoint
from tests.modeling.checkpoints.common import assert_refused, assert_same, head_outputs, load_into, read_all
from tests.modeling.common import arrays

# Class there → our heads, and what they compute by the names there.
CLASSES = {
    "TFBertModel": ((), ("last_hidden_state", "pooler_output")),
    "TFBertForSequenceClassification": (("classification",), ("logits",)),
    "TFBertForTokenClassification": (("token_classification",), ("logits",)),
    "TFBertForQuestionAnswering": (("question_answering",), ("start_logits", "end_logits")),
    "TFBertForMultipleChoice": (("multiple_choice",), ("logits",)),
    "TFBertForNextSentencePrediction": (("next_sentence",), ("logits",)),
    "TFBertForMaskedLM": (("masked_lm",), ("logits",)),
    "TFBertForPreTraining": (("masked_lm", "next_sentence"), ("prediction_logits", "seq_relationship_logits"))}


@pytest.mark.golden
@pytest.mark.parametrize("name", CLASSES)
def test_outputs(golden, name):
  heads, names = CLASSES[name]
  model, report = load_into(golden / "h5/transformers" / name, *heads)
  assert report.unused == [] and all(weight.startswith("bert/pooler/") for weight in report.newly_initialised)
  expected = arrays(golden / "h5/transformers" / name / "outputs.npz")
  inputs = [np.reshape(expected[key], (3, 10)) for key in ("input_ids", "attention_mask", "token_type_ids")]
  encoded = model.encoder(*inputs)
  found = head_outputs(model, encoded) if heads else [encoded["sequence_output"], encoded["pooled_output"]]
  for key, ours in zip(names, found, strict=True):
    np.testing.assert_allclose(ours, expected[key], atol=2e-5, rtol=0, err_msg=key)


@pytest.mark.golden
def test_weights_that_somebody_s_model_around_it_saved(golden):
  model, report = load_into(golden / "h5/transformers/functional/weights.h5")
  assert len(report.unused) == 2
  expected = arrays(golden / "h5/transformers/functional/outputs.npz")
  encoded = model.encoder(expected["input_ids"])
  np.testing.assert_allclose(encoded["sequence_output"], expected["last_hidden_state"], atol=2e-5, rtol=0)


def test_it_is_converted_bit_for_bit(golden, tmp_path):
  source = golden / "h5/transformers/TFBertForPreTraining"
  for output_format in ("huggingface", "original"):
    convert(str(source), output_format, str(tmp_path / output_format))
    assert_same(read_all(tmp_path / output_format), read_all(source))


def test_safetensors_are_taken_where_both_are_there(golden, tmp_path):
  source = golden / "h5/transformers/TFBertModel"
  convert(str(source), "huggingface", str(tmp_path / "both"))
  shutil.copyfile(source / "tf_model.h5", tmp_path / "both/tf_model.h5")
  assert "model.safetensors" in read_checkpoint(str(tmp_path / "both")).description


@pytest.fixture
def directory(golden, tmp_path):
  return shutil.copytree(golden / "h5/transformers/TFBertForPreTraining", tmp_path / "model")


def test_damaged_files(directory):
  path = directory / "tf_model.h5"
  content = path.read_bytes()
  path.write_bytes(content[:5000])
  assert_refused(directory, "tf_model.h5 can't be read as HDF5, it is damaged or incomplete")
  path.write_bytes(b"")
  assert_refused(path, "can't be read as HDF5")


def test_copies_that_differ(directory):
  with h5py.File(directory / "tf_model.h5", "r+") as file:
    file["mlm___cls/tf_bert_for_pre_training/bert/embeddings/LayerNorm/beta:0"][0] += 1
  assert_refused(directory, "are two names of one weight", "and differ")


def test_other_types_and_shapes(directory):
  name = "bert/tf_bert_for_pre_training/bert/pooler/dense/kernel:0"
  with h5py.File(directory / "tf_model.h5", "r+") as file:
    values = file[name][()]
    del file[name]
    file[name] = values.astype(np.int64)
  assert_refused(directory, "pooler.dense.weight is of type int64")
  with h5py.File(directory / "tf_model.h5", "r+") as file:
    del file[name]
    file[name] = values[None]
  assert_refused(directory, "pooler.dense.weight is [8, 8, 1], a matrix is expected")


def test_numbers_in_other_files_are_not_read(directory, tmp_path):
  name = "bert/tf_bert_for_pre_training/bert/pooler/dense/bias:0"
  (tmp_path / "secret").write_bytes(bytes(32))
  with h5py.File(directory / "tf_model.h5", "r+") as file:
    del file[name]
    file.create_dataset(name, (8,), np.float32, external=[(str(tmp_path / "secret"), 0, 32)])
  assert_refused(directory, "pooler/dense/bias:0 are in another file, which is not read")
  with h5py.File(directory / "tf_model.h5", "r+") as file:
    del file[name]
    file[name] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/bias")
  assert_refused(directory, "does not hold the whole encoder", "bert/pooler/dense/bias")
