import numpy as np
import pytest

from bert_common.errors import UserError
from bert_tf.inference.options import InferenceSettings
from bert_tf.tasks.inference import TaskInference, texts_of, to_json
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary
from modeling.checkpoints.load import Checkpoint, open_checkpoint
from tests.tiny import CONFIG, TOKENS, WORDS, write_tiny

PAIRS = (("text",), ("text_a", "text_b"))


class Lengths(TaskInference):
    """Needs no model: the number of tokens of each input."""

    def model_outputs(self, features):
        return {"lengths": features["input_mask"]}

    def predict(self, inputs):
        return [{"length": int(length)} for length in self.examples(inputs).row_lengths]


def loaded(vocabulary: Vocabulary, task: dict | None = None) -> Checkpoint:
    return Checkpoint(CONFIG, Tokenizer(vocabulary), source=None, task=task)


@pytest.mark.parametrize(
    "value, expected",
    [
        ("a", ("a",)),
        (["a", "b"], ("a", "b")),
        ({"text": "a"}, ("a",)),
        ({"text_b": "b", "text_a": "a"}, ("a", "b")),
    ],
)
def test_texts_of_inputs(value, expected):
    assert texts_of(value, PAIRS) == expected


@pytest.mark.parametrize(
    "value, message",
    [
        (3, "a int is no text; expected is"),
        (("a", "b", "c"), "3 texts given"),
        ((), "0 texts given"),
        ({"text": "a", "x": "b"}, "the keys are 'text', 'x'; expected is {.text.: .….} or"),
        ({"text": b"a"}, "text is a bytes, a text is expected"),
        ("a\udc80", "half a surrogate pair"),
    ],
)
def test_inputs_that_are_none(value, message):
    with pytest.raises(UserError, match=message):
        texts_of(value, PAIRS)


def test_reference_features_are_padded_to_the_longest():
    # [PAD] is not the first entry.
    vocabulary = Vocabulary([*WORDS, *reversed(SPECIAL_TOKENS)])
    task = Lengths(loaded(vocabulary), InferenceSettings())
    inputs = [("the array",), ("a", "the list")]
    features = task.reference_features(inputs)
    rows = [" ".join(vocabulary.tokens[id] for id in row) for row in features["input_ids"]]
    assert rows == ["[CLS] the array [SEP] [PAD] [PAD]", "[CLS] a [SEP] the list [SEP]"]
    assert features["input_mask"].tolist() == [[1, 1, 1, 1, 0, 0], [1] * 6]
    assert features["segment_ids"].tolist() == [[0] * 6, [0, 0, 0, 1, 1, 1]]
    assert {values.dtype for values in features.values()} == {np.dtype(np.int32)}
    assert task.predict(inputs) == [{"length": 4}, {"length": 6}]


@pytest.mark.parametrize("given, kept, expected", [(None, None, 24), (None, 9, 9), (7, 9, 7)])
def test_lengths(given, kept, expected):
    task = Lengths(
        loaded(Vocabulary(TOKENS), {"max_seq_length": kept} if kept else None),
        InferenceSettings(max_seq_length=given),
    )
    assert task.max_seq_length == expected
    task.predict([("a " * 30,), ("a",)])
    assert task.truncated == 1


def test_a_head_that_lacks_the_pooler_it_stands_on(tmp_path):
    (tmp_path / "in").mkdir()
    checkpoint = open_checkpoint(write_tiny(tmp_path / "in", "classification"))
    tensors = {
        name: shape for name, shape in checkpoint.source.tensors.items() if "pooler" not in name
    }
    object.__setattr__(checkpoint.source, "tensors", tensors)
    task = Lengths(checkpoint, InferenceSettings())
    task.head = "classification"
    with pytest.raises(
        UserError,
        match="no pooler .bert/pooler/dense/kernel.",
    ):
        task.load(checkpoint, None)


@pytest.mark.parametrize("value", [float("nan"), np.float32("inf")])
def test_numbers_that_json_has_no_word_for(value):
    assert to_json(np.float32(1 / 3)) == 0.3333333
    with pytest.raises(UserError, match="not all finite numbers"):
        to_json(value)
