import os

import pytest

from bert_common import json_files
from modeling.checkpoints.load import read_checkpoint
from tests.bert_tf.extras.common import export_to
from tests.bert_tf.extras.test_onnx_format import TASKS
from tests.tiny import write_tiny

FILES = [
    "README.md",
    "config.json",
    "model.safetensors",
    "onnx",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
]
VECTOR_FILES = [
    "1_Pooling",
    "config_sentence_transformers.json",
    "modules.json",
    "sentence_bert_config.json",
]
CLASS_OF_TASK = {
    "features": "BertModel",
    "classification": "BertForSequenceClassification",
    "multiple_choice": "BertForMultipleChoice",
    "question_answering": "BertForQuestionAnswering",
    "token_classification": "BertForTokenClassification",
    "fill_mask": "BertForMaskedLM",
}
MAX_LENGTH = 9


@pytest.mark.parametrize("task", TASKS)
def test_every_head_has_one_directory(tmp_path, task):
    heads, description, _ = TASKS[task]
    path = write_tiny(tmp_path / "in", *heads, task=description)
    done = export_to(tmp_path / "out", path, "hub", max_seq_length=MAX_LENGTH)
    assert done.task == task and done.max_difference < 1e-5
    vectors = VECTOR_FILES if task == "features" else []
    assert sorted(os.listdir(tmp_path / "out")) == sorted([*FILES, *vectors])
    assert os.listdir(tmp_path / "out/onnx") == ["model.onnx"]
    config = json_files.read(str(tmp_path / "out/config.json"))
    assert config["architectures"] == [CLASS_OF_TASK[task]]
    # As in published files: CTranslate2 asks for it.
    assert config["position_embedding_type"] == "absolute"
    # The most tokens of a text, wherever a client may look for it.
    assert (
        json_files.read(str(tmp_path / "out/tokenizer_config.json"))["model_max_length"]
        == MAX_LENGTH
    )
    assert (
        json_files.read(str(tmp_path / "out/tokenizer.json"))["truncation"]["max_length"]
        == MAX_LENGTH
    )
    if vectors:
        assert (
            json_files.read(str(tmp_path / "out/sentence_bert_config.json"))["max_seq_length"]
            == MAX_LENGTH
        )
    # What of a token is in an answer can't be told without knowing the special ones.
    is_listed = task in ("fill_mask", "token_classification", "question_answering")
    assert bool(json_files.read(str(tmp_path / "out/tokenizer.json"))["added_tokens"]) == is_listed
    assert bool(json_files.read(str(tmp_path / "out/special_tokens_map.json"))) == is_listed
    split = json_files.read(str(tmp_path / "out/tokenizer_config.json")).get(
        "split_special_tokens", False
    )
    assert split == (task != "fill_mask")
    again = read_checkpoint(str(tmp_path / "out"))
    assert again.heads == list(heads) and again.vocab_file == str(tmp_path / "out/vocab.txt")


@pytest.mark.parametrize(
    "quantize, file", [("int8", "model_quantized.onnx"), ("float16", "model_fp16.onnx")]
)
def test_a_quantized_model_lies_beside_the_exact_one(tmp_path, quantize, file):
    done = export_to(tmp_path / "out", write_tiny(tmp_path / "in"), "hub", quantize=quantize)
    assert 0 < done.max_difference < 0.5
    assert sorted(os.listdir(tmp_path / "out/onnx")) == sorted(["model.onnx", file])
