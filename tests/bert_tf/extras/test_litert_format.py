import dataclasses
import os

import pytest

from bert_common import json_files
from tests.bert_tf.extras.common import export_to
from tests.bert_tf.extras.test_onnx_format import CLASSES, TASKS
from tests.tiny import CONFIG, write_tiny

SIZES = {"B": 1, "S": 8, "K": 1}


def tiny(path, *heads, task=None, **sizes):
    """Converting takes a second for each layer."""
    return write_tiny(
        path, *heads, config=dataclasses.replace(CONFIG, num_hidden_layers=1, **sizes), task=task
    )


@pytest.mark.parametrize("task", TASKS)
def test_every_task(tmp_path, task):
    heads, description, outputs = TASKS[task]
    path = tiny(tmp_path / "in", *heads, task=description)
    done = export_to(tmp_path / "out", path, "litert", max_seq_length=8)
    assert done.task == task and done.max_difference < 1e-5
    shape = "[1, 1, 8]" if task == "multiple_choice" else "[1, 8]"
    assert done.signatures["serving_default"] == (
        {name: f"int32 {shape}" for name in ("attention_mask", "input_ids", "token_type_ids")},
        {
            name: f"float32 [{', '.join(str(SIZES.get(axis, axis)) for axis in axes)}]"
            for name, axes in outputs.items()
        },
    )
    assert sorted(os.listdir(tmp_path / "out")) == [
        "config.json",
        "model.tflite",
        "special_tokens_map.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.txt",
    ]
    assert json_files.read(str(tmp_path / "out/tokenizer.json"))["padding"]["strategy"] == {
        "Fixed": 8
    }


def test_quantized(tmp_path):
    # Small matrices stay as they are.
    path = tiny(
        tmp_path / "in", "classification", task=CLASSES, hidden_size=32, intermediate_size=256
    )
    sizes = {}
    for quantize in ("none", "float16", "int8"):
        done = export_to(tmp_path / quantize, path, "litert", quantize=quantize)
        assert done.max_difference < (1e-5 if quantize == "none" else 0.5)
        sizes[quantize] = os.path.getsize(tmp_path / quantize / "model.tflite")
    assert sizes["int8"] < sizes["float16"] < sizes["none"]
