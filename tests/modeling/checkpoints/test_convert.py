"""Every format on a file system that only TensorFlow knows, written and read back."""

import dataclasses

import numpy as np
import pytest

from bert_common import files, json_files
from modeling.checkpoints.companion_files import BEST_RECORD
from modeling.checkpoints.convert import convert, write_checkpoint
from modeling.checkpoints.huggingface import ARCHITECTURES
from modeling.checkpoints.load import open_checkpoint, read_checkpoint
from modeling.checkpoints.weights import HEADS
from tests import refusals
from tests.modeling.checkpoints.common import (
    FORMATS_OF_ALL_HEADS,
    assert_same,
    random_weights,
    read_all,
)
from tests.modeling.common import SMALL

TOKENS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *(f"w{index}" for index in range(SMALL.vocab_size - 5)),
]
PRETRAINING = ("masked_lm", "next_sentence")


@pytest.fixture
def vocab_file(tmp_path) -> str:
    (tmp_path / "words.txt").write_text("".join(f"{token}\n" for token in TOKENS))
    return str(tmp_path / "words.txt")


def bits(weights):
    return {name: value.view(np.uint32) for name, value in weights.items()}


@pytest.mark.parametrize("output_format", FORMATS_OF_ALL_HEADS)
def test_a_remote_directory(output_format, vocab_file):
    directory = f"ram://written/{output_format}"
    weights = random_weights(*PRETRAINING)
    weights["bert/embeddings/word_embeddings"][0, :3] = [-0.0, 1e-45, np.finfo(np.float32).max]
    write_checkpoint(output_format, directory, weights, SMALL, vocab_file, False)
    assert_same(bits(read_all(directory)), bits(weights))
    opened = open_checkpoint(directory)
    assert dataclasses.replace(opened.config, extra={}) == SMALL
    assert (opened.tokenizer.do_lower_case, opened.heads, opened.task) == (
        False,
        list(PRETRAINING),
        None,
    )
    assert list(opened.tokenizer.vocabulary.tokens) == TOKENS
    assert opened.vocab_file == f"{directory}/vocab.txt"
    for name in files.list_directory(directory):
        if name.endswith((".index", ".safetensors")):
            # A file in it means the same.
            assert_same(bits(read_all(f"{directory}/{name}")), bits(weights))


def test_a_remote_run_directory_means_its_best_weights():
    write_checkpoint("native", "ram://run", random_weights(seed=1), SMALL)
    write_checkpoint("native", "ram://run/best", random_weights(seed=2), SMALL)
    json_files.write(f"ram://run/best/{BEST_RECORD}", {"step": 7})
    assert_same(read_all("ram://run"), random_weights(seed=2))
    assert_same(read_all("ram://run/ckpt-0"), random_weights(seed=1))


def test_every_head_has_a_class_of_hugging_face_of_its_own():
    assert all(
        ARCHITECTURES[head.huggingface_classes[0]] == (name,) for name, head in HEADS.items()
    )
    assert ARCHITECTURES["BertForPreTraining"] == PRETRAINING and ARCHITECTURES["BertModel"] == ()


@pytest.mark.parametrize(
    "output_format, heads, pooler, message",
    [
        (
            "original",
            PRETRAINING,
            True,
            "the format 'original' has no place for a left-to-right model",
        ),
        (
            "model_garden",
            PRETRAINING,
            True,
            "the format 'model_garden' has no place for a left-to-right model",
        ),
        (
            "huggingface",
            ("classification",),
            True,
            "a left-to-right model with a classification head can't be written",
        ),
        ("huggingface", (), True, "a left-to-right encoder without a head can't be written"),
    ],
    ids=str,
)
def test_formats_that_would_change_a_left_to_right_model_refuse_it(
    output_format, heads, pooler, message, tmp_path
):
    config = dataclasses.replace(SMALL, causal=True)
    weights = random_weights(*heads, config=config, pooler=pooler)
    write_checkpoint("native", str(tmp_path / "native"), weights, config)
    refusals.assert_refused(
        lambda: convert(str(tmp_path / "native"), output_format, str(tmp_path / "out")), message
    )
    assert not (tmp_path / "out").exists()
    convert(str(tmp_path / "native"), "native", str(tmp_path / "again"))
    assert read_checkpoint(str(tmp_path / "again")).config == config
