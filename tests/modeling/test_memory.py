import dataclasses
import math

import pytest

from bert_common.errors import UserError
from modeling import BertEncoder, memory
from modeling.config import BertConfig
from modeling.memory import (
  check_memory,
  check_model,
  encoder_parameters,
  machine_memory,
  shown,
  training_bytes,
)

CONFIG = BertConfig(vocab_size=50, hidden_size=12, num_hidden_layers=3, num_attention_heads=2, intermediate_size=20,
                    max_position_embeddings=24, type_vocab_size=2)


def test_the_parameters_are_those_of_the_model():
  assert encoder_parameters(CONFIG) == sum(math.prod(weight.shape) for weight in BertEncoder(CONFIG).weights)
  # That of the paper, table 1, without the heads.
  assert encoder_parameters(BertConfig(vocab_size=30522, type_vocab_size=2)) == 109_482_240


def test_a_training_step_needs_four_copies_and_the_activations():
  parameters = 4 * encoder_parameters(CONFIG)
  assert training_bytes(CONFIG, 0) == 4 * parameters
  assert training_bytes(CONFIG, 100) == 4 * parameters + 100 * 4 * (3 * 12 + 20)
  assert training_bytes(CONFIG, 100, half_precision=True) == 4 * parameters + 100 * 2 * (3 * 12 + 20)
  assert training_bytes(CONFIG, 100, frozen_layers=2) == parameters + 100 * 4 * (12 + 20)
  assert training_bytes(CONFIG, 0, frozen_embeddings=True) == parameters


@pytest.mark.parametrize("changes", [
    {"vocab_size": 10**9}, {"num_hidden_layers": 10_000, "hidden_size": 768}, {"max_position_embeddings": 2**31 - 1},
    {"hidden_size": 2**24}, {"intermediate_size": 10**9}, {"type_vocab_size": 10**9}])
def test_a_model_that_can_not_be_meant_is_refused_before_it_is_built(monkeypatch, changes):
  monkeypatch.setattr(memory, "machine_memory", lambda: 24 * 10**9)
  config = dataclasses.replace(CONFIG, **changes)
  (name, value), *_ = changes.items()
  with pytest.raises(UserError, match=rf"a model with .*{name} {value}.* needs at least .*[GTP]B of memory, this "
                     r"machine has 24 GB: take a smaller one"):
    BertEncoder(config)


def test_what_fits_is_accepted():
  check_model(BertConfig(vocab_size=30522))
  check_memory(machine_memory(), "all there is", "take less")
  assert 10**8 < machine_memory() < 10**14


@pytest.mark.parametrize("amount, text", [
    (0, "0 bytes"), (999, "999 bytes"), (12345678, "12.3 MB"), (3.2e12, "3.2 TB"), (10**40, "1.0e+22 EB")])
def test_amounts_in_words(amount, text):
  assert shown(amount) == text
