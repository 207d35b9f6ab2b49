import keras
import pytest

from bert_common.errors import UserError
from bert_tf.inference.predictor import Predictor
from modeling import (
    BertEncoder,
    BertForClassification,
    BertForQuestionAnswering,
    BertForTokenClassification,
)
from tests.modeling.checkpoints.common import FORMATS_OF_ALL_HEADS
from tests.modeling.common import SMALL
from tests.modeling.test_library import IDS, MODELS, assert_same, randomized


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("format", FORMATS_OF_ALL_HEADS)
def test_a_model_comes_back_from_every_format(name, format, tmp_path, recwarn):
    make, features = MODELS[name]
    model = randomized(make())
    model.save_checkpoint(str(tmp_path / "out"), format)
    # The head says how many classes there are.
    again = type(model).from_checkpoint(str(tmp_path / "out"), seed=5)
    assert again.seed == 5 and again.config.hidden_size == SMALL.hidden_size
    assert not [warning for warning in recwarn if "newly initialized" in str(warning.message)]
    assert_same(again(features), model(features))


def test_a_head_that_is_missing_or_of_another_size_is_newly_initialized_and_said(tmp_path):
    directory = str(tmp_path / "out")
    model = randomized(BertForClassification(SMALL, 3))
    model.save_checkpoint(directory)
    with pytest.warns(
        UserWarning,
        match="newly initialized, not .*: cls/squad/output_weights, cls/squad/output_bias$",
    ) as warned:
        other = BertForQuestionAnswering.from_checkpoint(directory)
    # The line of the program that asked.
    assert warned[0].filename == __file__
    assert_same(other.encode(IDS), model.encode(IDS))
    assert_same(other.span.output_weights, BertForQuestionAnswering(SMALL).span.output_weights)
    with pytest.warns(
        UserWarning, match="newly initialized, not in .*: output_weights, output_bias$"
    ) as warned:
        assert BertForClassification.from_checkpoint(directory, classes=2).classes == 2
    assert warned[0].filename == __file__
    with pytest.raises(UserError, match="give classes"):
        BertForTokenClassification.from_checkpoint(directory)


def test_what_can_not_be_read_or_written_is_refused_in_one_line(tmp_path):
    model = BertEncoder(SMALL)
    with pytest.raises(UserError, match="format='onnx'.* huggingface, model_garden, na"):
        model.save_checkpoint(str(tmp_path / "out"), "onnx")
    model.save_checkpoint(str(tmp_path / "out"))
    with pytest.raises(UserError, match="out exists"):
        model.save_checkpoint(str(tmp_path / "out"))
    (tmp_path / "out/bert_config.json").rename(tmp_path / "config.json")
    with pytest.raises(UserError, match="give bert_config_file"):
        BertEncoder.from_checkpoint(str(tmp_path / "out"))
    again = BertEncoder.from_checkpoint(
        str(tmp_path / "out"),
        bert_config_file=str(tmp_path / "config.json"),
        dtype="mixed_bfloat16",
    )
    assert again.dtype_policy.name == "mixed_bfloat16"
    assert_same(again.weights, model.weights)


@pytest.mark.parametrize("format", FORMATS_OF_ALL_HEADS)
def test_labels_length_and_vocabulary_go_along(tmp_path, format):
    path, again = str(tmp_path / "first"), str(tmp_path / "second")
    words = tmp_path / "words.txt"
    words.write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{n}" for n in range(45)), ""])
    )
    model = BertForClassification(SMALL, 3)
    with pytest.raises(UserError, match="labels .* 2 .* 3 classes"):
        model.save_checkpoint(path, labels=["a", "b"])
    with pytest.raises(UserError, match="max_seq_length 17"):
        model.save_checkpoint(path, max_seq_length=17)
    model.save_checkpoint(
        path,
        format,
        vocab_file=str(words),
        do_lower_case=False,
        labels=["a", "b", "c"],
        max_seq_length=5,
    )
    BertForClassification.from_checkpoint(path).save_checkpoint(again)
    for directory in (path, again):
        inference = Predictor.from_checkpoint(directory).inference
        assert (inference.labels, inference.max_seq_length) == (["a", "b", "c"], 5)
        copied = BertForClassification.from_checkpoint(directory)
        assert copied.do_lower_case is False and open(copied.vocab_file).read() == words.read_text()
    # Another head is for something else.
    with pytest.warns(UserWarning, match="newly initialized"):
        BertForClassification.from_checkpoint(path, classes=2).save_checkpoint(
            str(tmp_path / "other")
        )
    assert not (tmp_path / "other/task.json").exists()


def test_two_models_of_one_file_share_their_encoder(tmp_path):
    encoder = BertEncoder(SMALL)
    ids = keras.Input((None,), dtype="int32")
    outputs = [
        BertForClassification(SMALL, 3, encoder=encoder)(ids),
        BertForTokenClassification(SMALL, 2, encoder=encoder)(ids),
    ]
    model = randomized(keras.Model(ids, outputs))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    first, second = loaded.layers[1:]
    assert first.encoder is second.encoder
    assert_same(loaded(IDS["input_ids"]), model(IDS["input_ids"]))
