"""Settings of a stranger's sentence encoder that are missing, or that no encoder can have."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from bert_common.errors import UserError
from data_gen.tokenization.settings import read_settings
from modeling.checkpoints.load import dense_layers
from modeling.checkpoints.sentence_vectors import (
    DenseModule,
    SentenceVectors,
    _sentence_vectors,
    supported_vectors,
)

MODULES = [("Transformer", ""), ("Pooling", "1_Pooling")]
MEAN = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}


def write(path, content):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))


def vectors(tmp_path, pooling=MEAN, modules=MODULES, **prompts) -> SentenceVectors:
    if pooling is not None:
        write(tmp_path / "1_Pooling/config.json", pooling)
    write(tmp_path / "config_sentence_transformers.json", prompts)
    return supported_vectors(_sentence_vectors(str(tmp_path), str(tmp_path), modules))


def test_the_defaults_of_the_librarys_class(tmp_path):
    assert vectors(tmp_path).pooling == "mean"
    assert vectors(tmp_path, {"word_embedding_dimension": 8}).pooling == "mean"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pooling": None}, "1_Pooling/config.json is missing"),
        ({"pooling": dict.fromkeys(MEAN, False)}, "1_Pooling/config.json chooses none"),
        ({"pooling": {"pooling_mode_cls_token": "yes"}}, "pooling_mode_cls_token"),
        ({"modules": MODULES[:1]}, "no Pooling module"),
        ({"truncate_dim": 0}, "truncate_dim is 0"),
        ({"truncate_dim": -1}, "truncate_dim is -1"),
        ({"truncate_dim": 1.5}, "truncate_dim"),
        ({"default_prompt_name": "query"}, "'query', which prompts has not"),
    ],
)
def test_what_is_missing_is_refused(tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        vectors(tmp_path, **changes)


def test_a_pooling_that_the_user_gives_is_enough(tmp_path):
    lost = _sentence_vectors(str(tmp_path), str(tmp_path), MODULES)
    assert supported_vectors(lost, "cls").pooling == "cls"


@pytest.mark.parametrize(
    "shapes",
    [
        {"linear.weight": (4, 8), "linear.bias": (5,)},
        {"linear.weight": (4, 8, 1), "linear.bias": (4,)},
        {"linear.weight": (4, 9), "linear.bias": (4,)},
        {"linear.weight": (0, 8)},
        {"weight": (4, 8)},
    ],
)
def test_arrays_of_a_dense_module_that_do_not_fit(tmp_path, shapes):
    arrays = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    save_file(arrays, str(tmp_path / "model.safetensors"))
    encoder = SentenceVectors(dense=(DenseModule(str(tmp_path), "Tanh"),))
    with pytest.raises(UserError, match=r"model.safetensors"):
        dense_layers(encoder, 8)


@pytest.mark.parametrize(
    "files",
    [
        {"tokenizer_config.json": {"added_tokens_decoder": {"5": 7}}},
        {"tokenizer_config.json": {"added_tokens_decoder": {"x": {"content": "a"}}}},
        {"tokenizer_config.json": {"added_tokens_decoder": {"5": {"content": 7}}}},
        {"tokenizer_config.json": {"added_tokens_decoder": {"5": {}}}},
        {"tokenizer_config.json": {"added_tokens_decoder": {"-5": {"content": "a"}}}},
    ],
)
def test_added_tokens_that_are_none(tmp_path, files):
    for name, content in files.items():
        write(tmp_path / name, content)
    with pytest.raises(UserError, match=r"tokenizer_config.json: the added token"):
        read_settings(str(tmp_path))
