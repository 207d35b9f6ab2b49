"""An export with TF-Hub's names: what the Model Garden's own export of the same weights gives, and
the tutorials."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from bert_common import json_files
from bert_tf.inference.export import AGREEMENT_FILE, SAMPLE_FILE, export
from bert_tf.inference.options import ExportOptions
from data_gen.tokenization.tokenizer import Tokenizer
from modeling.encoder import BertEncoder
from tests import tiny
from tests.bert_tf.inference.stock_server import assert_served
from tests.bert_tf.inference.test_export import checkpoint
from tests.refusals import assert_refused

TEXTS = [
    "The array is returned.",
    "who is a list?",
    "",
    "who sorted the arrays? a list is the array. " * 2,
    "is the  list\ta b?",
    "sorted [mask]",
]
CONFIG = dataclasses.replace(tiny.CONFIG, num_hidden_layers=1)
CLIENT = pathlib.Path(__file__).with_name("tfhub_client.py")


def export_to(directory, path, **kwargs):
    return export(
        ExportOptions(init_checkpoint=str(path), export_dir=str(directory), api="tfhub", **kwargs)
    )


def write(directory, *heads, **kwargs):
    return tiny.write_tiny(directory, *heads, **{"config": CONFIG, **kwargs})


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    root = tmp_path_factory.mktemp("tfhub")
    write(root / "in", "masked_lm")
    return root / "out", export_to(root / "out", root / "in", max_seq_length=12)


@pytest.fixture(scope="module")
def client(exported, tmp_path_factory):
    done = subprocess.run(
        [sys.executable, str(CLIENT), str(exported[0]), str(tmp_path_factory.mktemp("work"))],
        input=json.dumps(TEXTS),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_the_report(exported):
    directory, done = exported
    assert done.max_difference < 1e-5
    assert done.agreement.differences == []
    assert (directory / AGREEMENT_FILE).exists()
    assert sorted(os.listdir(directory)) == ["assets.extra", "encoder", "preprocess"]
    for part in ("preprocess", "encoder"):
        assert_served(directory / part)
    assert done.signatures["preprocess"] == (
        {"sentences": "string [?]"},
        {name: "int32 [?, 12]" for name in ("input_word_ids", "input_mask", "input_type_ids")},
    )
    assert done.signatures["encoder"][1] == {
        "default": "float32 [?, 12]",
        "pooled_output": "float32 [?, 12]",
        "sequence_output": "float32 [?, ?, 12]",
    }


@pytest.mark.golden
def test_the_answers_are_those_of_the_model_gardens_export(client, golden):
    """Names, types, shapes in a graph, tokens, packing, outputs, assets: of the same weights,
    1e-4."""
    expected = json_files.read(str(golden / "tfhub/answers.json"))
    assert len(client["interface"]) > 10
    for name, value in client["interface"].items():
        assert_same(value, expected[name], name)


def assert_same(found, expected, where):
    if isinstance(expected, dict):
        for name, value in found.items():
            assert_same(value, expected[name], f"{where} {name}")
    elif where.startswith("encoder "):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=where)
    else:
        assert found == expected, where


def test_a_classifier_of_strings_is_fine_tuned_and_saved(client):
    """Keras 2 with the Model Garden's AdamW, which knows by their names which variables not to
    decay."""
    found = client["classify"]
    assert found["losses"][1] < found["losses"][0] and all(found["changed"])
    assert found["decays"] and not [
        name for name in found["decays"] if "bias" in name or "LayerNorm" in name
    ]
    assert found["difference"] < 1e-5
    assert found["dropped"][0] == 0 and found["dropped"][1] > 1e-3
    assert found["shapes"] == ["(None, 12, 12)", "(None, 12)"]


def test_the_programs_of_the_documentation(client):
    assert client["programs"] == 2


@pytest.mark.golden
def test_tokens_are_the_exact_tokenizers(golden, tmp_path):
    """On the sample of what goes wrong, with a released vocabulary."""
    tokenizer = Tokenizer.from_file(str(golden / "bert/uncased_vocab.txt"))
    config = dataclasses.replace(
        CONFIG, vocab_size=len(tokenizer.vocabulary), max_position_embeddings=512
    )
    BertEncoder(config).save_checkpoint(
        str(tmp_path / "in"), vocab_file=tokenizer.vocabulary.path, do_lower_case=True
    )
    export_to(tmp_path / "out", tmp_path / "in")
    loaded = tf.saved_model.load(str(tmp_path / "out/preprocess"))
    assert loaded(["a"])["input_word_ids"].shape == (1, 128)
    with open(SAMPLE_FILE, encoding="utf-8") as file:
        texts = list(map(json.loads, file))
    for text, words in zip(texts, loaded.tokenize(tf.constant(texts)).to_list(), strict=True):
        assert sum(words, []) == tokenizer.encode(text).tolist()
        continues = [tokenizer.vocabulary.is_continuation[word].tolist() for word in words]
        assert all(not word[0] and all(word[1:]) for word in continues)


def test_a_cased_model(tmp_path):
    write(tmp_path / "in", do_lower_case=False)
    export_to(tmp_path / "out", tmp_path / "in")
    encoder = tf.saved_model.load(str(tmp_path / "out/encoder"))
    assert not encoder.do_lower_case.numpy()
    preprocess = tf.saved_model.load(str(tmp_path / "out/preprocess"))
    # As many positions as the model has.
    assert preprocess(["The list"])["input_word_ids"].numpy()[0, :5].tolist() == [
        tiny.TOKENS.index(token) for token in ("[CLS]", "[UNK]", "list", "[SEP]", "[PAD]")
    ]
    assert preprocess(["a"])["input_mask"].shape == (1, CONFIG.max_position_embeddings)


def test_what_has_no_such_names_is_refused(tmp_path):
    classifier = write(tmp_path / "a", "classification")
    flat = checkpoint(tmp_path / "b", "masked_lm", pooler=False)
    before = sorted(os.listdir(tmp_path))
    assert_refused(
        lambda: export_to(tmp_path / "out", classifier, task="classification"),
        "--api=tfhub is for the encoder",
        "not for --task=classification",
    )
    assert_refused(lambda: export_to(tmp_path / "out", flat), "has no pooler", "--api=signatures")
    assert sorted(os.listdir(tmp_path)) == before
