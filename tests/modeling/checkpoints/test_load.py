import dataclasses
import functools
import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_common.errors import UserError
from modeling import BertConfig, BertForClassification, BertForPreTraining
from modeling.checkpoints.load import (
    load_weights,
    load_with_head,
    open_checkpoint,
    read_checkpoint,
    step_of,
)
from modeling.checkpoints.tensorflow_files import checkpoint_of, latest_checkpoint, weight_variables
from modeling.checkpoints.weights import original_names
from tests import refusals
from tests.modeling.checkpoints.common import assert_refused
from tests.modeling.common import SMALL
from tests.tiny import CONFIG, TOKENS, write_tiny


def save(folder, name="ckpt-1", config=SMALL):
    return checkpoint_of(weight_variables(BertForPreTraining(config))).write(str(folder / name))


def test_the_step_is_that_of_the_checkpoint_which_is_read(tmp_path):
    (tmp_path / "bert_config.json").write_text(json.dumps(SMALL.to_dict()))
    earlier = save(tmp_path, "ckpt-4")
    save(tmp_path, "ckpt-8")
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "ckpt-8"\n')
    assert step_of(read_checkpoint(earlier)) == 4
    assert step_of(read_checkpoint(str(tmp_path))) == 8
    assert step_of(None) == 0


@pytest.mark.parametrize(
    "path",
    [
        "tf1_checkpoint",
        "tf1_checkpoint/bert_model.ckpt",
        "tf1_checkpoint/bert_model.ckpt.index",
        "tf1_checkpoint/bert_model.ckpt.data-00000-of-00001",
    ],
)
def test_an_original_checkpoint_is_found_by_any_of_its_names(golden, path):
    source = read_checkpoint(str(golden / path))
    folder = golden / "tf1_checkpoint"
    assert source.description == f"{folder / 'bert_model.ckpt'} (original TensorFlow 1 checkpoint)"
    assert source.config == BertConfig.from_file(str(folder / "bert_config.json"))
    assert source.vocab_file == str(folder / "vocab.txt")
    assert source.do_lower_case is None
    model = BertForPreTraining(source.config)
    report = load_weights(model, source)
    assert report.loaded == list(original_names(model))
    assert len(report.loaded) == 62
    assert (report.newly_initialized, report.unused) == ([], [])


def test_a_classifiers_head_is_unused_and_the_missing_heads_are_newly_initialized(golden):
    source = read_checkpoint(str(golden / "tf1_heads"))
    assert source.config is None
    model = BertForPreTraining(
        BertConfig.from_file(str(golden / "tf1_checkpoint/bert_config.json"))
    )
    report = load_weights(model, source)
    assert report.unused == ["output_bias", "output_weights"]
    assert all(name.startswith("bert/") for name in report.loaded)
    assert all(name.startswith("cls/") for name in report.newly_initialized)
    assert (len(report.loaded), len(report.newly_initialized)) == (55, 7)
    lines = report.describe().split("\n")
    assert lines[0].startswith("loaded 55 tensors from ") and "classifier_model.ckpt" in lines[0]
    assert lines[1].endswith(": masked-LM head (5 tensors), next-sentence head (2 tensors)")
    assert lines[2].endswith(": classification head (2 tensors)")


def test_the_directory_of_a_released_model_tells_its_casing(golden, tmp_path):
    folder = shutil.copytree(golden / "tf1_checkpoint", tmp_path / "cased_L-24_H-1024_A-16")
    assert read_checkpoint(str(folder)).do_lower_case is False


def test_a_checkpoint_of_another_size_is_refused_and_nothing_changes(tmp_path):
    source = read_checkpoint(save(tmp_path))
    model = BertForPreTraining(dataclasses.replace(SMALL, vocab_size=60, intermediate_size=24))
    before = {name: variable.numpy() for name, variable in original_names(model).items()}
    refusals.assert_refused(
        lambda: load_weights(model, source),
        "bert/embeddings/word_embeddings is [50, 12] there and [60, 12] here",
        "bert/encoder/layer_0/intermediate/dense/kernel is [12, 20] there and [12, 24] here",
        "and 2 more",
        "bert_config.json",
    )
    for name, variable in original_names(model).items():
        np.testing.assert_array_equal(variable.numpy(), before[name], err_msg=name)


def test_an_encoder_is_loaded_whole_or_not_at_all(tmp_path):
    source = read_checkpoint(save(tmp_path))
    model = BertForPreTraining(dataclasses.replace(SMALL, num_hidden_layers=3))
    refusals.assert_refused(
        lambda: load_weights(model, source),
        "and 10 more",
        "whole encoder",
        "bert/encoder/layer_2/attention/self/query/kernel [12, 12]",
    )
    # Layers that the model does not have are unused.
    report = load_weights(
        BertForPreTraining(dataclasses.replace(SMALL, num_hidden_layers=1)), source
    )
    assert len(report.unused) == 16
    assert all(name.startswith("bert/encoder/layer_1/") for name in report.unused)


def test_nothing_there_or_of_an_unknown_kind(tmp_path):
    assert_refused(tmp_path / "bert_model.ckpt", "there is no checkpoint", "bert_model.ckpt.index")
    assert_refused(tmp_path, f"{tmp_path} holds no checkpoint")
    (tmp_path / "vocab.txt").write_text("[PAD]\n")
    assert_refused(tmp_path / "vocab.txt", "vocab.txt holds no checkpoint")
    prefix = tf.train.Checkpoint(layer=tf.Module(), weight=tf.Variable(1.0)).write(
        str(tmp_path / "other")
    )
    assert_refused(prefix, "a checkpoint of an unknown kind", "weight/.ATTRIBUTES/VARIABLE_VALUE")


@pytest.mark.parametrize("name", ["model", "encoder"])
def test_a_checkpoint_object_of_somebody_s_own_is_named(tmp_path, name):
    model = BertForPreTraining(SMALL)
    saved = model if name == "model" else model.encoder
    prefix = tf.train.Checkpoint(**{name: saved}).write(str(tmp_path / "own"))
    assert_refused(prefix, "is a tf.train.Checkpoint of a model of this library", "save_checkpoint")


def test_the_one_that_is_meant_is_missing(tmp_path):
    save(tmp_path, "first.ckpt")
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "second.ckpt"\n')
    assert_refused(tmp_path, "names second.ckpt", "second.ckpt.index is missing")


def test_the_state_tells_where_names_have_no_step(tmp_path):
    for name in ("first.ckpt", "zweiter\N{COMBINING DIAERESIS}.ckpt"):
        prefix = save(tmp_path, name)
    tf.compat.v1.train.update_checkpoint_state(str(tmp_path), prefix)
    assert read_checkpoint(str(tmp_path)).description == latest_checkpoint(str(tmp_path)) == prefix


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_damaged_data_change_nothing(tmp_path, damage):
    prefix = save(tmp_path)
    data = tmp_path / "ckpt-1.data-00000-of-00001"
    content = data.read_bytes()
    middle = len(content) // 2
    data.write_bytes(
        content[:middle]
        if damage == "cut"
        else content[:middle] + bytes(100) + content[middle + 100 :]
    )
    model = BertForPreTraining(SMALL)
    before = {name: variable.numpy() for name, variable in original_names(model).items()}
    with pytest.raises(UserError, match="can't be read, the data are damaged"):
        load_weights(model, read_checkpoint(prefix))
    for name, variable in original_names(model).items():
        np.testing.assert_array_equal(variable.numpy(), before[name], err_msg=name)


TASK = {"task_name": "toy", "labels": ["no", "yes", "maybe"]}


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """A directory with tiny checkpoints: "classification", "bare" (encoder only), "original"
    without companion files."""
    folder = tmp_path_factory.mktemp("checkpoints")
    for name in ("classification", "bare", "original"):
        (folder / name).mkdir()
    write_tiny(folder / "classification", "classification", task=TASK)
    write_tiny(folder / "bare")
    write_tiny(folder / "original", output_format="original", vocabulary=False)
    for name in ("bert_config.json", "tokenizer_config.json"):
        (folder / "original" / name).unlink()
    return folder


def write_vocabulary(path, tokens=TOKENS) -> str:
    path.write_text("\n".join(tokens) + "\n")
    return str(path)


def test_all_that_belongs_to_a_checkpoint_is_found(checkpoints):
    opened = open_checkpoint(str(checkpoints / "classification"))
    assert opened.config == CONFIG
    assert opened.task == TASK
    assert opened.vocab_file == str(checkpoints / "classification/vocab.txt")
    assert opened.tokenizer.do_lower_case and list(opened.tokenizer.vocabulary.tokens) == TOKENS
    assert opened.source is not None
    assert open_checkpoint(str(checkpoints / "bare")).task is None
    assert open_checkpoint(str(checkpoints / "bare"), do_lower_case=True).tokenizer.do_lower_case


@pytest.mark.parametrize(
    "kind, today", [("squad", "question_answering"), ("regression", "regression")]
)
def test_tasks_of_earlier_versions_have_the_names_of_today(checkpoints, tmp_path, kind, today):
    earlier = shutil.copytree(checkpoints / "bare", tmp_path / "earlier")
    (earlier / "task.json").write_text(json.dumps({"kind": kind, "max_seq_length": 12}))
    assert open_checkpoint(str(earlier)).task == {"kind": today, "max_seq_length": 12}


def test_the_casing_of_a_cased_checkpoint_is_taken_over(checkpoints, tmp_path):
    cased = shutil.copytree(checkpoints / "bare", tmp_path / "cased")
    path = cased / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "do_lower_case": False}))
    assert not open_checkpoint(str(cased)).tokenizer.do_lower_case
    with pytest.raises(
        UserError, match="--do_lower_case=true contradicts the checkpoint .* of cased text"
    ):
        open_checkpoint(str(cased), do_lower_case=True)
    with pytest.raises(
        UserError, match="--do_lower_case=false contradicts the checkpoint .* of lower-cased text"
    ):
        open_checkpoint(str(checkpoints / "bare"), do_lower_case=False)


def test_files_that_are_named_complete_a_bare_checkpoint(checkpoints, tmp_path):
    checkpoint = str(next((checkpoints / "original").glob("*.index"))).removesuffix(".index")
    with pytest.raises(
        UserError, match="no bert_config.json beside the checkpoint: give --bert_config_file"
    ):
        open_checkpoint(checkpoint)
    CONFIG.to_file(str(tmp_path / "config.json"))
    config_file = str(tmp_path / "config.json")
    with pytest.raises(UserError, match="no vocab.txt beside the checkpoint: give --vocab_file"):
        open_checkpoint(checkpoint, bert_config_file=config_file)
    words = write_vocabulary(tmp_path / "words.txt")
    opened = open_checkpoint(checkpoint, bert_config_file=config_file, vocab_file=words)
    assert opened.config == CONFIG
    # The casing is unknown: the original's default.
    assert opened.tokenizer.do_lower_case
    assert not open_checkpoint(
        checkpoint, bert_config_file=config_file, vocab_file=words, do_lower_case=False
    ).tokenizer.do_lower_case


def test_random_weights_need_a_configuration_and_a_vocabulary(tmp_path):
    with pytest.raises(UserError, match="give --init_checkpoint, or --bert_config_file"):
        open_checkpoint(None)
    CONFIG.to_file(str(tmp_path / "bert_config.json"))
    with pytest.raises(UserError, match="there is no vocabulary: give --vocab_file"):
        open_checkpoint(None, bert_config_file=str(tmp_path / "bert_config.json"))
    # The one beside the configuration is taken.
    write_vocabulary(tmp_path / "vocab.txt")
    opened = open_checkpoint(None, bert_config_file=str(tmp_path / "bert_config.json"))
    assert (opened.source, opened.task, opened.config) == (None, None, CONFIG)
    assert opened.vocab_file == str(tmp_path / "vocab.txt")


def test_what_does_not_fit_is_refused(checkpoints, tmp_path):
    bare = str(checkpoints / "bare")
    longer = write_vocabulary(tmp_path / "longer.txt", [*TOKENS, "more"])
    with pytest.raises(
        UserError,
        match=f"longer.txt has {len(TOKENS) + 1} entries, but vocab_size is {len(TOKENS)}",
    ):
        open_checkpoint(bare, vocab_file=longer)
    for argument in ("vocab_file", "bert_config_file"):
        missing = {argument: str(tmp_path / "missing")}
        refusals.assert_refused(
            functools.partial(open_checkpoint, bare, **missing), missing[argument]
        )


def test_a_model_that_is_used_as_it_is_needs_its_head(checkpoints):
    def load(name):
        model = BertForClassification(CONFIG, 3)
        opened = open_checkpoint(str(checkpoints / name))
        return model, load_with_head(model, opened, "classification")

    model, report = load("classification")
    assert not report.newly_initialized
    expected = open_checkpoint(str(checkpoints / "classification")).source
    for name, variable in original_names(model).items():
        np.testing.assert_array_equal(variable.numpy(), expected.read(name), err_msg=name)
    with pytest.raises(
        UserError, match=r"no whole classification head \(output_weights is missing\): take a "
    ):
        load("bare")
