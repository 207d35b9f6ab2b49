import json

import pytest

from modeling.checkpoints.weights import native_path, original_name, original_names
from modeling.config import BertConfig
from modeling.encoder import BertEncoder
from modeling.pretraining import BertForPreTraining
from tests.modeling.common import SMALL


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
  assert {id(variable) for variable in named} == {id(variable) for variable in model.variables}


def test_an_encoder_alone_has_names():
  encoder = BertEncoder(SMALL)
  encoder.build_weights()
  names = original_names(encoder)
  assert len(names) == len(encoder.variables)
  assert all(name.startswith("bert/") for name in names)


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


def test_what_is_no_weight_has_no_name():
  with pytest.raises(ValueError, match="optimizer/momentum"):
    original_name("optimizer/momentum")
