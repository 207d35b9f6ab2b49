import pytest

from bert_tf.tasks.class_names import order_notes, order_of_head

SENTIMENT = {"0": "negative", "1": "positive"}


@pytest.mark.parametrize(
    ("labels", "head", "meanings", "expected"),
    [
        (["a", "b"], ["b", "a"], None, ["b", "a"]),
        (["a", "b"], ["B", "A"], None, ["b", "a"]),
        (["no", "yes"], [], None, ["no", "yes"]),
        (["no", "yes"], ["LABEL_0", "LABEL_1"], None, ["no", "yes"]),
        (["no", "yes"], ["LABEL_0", "LABEL_1", "LABEL_2"], None, None),
        (["0", "1"], ["POSITIVE", "NEGATIVE"], SENTIMENT, ["1", "0"]),
        (["0", "1"], ["POSITIVE", "NEGATIVE"], None, None),
        (["0", "1"], ["1", "0"], SENTIMENT, ["1", "0"]),
        (["a", "b"], ["joy", "anger"], None, None),
        # A file may lack some of a head's classes.
        (["O", "B-PER"], ["b-per", "O", "B-LOC"], None, ["B-PER", "O", "B-LOC"]),
        # Names that differ in nothing but their case.
        (["us", "US"], ["US", "us"], None, ["US", "us"]),
    ],
)
def test_order_of_head(labels, head, meanings, expected):
    assert order_of_head(labels, head, meanings) == expected


def test_the_order_is_said_unless_the_names_are_the_same():
    assert order_notes(["a", "b"], ["a", "b"]) == []
    assert order_notes(["a", "b"], ["joy", "anger"]) == []
    assert "A = a, B = b" in order_notes(["a", "b"], ["A", "B"])[0]
    assert "LABEL_0 = a" in order_notes(["a", "b"], ["LABEL_0", "LABEL_1"])[0]
