import dataclasses
import hashlib
import json

import keras
import numpy as np
import pytest

from bert_common.errors import UserError
from modeling import BertConfig, BertForPreTraining
from modeling.checkpoints import weights
from tests.modeling.checkpoints.common import WithHeads, random_weights
from tests.modeling.common import SMALL

FINE_TUNING = ("classification", "question_answering", "token_classification", "multiple_choice")


@pytest.mark.golden
def test_names_and_shapes_are_the_originals(golden):
    expected = json.loads((golden / "tf1_checkpoint/variables.json").read_text())
    model = BertForPreTraining(
        BertConfig.from_file(str(golden / "tf1_checkpoint/bert_config.json"))
    )
    found = {name: list(variable.shape) for name, variable in weights.original_names(model).items()}
    assert found == {variable["name"]: variable["shape"] for variable in expected}


def test_a_row_has_a_name_of_its_own_in_every_format():
    rows = weights.all_weights(2)
    assert set(rows) >= set(weights.model_shapes(SMALL))
    for names in (list(rows), [weights.native_path(name) for name in rows]):
        assert len(set(names)) == len(rows)
    assert all("{layer}" not in str(row) for row in rows.values())
    # Hugging Face has one name for three heads, distinguished by the class.
    shared = {
        weight.original
        for head in weights.HEADS.values()
        if head.huggingface_layer == "classifier"
        for weight in head.weights
    }
    theirs = [row.huggingface for name, row in rows.items() if name not in shared]
    assert len(set(theirs)) == len(theirs) and len(shared) == 6


def test_shapes_of_the_variables_are_those_of_the_table():
    pretraining = BertForPreTraining(SMALL)
    for model in (pretraining, WithHeads(SMALL, *FINE_TUNING)):
        found = {
            name: tuple(variable.shape) for name, variable in weights.original_names(model).items()
        }
        assert list(found.items()) == list(weights.model_shapes(SMALL, found).items())


def test_initial_weights_are_seeded_by_the_names_of_the_table():
    pretraining = BertForPreTraining(SMALL, seed=5)
    fine_tuning = WithHeads(SMALL, *FINE_TUNING, seed=5)
    # Heads of fine-tuning go by their native paths: the classifier has no name of its own in the
    # original.
    names = {name: name for name in weights.original_names(pretraining)}
    names |= {
        name: weights.native_path(name)
        for name in weights.original_names(fine_tuning)
        if not name.startswith("bert/")
    }
    random = 0
    for name, variable in (
        weights.original_names(fine_tuning) | weights.original_names(pretraining)
    ).items():
        if name.endswith(("kernel", "_embeddings", "output_weights")):
            seed = (
                int.from_bytes(hashlib.sha256(f"5/{names[name]}".encode()).digest()[:4], "little")
                >> 1
            )
            expected = keras.initializers.TruncatedNormal(stddev=SMALL.initializer_range, seed=seed)
            np.testing.assert_array_equal(variable.numpy(), expected(variable.shape), err_msg=name)
            random += 1
        else:
            assert (variable.numpy() == (1 if name.endswith("gamma") else 0)).all(), name
    assert random == 3 + 2 * 6 + 1 + 2 + 4


@pytest.mark.parametrize(
    "heads, excused",
    [
        (("question_answering",), True),
        (("token_classification",), True),
        (("masked_lm",), True),
        ((), True),
        (("classification",), False),
        (("multiple_choice",), False),
        (("masked_lm", "next_sentence"), False),
        (("question_answering", "classification"), False),
    ],
    ids=str,
)
def test_the_pooler_may_be_missing_where_nothing_reads_it(heads, excused):
    shapes = weights.model_shapes(SMALL)
    missing = weights.missing_from_encoder(shapes, random_weights(*heads, pooler=False))
    assert missing == (
        [] if excused else ["bert/pooler/dense/kernel [12, 12]", "bert/pooler/dense/bias [12]"]
    )
    assert not weights.missing_from_encoder(shapes, random_weights(*heads))


def test_what_a_model_does_not_take_over_need_not_fit():
    tensors = {name: value.shape for name, value in random_weights("classification").items()}
    fewer = dataclasses.replace(SMALL, num_hidden_layers=1, bilstm_units=3)
    weights.check_fits(fewer, tensors, "a file", encoder_only=True)
    with pytest.raises(
        UserError,
        match=r"a file: the configuration contradicts the tensors: output_weights is \[3, 12\] "
        r"and would be \[3, 6\]\. Use the configuration",
    ):
        weights.check_fits(fewer, tensors, "a file")
    for wrong in (
        dataclasses.replace(SMALL, hidden_size=24),
        dataclasses.replace(SMALL, num_hidden_layers=9_999),
    ):
        with pytest.raises(UserError, match="contradicts the tensors"):
            weights.check_fits(wrong, tensors, "a file", encoder_only=True)


def test_every_key_of_the_configuration_has_a_row():
    assert {field.name for field in dataclasses.fields(BertConfig)} == set(weights.CONFIG_KEYS)


@pytest.mark.parametrize(
    "change, output_format, title",
    [
        ({"causal": True}, "original", "a left-to-right model"),
        ({"causal": True}, "huggingface", None),
        ({"bilstm_units": 3}, "huggingface", "a BiLSTM between encoder and head"),
        ({"bilstm_units": 3}, "native", None),
        ({"hidden_act": "gelu_erf"}, "original", None),
    ],
)
def test_formats_refuse_a_configuration_by_the_table(change, output_format, title):
    assert weights.missing_place(dataclasses.replace(SMALL, **change), output_format) == title


def test_notes_are_about_values_that_a_format_does_not_hold():
    other = dataclasses.replace(SMALL, layer_norm_epsilon=1e-5, hidden_act="gelu_erf")
    assert weights.format_notes(SMALL, "original") == []
    assert weights.format_notes(other, "native") == []
    assert len(weights.format_notes(other, "model_garden")) == 2
