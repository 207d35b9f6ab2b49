"""Directories of sentence-transformers: written for that library, read from it, of its versions
before 6 and of 6."""

import json
import os
import shutil
import warnings

import numpy as np
import pytest

from bert_tf.inference.export import export
from bert_tf.inference.options import ExportOptions, InferenceSettings, task_class
from modeling.checkpoints.convert import convert
from modeling.checkpoints.load import open_checkpoint, read_checkpoint
from tests.refusals import assert_refused
from tests.tiny import write_tiny

TEXTS = ["who is the list?", "the array is returned. " * 9, "lists"]


@pytest.fixture(scope="module")
def library():
    return pytest.importorskip("sentence_transformers")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A directory that was written here, of an encoder beside heads."""
    root = tmp_path_factory.mktemp("sentences")
    (root / "in").mkdir()
    path = write_tiny(root / "in", "masked_lm")
    done = convert(path, "sentence_transformers", str(root / "out"))
    assert "no place for these in the output: cls/predictions" in done
    return root / "out"


def changed(written, path, **contents):
    """A copy with other files: name with __ for / and without .json → the value in it."""
    shutil.copytree(written, path)
    for name, value in contents.items():
        file = path / f"{name.replace('__', '/')}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(value))
    return path


def modules(*names, package="sentence_transformers.models"):
    return [
        {
            "idx": number,
            "name": str(number),
            "path": f"{number}_{name}" if number else "",
            "type": f"{package}.{name}",
        }
        for number, name in enumerate(names)
    ]


def vectors(path, **settings):
    task = task_class("features")(open_checkpoint(str(path)), InferenceSettings(**settings))
    return np.array([one["vector"] for one in task.predict([task.check(text) for text in TEXTS])])


def test_the_library_reads_what_is_written(library, written):
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        model = library.SentenceTransformer(str(written), device="cpu")
    np.testing.assert_allclose(model.encode(TEXTS), vectors(written), atol=1e-5)
    assert model.max_seq_length == 24


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_what_the_library_writes_is_read(library, written, tmp_path, pooling):
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    model = library.SentenceTransformer(
        modules=[Transformer(str(written), max_seq_length=7), Pooling(12, pooling), Normalize()],
        device="cpu",
    )
    model.save(str(tmp_path / "saved"))
    found = vectors(tmp_path / "saved")
    np.testing.assert_allclose(found, model.encode(TEXTS), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    # Kept on the way to another directory of the kind, and in an export.
    convert(str(tmp_path / "saved"), "sentence_transformers", str(tmp_path / "again"))
    np.testing.assert_allclose(
        library.SentenceTransformer(str(tmp_path / "again"), device="cpu").encode(TEXTS),
        found,
        atol=1e-5,
    )
    done = export(
        ExportOptions(
            init_checkpoint=str(tmp_path / "saved"),
            export_dir=str(tmp_path / "onnx"),
            format="onnx",
        )
    )
    assert done.max_difference < 1e-5


def test_the_encoder_may_be_below(written, tmp_path):
    path = changed(
        written,
        tmp_path / "old",
        modules=[
            {**one, "path": "0_Transformer"} if not one["path"] else one
            for one in modules("Transformer", "Pooling")
        ],
    )
    (path / "0_Transformer").mkdir()
    for name in (
        "config.json",
        "model.safetensors",
        "vocab.txt",
        "tokenizer_config.json",
        "sentence_bert_config.json",
    ):
        os.rename(path / name, path / "0_Transformer" / name)
    np.testing.assert_array_equal(vectors(path), vectors(written))
    assert open_checkpoint(str(path)).vectors == open_checkpoint(str(written)).vectors


def test_length_and_pooling_are_those_of_the_directory_unless_others_are_given(written, tmp_path):
    path = changed(
        written,
        tmp_path / "short",
        sentence_bert_config={"max_seq_length": 6},
        **{"1_Pooling__config": {"word_embedding_dimension": 12, "pooling_mode_cls_token": True}},
    )
    np.testing.assert_array_equal(vectors(path), vectors(written, max_seq_length=6, pooling="cls"))
    np.testing.assert_array_equal(
        vectors(path, max_seq_length=24, pooling="mean"), vectors(written)
    )


def test_a_pooling_without_the_prompt_needs_none(written, tmp_path):
    contents = {
        "1_Pooling__config": {"pooling_mode": "max", "include_prompt": False},
        "config_sentence_transformers": {"prompts": {"query": "", "document": ""}},
    }
    path = changed(written, tmp_path / "other", **contents)
    np.testing.assert_array_equal(vectors(path), vectors(written, pooling="max"))


def test_every_key_is_known_or_mentioned(written, tmp_path):
    assert read_checkpoint(str(written)).notes == ()
    path = changed(
        written,
        tmp_path / "other",
        modules=modules("Transformer", "Pooling", "Dense"),
        config_sentence_transformers={"temperature": 2.0, "model_type": "SentenceTransformer"},
        sentence_bert_config={"max_seq_length": 6, "flavour": "sweet"},
        **{
            "1_Pooling__config": {"embedding_dimension": 12, "pooling_mode_of_2030": False},
            "2_Dense__config": {"activation_function": "torch.nn.Tanh", "rank": 3},
        },
    )
    notes = read_checkpoint(str(path)).notes
    for file, key in (
        ("config_sentence_transformers.json", "temperature"),
        ("sentence_bert_config.json", "flavour"),
        ("1_Pooling/config.json", "pooling_mode_of_2030"),
        ("2_Dense/config.json", "rank"),
    ):
        assert f"{path / file}: unknown keys are ignored: {key}" in notes
    assert len(notes) == 4


def test_the_classifier_of_setfit_is_mentioned(written, tmp_path):
    path = changed(written, tmp_path / "setfit", config_setfit={"labels": ["x", "y"]})
    (path / "model_head.pkl").write_bytes(b"")
    (note,) = read_checkpoint(str(path)).notes
    assert "model_head.pkl is not read" in note


@pytest.mark.parametrize("name", ["Dense", "Normalize"])
def test_a_module_of_other_vectors_is_refused(written, tmp_path, name):
    contents = {"activation_function": "Tanh", "module_input_name": "token_embeddings"}
    path = changed(
        written,
        tmp_path / "other",
        modules=modules("Transformer", "Pooling", name),
        **{f"2_{name}__config": contents},
    )
    assert_refused(lambda: read_checkpoint(str(path)), f"2_{name}/config.json", "module_input_name")
    (path / "modules.json").unlink()
    assert read_checkpoint(str(path)).tensors


@pytest.mark.parametrize(
    "file, values, key",
    [
        ("2_Dense__config", {"activation_function": "Tanh", "use_residual": True}, "use_residual"),
        (
            "sentence_bert_config",
            {"modality_config": {"text": {"method_output_name": ["hidden_states", -2]}}},
            "modality_config",
        ),
        ("sentence_bert_config", {"config_args": {"num_hidden_layers": 1}}, "num_hidden_layers"),
        ("sentence_bert_config", {"tokenizer_args": {"model_max_length": 6}}, "model_max_length"),
        (
            "sentence_bert_config",
            {"processing_kwargs": {"text": {"add_special_tokens": False}}},
            "add_special_tokens",
        ),
    ],
)
def test_what_makes_another_model_of_the_files_is_refused(written, tmp_path, file, values, key):
    contents = {
        "modules": modules("Transformer", "Pooling", "Dense"),
        "2_Dense__config": {"activation_function": "Tanh"},
        "sentence_bert_config": {"model_args": {}},
    }
    assert read_checkpoint(str(changed(written, tmp_path / "plain", **contents))).notes == ()
    path = changed(written, tmp_path / "other", **{**contents, file: values})
    assert_refused(lambda: read_checkpoint(str(path)), f"{file.replace('__', '/')}.json", key)


def test_an_incomplete_dense_module_is_refused(written, tmp_path):
    contents = {"modules": modules("Transformer", "Pooling", "Dense"), "2_Dense__config": {}}
    path = str(changed(written, tmp_path / "other", **contents))
    assert_refused(lambda: vectors(path), "2_Dense/config.json", "incomplete")


@pytest.mark.parametrize(
    "contents, what",
    [
        ({"1_Pooling__config": {"pooling_mode": "lasttoken"}}, "'lasttoken'"),
        (
            {
                "1_Pooling__config": {
                    "pooling_mode_max_tokens": True,
                    "pooling_mode_mean_tokens": True,
                }
            },
            "'mean and max'",
        ),
        ({"modules": modules("Transformer", "Pooling", "LSTM")}, "'mean, LSTM'"),
        # It finds no vector there to scale.
        (
            {
                "modules": modules("Transformer", "Normalize", "Pooling"),
                "2_Pooling__config": {"pooling_mode": "mean"},
            },
            "'mean, Normalize'",
        ),
        (
            {
                "1_Pooling__config": {"pooling_mode": "mean", "include_prompt": False},
                "config_sentence_transformers": {"prompts": {"query": "the ", "document": ""}},
            },
            "'mean without the prompt'",
        ),
    ],
)
def test_what_is_not_known_is_refused_where_vectors_are_asked_for(
    written, tmp_path, contents, what
):
    path = str(changed(written, tmp_path / "other", **contents))
    assert read_checkpoint(path).tensors
    assert_refused(
        lambda: vectors(path),
        f"makes vectors by {what}, which is not known here: only mean, cls, max",
    )
    assert_refused(
        lambda: convert(path, "sentence_transformers", str(tmp_path / "x")),
        f"makes vectors by {what}",
    )
    assert vectors(path, pooling="mean").shape == (3, 12)
