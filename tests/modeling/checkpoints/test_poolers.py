"""Weights without a pooler: taken by whoever does not read it, completed where one is trained, and
refused where a head would read random numbers."""

import warnings

import pytest

from bert_tf.inference.options import InferenceSettings, task_class
from bert_tf.tasks.token_classification.feature_based import run
from bert_tf.tasks.token_classification.options import TokenClassificationOptions
from modeling import (
    BertEncoder,
    BertForClassification,
    BertForMultipleChoice,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForTokenClassification,
)
from modeling.checkpoints.convert import convert, write_checkpoint
from modeling.checkpoints.load import open_checkpoint, read_checkpoint
from modeling.sentence_embedding import BertForSentenceEmbedding
from tests.modeling.checkpoints.common import random_weights
from tests.refusals import assert_refused
from tests.tiny import CONFIG, write_tiny

# Heads of the weights without a pooler: an encoder alone, and the classes that have none.
WITHOUT = [(), ("token_classification",), ("question_answering",), ("masked_lm",)]
# Class → its arguments, and whether it reads the pooler.
READERS = {
    BertEncoder: ({}, True),
    BertForClassification: ({"classes": 7}, True),
    BertForMultipleChoice: ({}, True),
    BertForPreTraining: ({}, True),
    BertForQuestionAnswering: ({}, False),
    BertForTokenClassification: ({"classes": 7}, False),
    BertForSentenceEmbedding: ({}, False),
}


def write(directory, *heads, output_format="huggingface") -> str:
    words = write_tiny(directory.parent / f"{directory.name}_of_words")
    write_checkpoint(
        output_format,
        str(directory),
        random_weights(*heads, config=CONFIG, pooler=False),
        CONFIG,
        f"{words}/vocab.txt",
        True,
    )
    return str(directory)


@pytest.mark.parametrize("heads", WITHOUT, ids=str)
@pytest.mark.parametrize("model", READERS)
def test_every_model_starts_from_them_and_names_a_pooler_that_it_reads(tmp_path, model, heads):
    path = write(tmp_path / "in", *heads)
    arguments, reads_pooler = READERS[model]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.from_checkpoint(path, **arguments)
    told = " ".join(str(warning.message) for warning in caught)
    assert ("bert/pooler/dense/kernel" in told) == reads_pooler


@pytest.mark.parametrize("heads", WITHOUT, ids=str)
def test_features_and_conversions_do_without(tmp_path, heads):
    path = write(tmp_path / "in", *heads)
    task = task_class("features")(open_checkpoint(path), InferenceSettings())
    assert len(task.predict([task.check("who is the list?")])[0]["vector"]) == CONFIG.hidden_size
    for output_format in ("native", "original", "model_garden", "sentence_transformers"):
        output = str(tmp_path / output_format)
        convert(path, output_format, output)
        assert not any("pooler" in name for name in read_checkpoint(output).tensors)


def test_a_pooled_head_does_not_predict_with_a_pooler_of_random_weights(tmp_path):
    path = write(tmp_path / "in", "classification", output_format="original")
    assert_refused(
        lambda: task_class("classification")(open_checkpoint(path), InferenceSettings()),
        "no pooler",
    )
    assert_refused(lambda: BertForClassification.from_checkpoint(path), "whole encoder", "pooler")


def test_a_published_tagger_is_trained_for_other_labels(tmp_path, capsys):
    path = write(tmp_path / "in", "token_classification")
    (tmp_path / "train.conll").write_text("the O\nlist B-LOC\n\n" * 8)
    options = TokenClassificationOptions(
        train_file=str(tmp_path / "train.conll"),
        init_checkpoint=path,
        output_dir=str(tmp_path / "out"),
        do_train=True,
        num_train_epochs=1,
        train_batch_size=8,
        max_seq_length=16,
    )
    assert run(options) == 0
    printed = capsys.readouterr()
    assert "newly initialized, not in the checkpoint: bert/pooler" in printed.out + printed.err
    assert read_checkpoint(options.output_dir).classes("token_classification") == 3
