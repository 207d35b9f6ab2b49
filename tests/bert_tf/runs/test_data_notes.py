import numpy as np
import pytest

from bert_tf.runs.data_notes import describe
from bert_tf.training.examples import Dataset, Datasets, Examples
from data_gen.labeled.labeled_texts import LabeledTexts
from data_gen.labeled.multiple_choice import ChoiceQuestions
from data_gen.labeled.sentence_pairs import SentencePairs
from data_gen.labeled.squad import Question, SquadData
from data_gen.labeled.tagged_files import TaggedSentences
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import Vocabulary
from tests.tiny import TOKENS

TOKENIZER = Tokenizer(Vocabulary(TOKENS))


def texts_of(*texts, labels=None):
    ids = [str(number) for number in range(len(texts))]
    return LabeledTexts("f", ids, list(texts), None, labels)


def dataset(source, **fields):
    encoded = [TOKENIZER.encode_batch([" ".join(example)]).ids for example in source.inputs()]
    rows = [np.concatenate([[2], ids, [3]]).astype(np.int32) for ids in encoded]
    lengths = np.array([len(row) for row in rows])
    return Dataset(source, Examples({"input_ids": np.concatenate(rows)}, lengths), **fields)


def notes(train, dev=None, **fields):
    dev_sets = {} if dev is None else {"dev": dataset(dev)}
    return describe(Datasets(dataset(train, **fields), dev_sets, {}, {}, []), TOKENIZER)


@pytest.mark.parametrize(
    ("source", "classes", "expected"),
    [
        (texts_of("a", "b"), {"Bad": 1, "good": 9}, "classes: good 9, Bad 1"),
        (
            texts_of("a", "b", labels=np.array([[1, 1], [1, 0]], np.uint8)),
            {"x": 2, "y": 1},
            "several labels for an example, 1.5 on average: x 2, y 1",
        ),
        (
            texts_of("a", "b", labels=np.array([0.5, 4], np.float32)),
            {},
            "scores from 0.5 to 4, mean 2.25",
        ),
    ],
)
def test_what_labels_are_taken_for(source, classes, expected):
    assert notes(source, classes=classes)[0] == f"train: {expected}"


def test_suspicious_classes_are_warned_of():
    lines = notes(texts_of("a"), classes={"Bad": 8, "bad ": 9, "old": 4})
    assert "warning: train: 'Bad' and 'bad ' differ in case or blanks only" in lines
    assert "warning: train: fewer than 5 examples to train on: 'old'" in lines


@pytest.mark.parametrize(
    ("texts", "share", "characters"),
    [
        (["the list is returned ."] * 2, "0.00%", ""),
        # 1 of 51 tokens is below the limit, 1 of 25 above.
        (["the list " * 25 + "木"], "1.96%", ""),
        (["the list " * 12 + "木"], "4.00%", "'木' (U+6728)"),
        # Words of one script in the vocabulary of another.
        (["да нет"], "100.00%", "'д' (U+0434)"),
    ],
)
def test_unknown_words(texts, share, characters):
    (line,) = [line for line in notes(texts_of(*texts)) if "unknown words" in line]
    assert f"train {share}" in line
    assert line.startswith("warning: ") == bool(characters) and characters in line


@pytest.mark.parametrize(("text", "mean"), [("the list", "1.0"), ("lists lists sorted", "2.0")])
def test_subwords_of_a_word(text, mean):
    (line,) = [line for line in notes(texts_of(text)) if "subwords per word" in line]
    assert f"train {mean}" in line and line.startswith("warning: ") == (mean == "2.0")


def squad(*pairs):
    contexts = [context for _, context in pairs]
    questions = [Question(str(n), text, n, (), False) for n, (text, _) in enumerate(pairs)]
    return SquadData("f", contexts, questions, has_answers=True, has_impossible=False)


def choices(*rows):
    ids = [str(number) for number in range(len(rows))]
    contexts, questions, answers = map(list, zip(*rows, strict=True))
    return ChoiceQuestions("f", ids, contexts, questions, answers, None)


def tagged(*sentences):
    words = [word for sentence in sentences for word in sentence.split()]
    lengths = np.array([len(sentence.split()) for sentence in sentences])
    return TaggedSentences("f", words, range(len(words)), lengths, None, (), None, None, None)


@pytest.mark.parametrize(
    ("make", "rows", "other"),
    [
        (texts_of, ["a", "b"], "c"),
        (squad, [("a ?", "b"), ("a ?", "the list")], ("b ?", "b")),
        (choices, [("a", "b", ("c", "d")), ("a", "b", ("c", "e"))], ("b", "b", ("c", "d"))),
        (
            lambda *rows: SentencePairs("f", list(map(list, zip(*rows, strict=True)))),
            ["ab", "ac"],
            "bb",
        ),
        (tagged, ["the list", "the array"], "list the"),
    ],
)
def test_repeated_and_known_examples_of_every_reader(make, rows, other):
    first, second = rows
    lines = notes(make(first, second, first), make(first, other, first))
    assert [line for line in lines if "repeat" in line] == [
        "train: 1 of 3 examples repeat another one word for word"
    ]
    (warning,) = [line for line in lines if "stand in" in line]
    assert warning.startswith("warning: dev: 2 of 3 examples")
    assert not any("repeat" in line or "stand" in line for line in notes(make(first), make(other)))
