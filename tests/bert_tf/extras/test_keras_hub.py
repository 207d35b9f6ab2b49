"""Presets and weights written by KerasHub, with the outputs they had there
(tests/golden/README.md)."""

import json
import shutil

import h5py
import ml_dtypes
import numpy as np
import pytest

from bert_tf.inference.options import InferenceSettings, task_class
from modeling.checkpoints.load import open_checkpoint, read_checkpoint
from modeling.config import BertConfig
from modeling.pretraining import MaskedLmHead
from tests.modeling.checkpoints.common import assert_refused, assert_same, load_into, read_all
from tests.modeling.common import arrays

HEADS = {"backbone": (), "classifier": ("classification",), "masked_lm": ("masked_lm",)}


def load(golden, name, path):
    """(our model, outputs of the encoder, what they were there)."""
    model, report = load_into(golden / "h5/keras_hub" / path, *HEADS[name])
    assert (report.newly_initialized, report.unused) == ([], [])
    expected = arrays(golden / "h5/keras_hub" / name / "outputs.npz")
    return (
        model,
        model.encoder(expected["token_ids"], expected["padding_mask"], expected["segment_ids"]),
        expected,
    )


@pytest.mark.golden
@pytest.mark.parametrize("ending", ["", ".weights.h5"])
@pytest.mark.parametrize("name", HEADS)
def test_outputs(golden, name, ending):
    model, encoded, expected = load(golden, name, name + ending)
    for output in ("sequence_output", "pooled_output"):
        np.testing.assert_allclose(encoded[output], expected[output], atol=2e-5, rtol=0)
    if name == "classifier":
        np.testing.assert_allclose(
            model.heads["classification"](encoded["pooled_output"]),
            expected["logits"],
            atol=2e-5,
            rtol=0,
        )


@pytest.mark.golden
def test_the_masked_lm_head_has_the_exact_gelu_and_another_epsilon_there(golden):
    model, encoded, expected = load(golden, "masked_lm", "masked_lm")
    head = MaskedLmHead(
        BertConfig(**{**model.config.to_dict(), "hidden_act": "gelu_erf"}, layer_norm_epsilon=1e-5)
    )
    head.build()
    head.set_weights(model.heads["masked_lm"].get_weights())
    table = model.encoder.embeddings.word_embeddings
    logits = head(encoded["sequence_output"], expected["mask_positions"], table)
    np.testing.assert_allclose(logits, expected["logits"], atol=2e-5, rtol=0)
    # With those of the encoder, which the original has in both places.
    logits = model.heads["masked_lm"](encoded["sequence_output"], expected["mask_positions"], table)
    assert 2e-5 < np.abs(logits - expected["logits"]).max() < 5e-3


def test_what_lies_in_a_preset(golden):
    opened = open_checkpoint(str(golden / "h5/keras_hub/classifier"))
    assert opened.config.num_attention_heads == 2 and opened.config.hidden_dropout_prob == 0.2
    assert (opened.tokenizer.do_lower_case, len(opened.tokenizer.vocabulary), opened.task) == (
        True,
        50,
        None,
    )
    assert opened.heads == ["classification"]
    # The shapes of a single file give its sizes.
    alone = read_checkpoint(str(golden / "h5/keras_hub/classifier.weights.h5"))
    assert alone.config.num_attention_heads == 2 and alone.vocab_file is None


@pytest.fixture
def preset(golden, tmp_path):
    return shutil.copytree(golden / "h5/keras_hub/classifier", tmp_path / "preset")


def test_files_of_keras_2(preset):
    """Their layers were called otherwise; Keras 3 still translates the name."""
    expected = read_all(preset)
    with h5py.File(preset / "model.weights.h5", "r+") as file:
        for layer in ("transformer_encoder", "transformer_encoder_1"):
            attention = file[f"layers/{layer}/_self_attention_layer"]
            for part in ("query", "key", "value", "output"):
                attention.move(f"{part}_dense", f"_{part}_dense")
        file.move("layers", "_layer_checkpoint_dependencies")
    assert_same(read_all(preset), expected)


def test_presets_before_version_0_30(preset):
    """The file of the task held the encoder, too."""
    expected = read_all(preset)
    with (
        h5py.File(preset / "model.weights.h5") as encoder,
        h5py.File(preset / "task.weights.h5", "r+") as task,
    ):
        encoder.copy("layers", task.create_group("layers/bert_backbone"))
    assert_same(read_all(preset), expected)


def test_bfloat16(preset):
    name = "layers/dense/vars/1"
    with h5py.File(preset / "model.weights.h5", "r+") as file:
        half = file[name][()].astype(ml_dtypes.bfloat16)
        del file[name]
        file.create_dataset(name, data=half.view("V2")).attrs["dtype"] = "bfloat16"
    np.testing.assert_array_equal(
        read_checkpoint(str(preset)).read("bert/pooler/dense/bias"), half.astype(np.float32)
    )


def test_accents_of_a_preset(preset):
    path = preset / "tokenizer.json"
    record = json.loads(path.read_text())
    for value in (False, True):
        record["config"] |= {"lowercase": True, "strip_accents": value}
        path.write_text(json.dumps(record))
        vocabulary = open_checkpoint(str(preset)).tokenizer.vocabulary
        assert vocabulary.strip_accents is (False if value is False else None)


def write_layer(path, class_name, **config):
    path.write_text(json.dumps({"class_name": class_name, "config": config}))


def classifier(preset, **settings):
    return task_class("classification")(open_checkpoint(str(preset)), InferenceSettings(**settings))


def test_outputs_of_a_classifier_mean_what_its_task_says(preset):
    write_layer(preset / "task.json", "BertTextClassifier", num_classes=3, activation="softmax")
    probabilities = classifier(preset).predict([("a b",)])[0]["probabilities"].values()
    assert sum(probabilities) == pytest.approx(1, abs=1e-5)
    write_layer(preset / "task.json", "BertTextClassifier", num_classes=3, activation="sigmoid")
    found = classifier(preset).predict([("a b",)])[0]
    odds = [value / (1 - value) for value in found["probabilities"].values()]
    np.testing.assert_allclose(np.divide(odds, sum(odds)), [*probabilities], rtol=1e-3)
    assert found["labels"] == [name for name, p in found["probabilities"].items() if p >= 0.5]
    write_layer(preset / "task.json", "BertTextClassifier", num_classes=3, activation="relu")
    assert_refused(preset, "activation is 'relu'")


def test_a_score_may_be_a_sigmoid(preset):
    with h5py.File(preset / "task.weights.h5", "r+") as file:
        for key in ("layers/dense/vars/0", "layers/dense/vars/1"):
            values = file[key][()][..., :1]
            del file[key]
            file[key] = values
    scores = {}
    for activation in ("linear", "sigmoid"):
        write_layer(preset / "task.json", "BertTextClassifier", activation=activation)
        scores[activation] = classifier(preset).predict([("a b",)])[0]["score"]
    assert scores["sigmoid"] == pytest.approx(1 / (1 + np.exp(-scores["linear"])), abs=1e-5)


def test_texts_are_cut_where_the_preprocessor_cuts_them(preset):
    text = ("a b " * 20,)
    path = preset / "preprocessor.json"
    write_layer(path, "BertTextClassifierPreprocessor", sequence_length=6, truncate="waterfall")
    found = classifier(preset)
    assert found.predict([text]) == classifier(preset, max_seq_length=6).predict([text])
    assert found.max_seq_length == 6
    assert [note for note in found.notes if "truncate is 'waterfall'" in note]
    write_layer(path, "BertTextClassifierPreprocessor", sequence_length=6, truncate="round_robin")
    assert not [note for note in classifier(preset).notes if "truncate" in note]
    write_layer(path, "BertTextClassifierPreprocessor", sequence_length=0)
    assert_refused(preset, "sequence_length is 0")
    write_layer(path, "MyPreprocessor", sequence_length="long")
    assert classifier(preset).max_seq_length > 6


def test_another_tokenizer_is_refused(preset):
    write_layer(preset / "tokenizer.json", "BertTokenizer", lowercase=True, suffix_indicator="@@")
    assert_refused(preset, "suffix_indicator is '@@'")
    write_layer(preset / "tokenizer.json", "BertTokenizer", lowercase="yes")
    assert_refused(preset, "'lowercase'")


def _change_config(preset, **changes):
    config = json.loads((preset / "config.json").read_text())
    (preset / "config.json").write_text(json.dumps(config | changes))
    return config["config"]


def test_what_is_refused(preset, tmp_path):
    sizes = _change_config(preset)
    _change_config(preset, config=sizes | {"num_heads": 4})
    assert_refused(preset, "num_attention_heads is 4 there and 2 in the tensors")
    _change_config(preset, config=sizes | {"hidden_dim": 16})
    assert_refused(preset, "the configuration contradicts the tensors")
    _change_config(preset, config={})
    assert_refused(preset, "there is no 'config.vocabulary_size'")
    _change_config(preset, class_name="GemmaBackbone")
    assert_refused(preset, "class_name is 'GemmaBackbone'")
    with h5py.File(tmp_path / "other.weights.h5", "w") as file:
        file["layers/dense/vars/0"] = np.zeros((3, 2), np.float32)
    assert_refused(tmp_path / "other.weights.h5", "holds no BertBackbone of KerasHub")


def test_an_attention_kernel_with_other_axes_is_refused(preset):
    name = "layers/transformer_encoder/_self_attention_layer/query_dense/vars/0"
    with h5py.File(preset / "model.weights.h5", "r+") as file:
        values = file[name][()]
        del file[name]
        file[name] = values.reshape(-1)
    assert_refused(preset, "3 axes are expected")
