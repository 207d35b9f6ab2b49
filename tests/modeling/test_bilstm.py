import dataclasses
import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_common.errors import UserError
from modeling.bilstm import BertForFeatureTagging, BiLstm, FeatureTagger
from modeling.checkpoints.convert import convert
from modeling.checkpoints.load import read_checkpoint
from modeling.checkpoints.weights import original_names
from modeling.config import BertConfig
from modeling.encoder import BertEncoder
from modeling.fine_tuning import (
    BertForClassification,
    BertForMultipleChoice,
    BertForQuestionAnswering,
    BertForTokenClassification,
)
from modeling.pretraining import BertForPreTraining
from tests.modeling.common import SMALL, dropout_stream, random_features
from tests.refusals import assert_refused

UNITS = 7
CONFIG = dataclasses.replace(SMALL, bilstm_units=UNITS)
FEATURES = {
    name: value
    for name, value in random_features(SMALL, 4, 9, 1).items()
    if name in ("input_ids", "input_mask", "segment_ids")
}


def test_it_computes_what_pytorchs_does():
    torch = pytest.importorskip("torch")
    layer = BiLstm(CONFIG, seed=3)
    layer.build()
    x = np.random.default_rng(0).normal(size=(4, 9, SMALL.hidden_size)).astype(np.float32)
    peer = torch.nn.LSTM(SMALL.hidden_size, UNITS, batch_first=True, bidirectional=True)
    directions = {"": layer.lstm.forward_layer.cell, "_reverse": layer.lstm.backward_layer.cell}
    assert np.abs(np.subtract(*(cell.kernel.numpy() for cell in directions.values()))).max() > 0.1
    with torch.no_grad():
        for suffix, cell in directions.items():
            for name, value in (
                ("weight_ih", cell.kernel),
                ("weight_hh", cell.recurrent_kernel),
                ("bias_ih", cell.bias),
            ):
                getattr(peer, f"{name}_l0{suffix}").copy_(torch.tensor(value.numpy().T))
            getattr(peer, f"bias_hh_l0{suffix}").zero_()
    lengths = FEATURES["input_mask"].sum(axis=1)
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.tensor(x), lengths, batch_first=True)
    expected, (last, _) = peer(packed)
    expected, _ = torch.nn.utils.rnn.pad_packed_sequence(expected, batch_first=True, total_length=9)
    found = layer(x, FEATURES["input_mask"])
    real = FEATURES["input_mask"].astype(bool)
    np.testing.assert_allclose(
        found["sequence_output"].numpy()[real], expected.detach().numpy()[real], atol=1e-5
    )
    np.testing.assert_allclose(
        found["pooled_output"], np.concatenate(last.detach().numpy(), axis=1), atol=1e-5
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: BertForClassification(CONFIG, 3, seed=1),
        lambda: BertForQuestionAnswering(dataclasses.replace(CONFIG, causal=True), seed=1),
        lambda: BertForTokenClassification(CONFIG, 5, seed=1),
        lambda: BertForMultipleChoice(dataclasses.replace(CONFIG, causal=True), seed=1),
    ],
    ids=["classification", "question_answering", "token_classification", "multiple_choice"],
)
def test_models_are_saved_and_loaded(make, tmp_path):
    model = make()
    features = FEATURES
    if isinstance(model, BertForMultipleChoice):
        features = {name: value.reshape(2, 2, 9) for name, value in FEATURES.items()}
    expected = keras.tree.flatten(model(features))
    model.save_checkpoint(str(tmp_path / "native"))
    model.save(tmp_path / "model.keras")
    again = type(model).from_checkpoint(str(tmp_path / "native"), seed=2)
    for other in (again, keras.models.load_model(tmp_path / "model.keras")):
        for found, value in zip(keras.tree.flatten(other(features)), expected, strict=True):
            np.testing.assert_array_equal(found, value)
    (head,) = model.heads.values()
    names = original_names(model)
    assert sum(name.startswith("bilstm/") for name in names) == 6
    assert head.output_weights.shape[1] == 2 * UNITS

    # Everything on the way to the loss is trained, but for the pooler, whose place it takes; on
    # GPUs by way of XLA.
    @tf.function(jit_compile=isinstance(model, BertForQuestionAnswering))
    def run():
        with tf.GradientTape() as tape:
            loss = tf.add_n(
                [
                    tf.reduce_sum(value**2)
                    for value in keras.tree.flatten(model(features, training=True))
                ]
            )
        return tape.gradient(loss, {name: variable.value for name, variable in names.items()})

    gradients = run()
    assert [name for name, value in gradients.items() if value is None] == [
        "bert/pooler/dense/kernel",
        "bert/pooler/dense/bias",
    ]
    # Padding changes nothing.
    if isinstance(model, BertForClassification):
        shorter = {
            name: value[3:, : FEATURES["input_mask"][3].sum()] for name, value in FEATURES.items()
        }
        np.testing.assert_allclose(model(shorter)[0], expected[0][3], atol=1e-6)


def test_no_other_format_has_it(tmp_path):
    BertForQuestionAnswering(CONFIG).save_checkpoint(str(tmp_path / "native"))
    for output_format in ("original", "huggingface", "model_garden"):
        assert_refused(
            functools.partial(
                convert, str(tmp_path / "native"), output_format, str(tmp_path / "out")
            ),
            "has no place for a BiLSTM between encoder and head: write 'native'",
        )
        assert not (tmp_path / "out").exists()
    convert(str(tmp_path / "native"), "native", str(tmp_path / "again"))
    assert (
        read_checkpoint(str(tmp_path / "again")).tensors
        == read_checkpoint(str(tmp_path / "native")).tensors
    )


def test_a_configuration_that_does_not_mention_it_or_contradicts_it(tmp_path):
    # Of so many units that the head has the shape of one without a BiLSTM.
    config = dataclasses.replace(SMALL, bilstm_units=SMALL.hidden_size // 2)
    BertForQuestionAnswering(config, seed=1).save_checkpoint(str(tmp_path / "native"))
    SMALL.to_file(str(tmp_path / "bert_config.json"))
    model = BertForQuestionAnswering.from_checkpoint(
        str(tmp_path / "native"), bert_config_file=str(tmp_path / "bert_config.json")
    )
    assert model.config == config
    # As if the key had been lost.
    SMALL.to_file(str(tmp_path / "native" / "bert_config.json"))
    with pytest.raises(UserError, match="its head stands on a BiLSTM, which this model has not"):
        BertForQuestionAnswering.from_checkpoint(str(tmp_path / "native"))
    assert BertEncoder.from_checkpoint(str(tmp_path / "native")).config == SMALL
    with pytest.raises(UserError, match="bilstm_units is -1, it must be at least 0"):
        BertConfig.from_dict({"vocab_size": 9, "bilstm_units": -1})


def test_what_it_is_not_for():
    with pytest.raises(UserError, match="a BiLSTM is for fine-tuning"):
        BertForPreTraining(CONFIG)
    with pytest.raises(UserError, match="a BiLSTM reads a row from end to end"):
        BertForQuestionAnswering(CONFIG)({**FEATURES, "sequence_ids": FEATURES["input_mask"]})


def test_ways_of_combining_layers():
    hidden = SMALL.hidden_size
    states = np.random.default_rng(1).normal(size=(2, 3, 4, hidden)).astype(np.float32)
    mask = tf.constant([[True, True, True], [True, False, False]])
    for combine, width in (("concat", 4 * hidden), ("sum", hidden), ("weighted_sum", hidden)):
        tagger = FeatureTagger(SMALL, 3, 4, combine, units=2, seed=1)
        assert tagger(states, mask).shape == (2, 3, 3)
        assert tagger.lstms[0].forward_layer.cell.kernel.shape[0] == width
        # What stands after a sentence does not matter.
        changed = np.concatenate([states[:, :1], states[:, 1:] + 7.0], 1)
        np.testing.assert_allclose(
            tagger(changed, mask)[1, 0], tagger(states, mask)[1, 0], atol=1e-6
        )


def test_dropout_is_a_function_of_seed_and_step():
    model = BertForFeatureTagging(SMALL, 3, (0, 1), "concat", units=8, depth=1, dropout=0.5, seed=1)
    states = np.random.default_rng(1).normal(size=(4, 5, 2, SMALL.hidden_size)).astype(np.float16)
    features = {"states": states, "input_mask": np.ones((4, 5), np.int32)}
    whole = model(features, dropout=dropout_stream(1, tf.constant(7, tf.int64)))
    half = model(
        {name: value[2:] for name, value in features.items()},
        dropout=dropout_stream(1, tf.constant(7, tf.int64), 2),
    )
    np.testing.assert_allclose(whole[2:], half, atol=1e-6)
    assert not np.allclose(
        whole, model(features, dropout=dropout_stream(1, tf.constant(8, tf.int64)))
    )
    assert not model.encoder.trainable_variables and len(model.trainable_variables) == 8
