"""Directories of Hugging Face's transformers, damage and lies in them; `.h5` files of its
TensorFlow classes, with the outputs they had there (tests/golden/README.md)."""

import dataclasses
import json
import shutil

import h5py
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from bert_common.errors import UserError
from modeling.checkpoints.convert import convert
from modeling.checkpoints.load import read_checkpoint
from modeling.fine_tuning import (
    BertForClassification,
    BertForMultipleChoice,
    BertForQuestionAnswering,
    BertForTokenClassification,
)
from tests.modeling.checkpoints.common import (
    HEADS,
    assert_refused,
    assert_same,
    head_outputs,
    huggingface_tensors,
    load_into,
    random_weights,
    read_all,
    write_huggingface,
)
from tests.modeling.common import SMALL, arrays

PRETRAINING = ("masked_lm", "next_sentence")
WORDS = "bert.embeddings.word_embeddings.weight"


@pytest.mark.parametrize("heads", [(), PRETRAINING, *((head,) for head in HEADS)], ids=str)
def test_every_kind_of_model(tmp_path, heads):
    weights = random_weights(*heads)
    assert_same(read_all(write_huggingface(tmp_path, weights)), weights)


@pytest.mark.parametrize(
    "rename",
    [
        lambda key: key.removeprefix("bert."),
        lambda key: "model." + key,
        lambda key: "model." + key.removeprefix("bert."),
        lambda key: "module." + key,
        lambda key: key.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"),
    ],
    ids=["none", "model.bert", "model", "module.bert", "gamma and beta"],
)
def test_prefixes_and_old_names(tmp_path, rename):
    weights = random_weights(*PRETRAINING)
    tensors = {rename(key): value for key, value in huggingface_tensors(weights).items()}
    assert_same(read_all(write_huggingface(tmp_path, weights, tensors=tensors)), weights)


def test_without_a_configuration_the_pooler_tells_a_classifier_from_a_tagger(tmp_path):
    for name, head, pooler in (("a", "classification", True), ("b", "token_classification", False)):
        weights = random_weights(head, pooler=pooler)
        folder = write_huggingface(tmp_path / name, weights)
        (folder / "config.json").unlink()
        assert read_checkpoint(str(folder)).config is None
        assert_same(read_all(folder), weights)


def test_a_file_or_its_directory(tmp_path):
    write_huggingface(tmp_path, random_weights())
    (tmp_path / "vocab.txt").write_text("[PAD]\n")
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    for path in (tmp_path, tmp_path / "model.safetensors"):
        source = read_checkpoint(str(path))
        assert source.config.vocab_size == SMALL.vocab_size
        assert (source.vocab_file, source.do_lower_case) == (str(tmp_path / "vocab.txt"), False)
        assert source.description == f"{tmp_path / 'model.safetensors'} (Hugging Face, BertModel)"


@pytest.mark.parametrize(
    "theirs, ours",
    [("gelu", "gelu_erf"), ("gelu_new", "gelu"), ("gelu_pytorch_tanh", "gelu"), ("relu", "relu")],
)
def test_activation_epsilon_labels_and_defaults(tmp_path, theirs, ours):
    folder = write_huggingface(
        tmp_path,
        random_weights("classification"),
        hidden_act=theirs,
        layer_norm_eps=1e-6,
        id2label={"0": "no", "1": "yes", "2": "maybe"},
    )
    values = json.loads((folder / "config.json").read_text())
    del values["type_vocab_size"]
    (folder / "config.json").write_text(json.dumps(values))
    config = read_checkpoint(str(folder)).config
    assert (config.hidden_act, config.layer_norm_epsilon, config.type_vocab_size) == (ours, 1e-6, 2)
    assert config.extra["id2label"] == {"0": "no", "1": "yes", "2": "maybe"}
    assert "architectures" not in config.extra


@pytest.mark.parametrize(("rate", "key"), [(None, None), (0.1, None), (0.0, 0.0), (0.4, 0.4)])
def test_the_dropout_of_a_head_is_that_of_the_file(tmp_path, rate, key):
    def config_of(model):
        """Saves the model; returns its directory and its configuration."""
        folder = tmp_path / type(model).__name__
        model.save_checkpoint(str(folder), "huggingface")
        return folder, json.loads((folder / "config.json").read_text())

    for model_class in (BertForClassification, BertForTokenClassification):
        folder, config = config_of(model_class(SMALL, 3, head_dropout=rate))
        assert config.get("classifier_dropout") == key
        model = model_class.from_checkpoint(str(folder))
        expected = 0.1 if key is None else key
        assert model.head_dropout == getattr(model, model._head.key).dropout.rate == expected
    # Where the key is missing transformers takes the rate of the layers.
    unlike = dataclasses.replace(SMALL, hidden_dropout_prob=0.0)
    written = config_of(BertForMultipleChoice(unlike, head_dropout=rate))[1]
    assert written.get("classifier_dropout", 0.0) == expected
    # A head of question answering has none, and leaves those of other tasks as they are.
    assert "classifier_dropout" not in config_of(BertForQuestionAnswering(SMALL))[1]
    (folder / "config.json").write_text(json.dumps(config | {"classifier_dropout": 1.5}))
    with pytest.raises(UserError, match="classifier_dropout is 1.5"):
        BertForTokenClassification.from_checkpoint(str(folder))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_is_widened(tmp_path, dtype):
    weights = random_weights()
    halves = {key: value.astype(dtype) for key, value in huggingface_tensors(weights).items()}
    found = read_all(write_huggingface(tmp_path, weights, tensors=halves))
    assert all(value.dtype == np.float32 for value in found.values())
    assert_same(
        found, {name: value.astype(dtype).astype(np.float32) for name, value in weights.items()}
    )


def test_the_decoder_may_be_saved_again(tmp_path):
    weights = random_weights("masked_lm")
    tensors = huggingface_tensors(weights)
    again = {
        "cls.predictions.decoder.weight": tensors[WORDS].copy(),
        "cls.predictions.decoder.bias": tensors["cls.predictions.bias"].copy(),
        "bert.embeddings.position_ids": np.arange(16)[None],
    }
    assert_same(
        read_all(write_huggingface(tmp_path / "a", weights, tensors=tensors | again)), weights
    )
    only = {key: value for key, value in (tensors | again).items() if key != "cls.predictions.bias"}
    assert_same(read_all(write_huggingface(tmp_path / "b", weights, tensors=only)), weights)
    again["cls.predictions.decoder.weight"][3, 3] += 1
    write_huggingface(tmp_path / "c", weights, tensors=tensors | again)
    assert_refused(
        tmp_path / "c",
        "cls.predictions.decoder.weight differs from bert.embeddings.word_embeddings.weight",
    )


def test_what_is_no_weight_of_ours_is_unused(tmp_path):
    weights = random_weights("classification")
    tensors = huggingface_tensors(weights) | {"crf.transitions": np.ones((3, 3), np.float32)}
    write_huggingface(tmp_path, weights, tensors=tensors)
    _, report = load_into(tmp_path, "classification")
    assert (report.newly_initialized, report.unused) == ([], ["crf.transitions"])


def shards(folder, weights, weight_map=None):
    write_huggingface(folder, weights)
    (folder / "model.safetensors").unlink()
    tensors = huggingface_tensors(weights)
    names = [f"model-{number:05d}-of-00002.safetensors" for number in (1, 2)]
    places = {key: names[number % 2] for number, key in enumerate(tensors)}
    for name in names:
        save_file({key: tensors[key] for key in tensors if places[key] == name}, folder / name)
    index = {
        "metadata": {"total_size": 1},
        "weight_map": places if weight_map is None else weight_map(places),
    }
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def test_shards(tmp_path):
    weights = random_weights(*PRETRAINING)
    shards(tmp_path, weights)
    assert_same(read_all(tmp_path), weights)
    assert_same(read_all(tmp_path / "model.safetensors.index.json"), weights)
    part = tmp_path / "model-00001-of-00002.safetensors"
    assert_refused(part, f"{part} is a part of a model: name the *.safetensors.index.json")
    (tmp_path / "model.safetensors.index.json").unlink()
    assert_refused(tmp_path, f"{part} is a part of a model")
    (tmp_path / "tensorflow").mkdir()
    for number in (1, 2):
        (tmp_path / f"tensorflow/tf_model-0000{number}-of-00002.h5").touch()
    assert_refused(
        tmp_path / "tensorflow", "tf_model-00001-of-00002.h5 is a part", "max_shard_size"
    )


def test_an_index_may_neither_leave_its_directory_nor_lie_about_a_tensor(tmp_path):
    name = "model-00001-of-00002.safetensors"
    lie = shards(tmp_path / "lie", random_weights(), lambda places: {**places, "more": name})
    assert_refused(lie, f"says that 'more' is in {name}, but it is not")
    folder = shards(
        tmp_path / "model",
        random_weights(),
        lambda places: {**places, WORDS: "../other.safetensors"},
    )
    shutil.copy(folder / "model-00001-of-00002.safetensors", tmp_path / "other.safetensors")
    assert_refused(folder, "model/other.safetensors can't be read as safetensors")
    (folder / "model.safetensors.index.json").write_text("{}")
    assert_refused(folder, "model.safetensors.index.json: there is no 'weight_map'")


NORM = "bert.embeddings.LayerNorm"


@pytest.mark.parametrize(
    "change, messages",
    [
        *(
            (
                lambda tensors, dtype=dtype: tensors | {WORDS: tensors[WORDS].astype(dtype)},
                (f"{WORDS} is of type", "weights are F32, F16, BF16"),
            )
            for dtype in (np.int64, np.float64)
        ),
        (
            lambda tensors: (
                tensors
                | {"bert.encoder.layer.1.output.dense.weight": np.ones((11, 20), np.float32)}
            ),
            (
                "the configuration contradicts the tensors",
                "bert/encoder/layer_1/output/dense/kernel is [20, 11] and would be [20, 12]",
            ),
        ),
        (
            lambda tensors: tensors | {"bert.pooler.dense.weight": np.ones(144, np.float32)},
            ("bert.pooler.dense.weight is [144], a matrix is expected",),
        ),
        (
            lambda tensors: tensors | {f"{NORM}.gamma": tensors[f"{NORM}.weight"].copy()},
            (f"{NORM}.gamma and {NORM}.weight are two names",),
        ),
        (
            lambda tensors: {
                f"{tower}.{key}": value.copy()
                for tower in ("query", "document")
                for key, value in tensors.items()
            },
            (
                "holds 2 encoders ('document.bert.', 'query.bert.'): save the one that is meant by itself",
            ),
        ),
        (lambda tensors: {"wte.weight": np.ones((3, 3), np.float32)}, ("holds no BERT",)),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_tensors_that_are_not_those_of_a_bert(tmp_path, change, messages):
    weights = random_weights()
    write_huggingface(tmp_path, weights, tensors=change(huggingface_tensors(weights)))
    assert_refused(tmp_path, *messages)


@pytest.mark.parametrize(
    "key, value, message",
    [
        ("hidden_size", 24, "bert/embeddings/word_embeddings is [50, 12] and would be [50, 24]"),
        ("num_hidden_layers", 3, "bert/encoder/layer_2/"),
        ("num_hidden_layers", 1000, "num_hidden_layers is 1000, but there are only 41 tensors"),
        ("id2label", ["no"], "'id2label' is [\"no\"], an object is expected"),
        (
            "id2label",
            {"0": "no", "1": "yes", "3": "gap"},
            "id2label must name the classes 0...2 of the head, each once",
        ),
        ("model_type", "roberta", "model_type is 'roberta': only BERT can be read"),
        ("position_embedding_type", "relative_key", "position_embedding_type is 'relative_key'"),
        ("is_decoder", True, "is_decoder is true and bert/pooler/dense/kernel is there"),
        ("add_cross_attention", True, "add_cross_attention is True"),
        ("hidden_act", "swish", "hidden_act 'swish' is unknown"),
    ],
)
def test_a_configuration_that_contradicts_the_tensors(tmp_path, key, value, message):
    write_huggingface(tmp_path, random_weights("classification"), **{key: value})
    assert_refused(tmp_path, message)


def test_an_index_of_a_single_file_beside_it(tmp_path):
    """MLX writes one."""
    weights = random_weights()
    write_huggingface(tmp_path, weights)
    weight_map = dict.fromkeys(huggingface_tensors(weights), "model.safetensors")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    assert read_checkpoint(str(tmp_path)).path == str(tmp_path / "model.safetensors")
    # An index of parts from before stands for another model.
    (tmp_path / "model.safetensors").rename(tmp_path / "model-00001-of-00001.safetensors")
    write_huggingface(tmp_path, weights)
    assert_refused(tmp_path, "is a part of a model")


def test_two_candidates(tmp_path, golden):
    write_huggingface(tmp_path, random_weights())
    shutil.copy(tmp_path / "model.safetensors", tmp_path / "other.safetensors")
    assert_refused(
        tmp_path,
        "several checkpoints (model.safetensors, other.safetensors)",
        "name the one that is meant",
    )
    (tmp_path / "other.safetensors").unlink()
    for suffix in ("index", "data-00000-of-00001"):
        shutil.copy(golden / f"tf1_checkpoint/bert_model.ckpt.{suffix}", tmp_path)
    assert_refused(tmp_path, "several checkpoints (model.safetensors, bert_model.ckpt)")
    read_checkpoint(str(tmp_path / "model.safetensors"))


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt"])
def test_a_pickle_is_never_opened(tmp_path, name):
    write_huggingface(tmp_path, random_weights())
    (tmp_path / name).write_bytes(b"\x80\x04N.")
    read_checkpoint(str(tmp_path))
    assert_refused(tmp_path / name, f"{name} is a pickle", "save_pretrained")
    (tmp_path / "model.safetensors").unlink()
    assert_refused(tmp_path, f"{name} is a pickle", "save_pretrained")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_damage_ends_in_one_line(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("damaged")
    write_huggingface(folder, random_weights(*PRETRAINING))
    name = data.draw(st.sampled_from(["config.json", "model.safetensors"]))
    content = bytearray((folder / name).read_bytes())
    # Lies stand in the header: the numbers behind it are what they are.
    places = data.draw(
        st.lists(st.integers(0, min(len(content), 5000) - 1), min_size=1, max_size=3)
    )
    for place in places:
        content[place] = data.draw(st.one_of(st.integers(0, 255), st.sampled_from(b'0129[]{}",:-')))
    (folder / name).write_bytes(bytes(content))
    try:
        source = read_checkpoint(str(folder))
        for tensor, shape in source.tensors.items():
            assert source.read(tensor).shape == tuple(shape)
    except UserError as error:
        assert "\n" not in str(error)


# Class there → our heads, and what they compute by the names there.
CLASSES = {
    "TFBertModel": ((), ("last_hidden_state", "pooler_output")),
    "TFBertForSequenceClassification": (("classification",), ("logits",)),
    "TFBertForTokenClassification": (("token_classification",), ("logits",)),
    "TFBertForQuestionAnswering": (("question_answering",), ("start_logits", "end_logits")),
    "TFBertForMultipleChoice": (("multiple_choice",), ("logits",)),
    "TFBertForNextSentencePrediction": (("next_sentence",), ("logits",)),
    "TFBertForMaskedLM": (("masked_lm",), ("logits",)),
    "TFBertForPreTraining": (
        ("masked_lm", "next_sentence"),
        ("prediction_logits", "seq_relationship_logits"),
    ),
}


@pytest.mark.golden
@pytest.mark.parametrize("name", CLASSES)
def test_outputs_of_tensorflow_classes(golden, name):
    heads, names = CLASSES[name]
    model, report = load_into(golden / "h5/transformers" / name, *heads)
    assert report.unused == [] and all(
        weight.startswith("bert/pooler/") for weight in report.newly_initialized
    )
    expected = arrays(golden / "h5/transformers" / name / "outputs.npz")
    inputs = [
        np.reshape(expected[key], (3, 10))
        for key in ("input_ids", "attention_mask", "token_type_ids")
    ]
    encoded = model.encoder(*inputs)
    found = (
        head_outputs(model, encoded)
        if heads
        else [encoded["sequence_output"], encoded["pooled_output"]]
    )
    for key, ours in zip(names, found, strict=True):
        np.testing.assert_allclose(ours, expected[key], atol=2e-5, rtol=0, err_msg=key)


@pytest.mark.golden
def test_weights_that_somebody_s_model_around_it_saved(golden):
    model, report = load_into(golden / "h5/transformers/functional/weights.h5")
    assert len(report.unused) == 2
    expected = arrays(golden / "h5/transformers/functional/outputs.npz")
    encoded = model.encoder(expected["input_ids"])
    np.testing.assert_allclose(
        encoded["sequence_output"], expected["last_hidden_state"], atol=2e-5, rtol=0
    )


def test_safetensors_are_taken_where_both_are_there(golden, tmp_path):
    source = golden / "h5/transformers/TFBertModel"
    convert(str(source), "huggingface", str(tmp_path / "both"))
    shutil.copyfile(source / "tf_model.h5", tmp_path / "both/tf_model.h5")
    assert "model.safetensors" in read_checkpoint(str(tmp_path / "both")).description


@pytest.fixture
def h5_directory(golden, tmp_path):
    return shutil.copytree(golden / "h5/transformers/TFBertForPreTraining", tmp_path / "model")


def test_damaged_files(h5_directory):
    path = h5_directory / "tf_model.h5"
    content = path.read_bytes()
    path.write_bytes(content[:5000])
    assert_refused(h5_directory, "tf_model.h5 can't be read as HDF5, it is damaged or incomplete")
    path.write_bytes(b"")
    assert_refused(path, "can't be read as HDF5")


def test_copies_that_differ(h5_directory):
    with h5py.File(h5_directory / "tf_model.h5", "r+") as file:
        file["mlm___cls/tf_bert_for_pre_training/bert/embeddings/LayerNorm/beta:0"][0] += 1
    assert_refused(h5_directory, "are two names of one weight", "and differ")


def test_numbers_in_other_files_are_not_read(h5_directory, tmp_path):
    name = "bert/tf_bert_for_pre_training/bert/pooler/dense/bias:0"
    (tmp_path / "secret").write_bytes(bytes(32))
    with h5py.File(h5_directory / "tf_model.h5", "r+") as file:
        del file[name]
        file.create_dataset(name, (8,), np.float32, external=[(str(tmp_path / "secret"), 0, 32)])
    assert_refused(h5_directory, "pooler/dense/bias:0 are in another file, which is not read")
    with h5py.File(h5_directory / "tf_model.h5", "r+") as file:
        del file[name]
        file[name] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/bias")
    assert_refused(h5_directory, "does not hold the whole encoder", "bert/pooler/dense/bias")
