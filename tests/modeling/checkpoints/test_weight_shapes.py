"""What a configuration asks for against what a checkpoint has."""

import dataclasses

import pytest

from bert_common.errors import UserError
from modeling.checkpoints.weight_shapes import (
  SIZES,
  check_fits,
  config_from_shapes,
  encoder_shapes,
  head_shapes,
  heads_of,
  may_lack_pooler,
)
from tests.modeling.checkpoints.common import HEADS as ANNOUNCED
from tests.modeling.checkpoints.common import random_weights
from tests.modeling.common import SMALL


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
