import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.profiler import model_analyzer, option_builder

from bert_common.errors import UserError
from modeling import BertConfig, BertEncoder, BertForClassification, BertForPreTraining, costs
from modeling.costs import (
    check_memory,
    check_model,
    encoder_parameters,
    machine_memory,
    shown,
    training_bytes,
    training_flops,
)
from tests.modeling.common import SMALL, random_features

CONFIG = BertConfig(
    vocab_size=50,
    hidden_size=12,
    num_hidden_layers=3,
    num_attention_heads=2,
    intermediate_size=20,
    max_position_embeddings=24,
    type_vocab_size=2,
)


def test_a_training_step_needs_four_copies_and_the_activations():
    parameters = 4 * encoder_parameters(CONFIG)
    assert training_bytes(CONFIG, 0) == 4 * parameters
    assert training_bytes(CONFIG, 100) == 4 * parameters + 100 * 4 * (3 * 12 + 20)
    assert training_bytes(CONFIG, 100, half_precision=True) == 4 * parameters + 100 * 2 * (
        3 * 12 + 20
    )
    assert training_bytes(CONFIG, 100, freeze_layers=2) == parameters + 100 * 4 * (12 + 20)
    assert training_bytes(CONFIG, 0, freeze_embeddings=True) == parameters


@pytest.mark.parametrize(
    "changes",
    [
        {"vocab_size": 10**9},
        {"num_hidden_layers": 10_000, "hidden_size": 768},
        {"max_position_embeddings": 2**31 - 1},
        {"hidden_size": 2**24},
        {"intermediate_size": 10**9},
        {"type_vocab_size": 10**9},
    ],
)
def test_a_model_that_can_not_be_meant_is_refused_before_it_is_built(monkeypatch, changes):
    monkeypatch.setattr(costs, "machine_memory", lambda: 24 * 10**9)
    config = dataclasses.replace(CONFIG, **changes)
    (name, value), *_ = changes.items()
    with pytest.raises(
        UserError,
        match=rf"{name} {value}.*[GTP]B.* 24 GB",
    ):
        BertEncoder(config)


def test_what_fits_is_accepted():
    check_model(BertConfig(vocab_size=30522))
    check_memory(machine_memory(), "all there is", "take less")
    assert 10**8 < machine_memory() < 10**14


@pytest.mark.parametrize(
    "amount, text",
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (12345678, "12.3 MB"),
        (3.2e12, "3.2 TB"),
        (10**40, "1e+22 EB"),
    ],
)
def test_amounts_in_words(amount, text):
    assert shown(amount) == text


LENGTH, PREDICTIONS, BATCH = 16, 4, 3


def products(function, *arguments) -> float:
    """Operations of the matrix products in the graph of a function."""
    graph = tf.function(function, autograph=False).get_concrete_function(*arguments).graph
    options = option_builder.ProfileOptionBuilder(
        option_builder.ProfileOptionBuilder.float_operation()
    )
    return model_analyzer.profile(
        graph, options=options.with_empty_output().build()
    ).total_float_ops


def test_a_training_step_is_three_forward_passes():
    # Large enough for the matrix products to be nearly all there is.
    config = dataclasses.replace(
        SMALL,
        hidden_size=64,
        num_attention_heads=2,
        intermediate_size=256,
        vocab_size=1000,
        hidden_act="relu",
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = BertForPreTraining(config)
    features = {
        name: tf.constant(value)
        for name, value in random_features(config, BATCH, LENGTH, PREDICTIONS).items()
    }
    counted = products(model, features)
    assert BATCH * training_flops(config, LENGTH, PREDICTIONS) == pytest.approx(
        3 * counted, rel=0.05
    )


def test_what_is_frozen_has_no_gradients():
    whole, layers = training_flops(SMALL, 1, 3), SMALL.num_hidden_layers
    head = (
        2 * training_flops(dataclasses.replace(SMALL, num_hidden_layers=layers // 2), 1, 3) - whole
    )
    frozen = {
        (layers, True, False): 1 / 3,
        (layers, False, False): 2 / 3,
        (0, True, False): 1,
        (0, False, True): 2 / 3,
    }
    for (frozen_layers, frozen_embeddings, has_lora), share in frozen.items():
        found = training_flops(
            SMALL,
            1,
            3,
            freeze_layers=frozen_layers,
            freeze_embeddings=frozen_embeddings,
            has_lora=has_lora,
        )
        # Attention has no kernels: its two gradients stay where gradients go through.
        assert (found - head) / (whole - head) == pytest.approx(share, rel=0.1)
        assert found <= whole


def test_a_bilstm_is_counted():
    config = dataclasses.replace(SMALL, bilstm_units=8)
    model = BertForClassification(config, 2)
    kernels = sum(
        np.prod(variable.shape) for variable in model.bilstm.weights if len(variable.shape) == 2
    )
    assert training_flops(config, 16, 0) - training_flops(SMALL, 16, 0) == 3 * 2 * 16 * kernels
