"""The tables of weights and heads against models, and configurations against tensors."""

import dataclasses
import hashlib
import json
import types

import keras
import numpy as np
import pytest

from bert_common.errors import UserError
from modeling.checkpoints.weights import (
  HEADS,
  SIZES,
  all_weights,
  check_fits,
  config_from_shapes,
  encoder_shapes,
  head_shapes,
  heads_of,
  may_lack_pooler,
  native_path,
  original_name,
  original_names,
  weight_values,
)
from modeling.classification import ClassificationHead
from modeling.config import BertConfig
from modeling.encoder import BertEncoder
from modeling.multiple_choice import MultipleChoiceHead
from modeling.pretraining import BertForPreTraining
from modeling.question_answering import QuestionAnsweringHead
from modeling.token_classification import TokenClassificationHead
from tests.modeling.checkpoints.common import CLASSES, WithHeads, random_weights
from tests.modeling.checkpoints.common import HEADS as ANNOUNCED
from tests.modeling.common import SMALL


def with_fine_tuning_heads(seed: int = 0) -> WithHeads:
  """A model with every head that is fine-tuned."""
  return WithHeads(SMALL, **{
      "classification": ClassificationHead(SMALL, CLASSES["classification"], seed=seed),
      "question_answering": QuestionAnsweringHead(SMALL, seed=seed),
      "token_classification": TokenClassificationHead(SMALL, CLASSES["token_classification"], seed=seed),
      "multiple_choice": MultipleChoiceHead(SMALL, seed=seed)})


@pytest.mark.golden
def test_names_and_shapes_are_the_originals(golden):
  expected = json.loads((golden / "tf1_checkpoint/variables.json").read_text())
  model = BertForPreTraining(BertConfig.from_file(str(golden / "tf1_checkpoint/bert_config.json")))
  model.build_weights()
  found = {name: list(variable.shape) for name, variable in original_names(model).items()}
  assert found == {variable["name"]: variable["shape"] for variable in expected}


def test_every_variable_of_the_model_has_one_name():
  model = BertForPreTraining(SMALL)
  model.build_weights()
  named = list(original_names(model).values())
  assert len({id(variable) for variable in named}) == len(named)
  assert {id(variable) for variable in named} == {id(variable) for variable in model.weights}


@pytest.mark.parametrize("name, path", [
    ("bert/embeddings/LayerNorm/gamma", "encoder/embeddings/LayerNorm/gamma"),
    ("bert/encoder/layer_11/output/dense/kernel", "encoder/encoder/layer_11/output/dense/kernel"),
    ("cls/predictions/transform/dense/kernel", "heads/masked_lm/transform/dense/kernel"),
    ("cls/predictions/output_bias", "heads/masked_lm/output_bias"),
    ("cls/seq_relationship/output_weights", "heads/next_sentence/output_weights"),
    ("cls/squad/output_bias", "heads/span/output_bias"),
    ("output_weights", "heads/classifier/output_weights"),
])
def test_paths_lead_there_and_back(name, path):
  assert native_path(name) == path
  assert original_name(path) == name


def test_a_row_has_a_name_of_its_own_in_every_format():
  rows = all_weights(2)
  assert set(rows) >= set(encoder_shapes(SMALL))
  for names in (list(rows), [native_path(name) for name in rows]):
    assert len(set(names)) == len(rows)
  assert all("{layer}" not in str(row) for row in rows.values())
  # Hugging Face has one name for three heads, distinguished by the class.
  shared = {weight.original for head in HEADS.values() if head.huggingface_layer == "classifier"
            for weight in head.weights}
  theirs = [row.huggingface for name, row in rows.items() if name not in shared]
  assert len(set(theirs)) == len(theirs) and len(shared) == 6


def test_shapes_of_the_variables_are_those_of_the_table():
  pretraining = BertForPreTraining(SMALL)
  pretraining.build_weights()
  for model in (pretraining, with_fine_tuning_heads()):
    found = {name: tuple(variable.shape) for name, variable in original_names(model).items()}
    assert list(found) == list(encoder_shapes(SMALL) | head_shapes(SMALL, found))
    assert found == encoder_shapes(SMALL) | head_shapes(SMALL, found)


def test_initial_weights_are_seeded_by_the_names_of_the_table():
  pretraining = BertForPreTraining(SMALL, seed=5)
  pretraining.build_weights()
  fine_tuning = with_fine_tuning_heads(seed=5)
  # Heads of fine-tuning go by their native paths: the classifier has no name of its own in the original.
  names = {name: name for name in original_names(pretraining)}
  names |= {name: native_path(name) for name in original_names(fine_tuning) if not name.startswith("bert/")}
  random = 0
  for name, variable in (original_names(fine_tuning) | original_names(pretraining)).items():
    if name.endswith(("kernel", "_embeddings", "output_weights")):
      seed = int.from_bytes(hashlib.sha256(f"5/{names[name]}".encode()).digest()[:4], "little") >> 1
      expected = keras.initializers.TruncatedNormal(stddev=SMALL.initializer_range, seed=seed)
      np.testing.assert_array_equal(variable.numpy(), expected(variable.shape), err_msg=name)
      random += 1
    else:
      assert (variable.numpy() == (1 if name.endswith("gamma") else 0)).all(), name
  assert random == 3 + 2 * 6 + 1 + 2 + 4


def test_values_of_a_layer_with_lora_are_merged_and_its_variable_is_not():
  encoder = BertEncoder(SMALL)
  encoder.build_weights()
  pooler = keras.layers.Dense(SMALL.hidden_size)
  pooler.build((None, SMALL.hidden_size))
  pooler.enable_lora(2)
  pooler.lora_kernel_b.assign(np.ones(pooler.lora_kernel_b.shape, np.float32))
  model = types.SimpleNamespace(
      config=SMALL, embeddings=encoder.embeddings, layers=encoder.layers, pooler=pooler)
  name = "bert/pooler/dense/kernel"
  variable, value = original_names(model)[name], weight_values(model)[name]
  assert any(variable is weight for weight in pooler.weights)
  np.testing.assert_allclose(
      value, variable.numpy() + pooler.lora_kernel_a.numpy() @ pooler.lora_kernel_b.numpy(), rtol=1e-6)
  assert np.abs(value - variable.numpy()).max() > 0.01
  for name, variable in original_names(encoder).items():
    np.testing.assert_array_equal(weight_values(encoder)[name], variable.numpy(), err_msg=name)


def test_a_checkpoint_has_the_heads_whose_signature_it_has():
  for name, announced in ANNOUNCED.items():
    assert heads_of(announced) == [name]
    assert heads_of(head_shapes(SMALL, announced)) == [name]
  assert heads_of(encoder_shapes(SMALL)) == []


@pytest.mark.parametrize("heads, excused", [
    (("question_answering",), True), (("token_classification",), True), (("masked_lm",), True), ((), False),
    (("classification",), False),
    (("multiple_choice",), False), (("masked_lm", "next_sentence"), False),
    (("question_answering", "classification"), False)], ids=str)
def test_the_pooler_may_be_missing_where_nothing_reads_it(heads, excused):
  assert may_lack_pooler(random_weights(*heads, pooler=False)) is excused
  assert not may_lack_pooler(random_weights(*heads))


def test_what_a_model_does_not_take_over_need_not_fit():
  tensors = {name: value.shape for name, value in random_weights("classification").items()}
  fewer = dataclasses.replace(SMALL, num_hidden_layers=1, bilstm_units=3)
  check_fits(fewer, tensors, "a file", encoder_only=True)
  with pytest.raises(UserError, match=r"a file: the configuration contradicts the tensors: output_weights is \[3, 12\] "
                                      r"and would be \[3, 6\].*; and 11 more"):
    check_fits(fewer, tensors, "a file")
  for wrong in (dataclasses.replace(SMALL, hidden_size=24), dataclasses.replace(SMALL, num_hidden_layers=9_999)):
    with pytest.raises(UserError, match="contradicts the tensors"):
      check_fits(wrong, tensors, "a file", encoder_only=True)


def test_sizes_of_no_model_name_the_file():
  row = {letter: 2 for letter in SIZES}
  shapes = {f"bert/encoder/layer_{number}/x": tuple(row.values()) for number in range(10_001)}
  with pytest.raises(UserError, match="^a file: num_hidden_layers is 10001, it must be at most 10000$"):
    config_from_shapes(shapes, dict.fromkeys(shapes, "".join(row)), "a file")
