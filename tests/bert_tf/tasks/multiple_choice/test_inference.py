import json

import numpy as np
import pytest
import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.inference.export import export
from bert_tf.inference.options import ExportOptions
from bert_tf.inference.predictor import Predictor
from tests.bert_tf.inference.stock_server import assert_served
from tests.tiny import CONFIG, write_tiny

TASK = {
    "kind": "multiple_choice",
    "task_name": "custom",
    "max_seq_length": 10,
    "truncate": "longer",
}
QUESTIONS = [
    {
        "context": "the array is returned .",
        "choices": ["a list is the array .", "who ?", "b sorted the mask array list"],
    },
    {"question": "who is a ?", "choices": ["the array", "b"]},
    {
        "context": "the list",
        "question": "who is a ?",
        "choices": ["the array", "b", ".", "is", "a"],
    },
]


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """ "longer", "context_start" and "huggingface" → directory, of the same weights."""
    root = tmp_path_factory.mktemp("choices")
    found = {}
    other = {**TASK, "truncate": "context_start"}
    for name, task, form in (
        ("longer", TASK, "native"),
        ("context_start", other, "native"),
        ("huggingface", None, "huggingface"),
    ):
        (root / name).mkdir()
        found[name] = write_tiny(root / name, "multiple_choice", task=task, output_format=form)
    return found


@pytest.fixture(scope="module")
def predictor(checkpoints):
    return Predictor.from_checkpoint(checkpoints["longer"])


def test_questions_of_any_number_of_choices(predictor):
    assert predictor.task == "multiple_choice"
    answers = predictor([{"id": 7, **QUESTIONS[0]}, *QUESTIONS[1:]])
    assert [len(answer["probabilities"]) for answer in answers] == [3, 2, 5] and answers[0][
        "id"
    ] == 7
    for answer, question in zip(answers, QUESTIONS, strict=True):
        assert answer["choice"] == question["choices"][answer["prediction"]]
        assert answer["prediction"] == int(np.argmax(answer["probabilities"]))
        assert sum(answer["probabilities"]) == pytest.approx(1, abs=1e-6)
    # Two choices of the first question and one of the last.
    assert predictor.inference.truncated == 2
    # A pair stands for a context and its choices, and a question behind a context is part of every
    # choice.
    pair = ("the list", [f"who is a ? {choice}" for choice in QUESTIONS[2]["choices"]])
    assert predictor([pair])[0]["probabilities"] == pytest.approx(
        answers[2]["probabilities"], abs=1e-6
    )


@pytest.fixture(scope="module")
def ending(checkpoints):
    """A predictor that keeps the end of a context."""
    return Predictor.from_checkpoint(checkpoints["context_start"])


def test_lines(predictor):
    lines = [
        json.dumps(QUESTIONS[0]).encode(),
        b"the array\ta list",
        b'{"context": "a", "choices": ["b"]}',
    ]
    answers = predictor.answer_lines(lines)
    assert answers[0] == predictor([QUESTIONS[0]])[0]
    assert (
        "a str is no question with choices; expected is" in answers[1]["error"]
        and answers[1]["line"] == 2
    )
    assert "choices has 1 texts, 2 to 26 are expected" in answers[2]["error"]


@pytest.mark.parametrize(
    "value, message",
    [
        ({"context": "a"}, "the keys are 'context'; expected is"),
        ({"context": "a", "choices": "ab"}, "a list of texts"),
        ({"context": 3, "choices": ["a", "b"]}, "a list of texts"),
        ({"context": " ", "choices": ["a", "b"]}, "neither"),
        ({"context": "a", "choices": ["a", " "]}, "or a choice is empty"),
        ({"context": "a", "choices": ["a", "\udc80"]}, "half a surrogate pair"),
        ({"context": "a", "choices": ["a"] * 27}, "choices has 27 texts"),
    ],
)
def test_what_is_no_question(predictor, value, message):
    with pytest.raises(UserError, match=message):
        predictor([value])


def test_an_export_answers_as_the_model_does(checkpoints, ending, tmp_path):
    report = export(
        ExportOptions(
            init_checkpoint=checkpoints["context_start"], export_dir=str(tmp_path / "out")
        )
    )
    assert report.task == "multiple_choice" and report.max_difference < 1e-5
    assert_served(tmp_path / "out")
    inputs, outputs = report.signatures["serving_default"]
    assert inputs == {"context": "string [?]", "choices": "string [?, ?]"}
    assert set(outputs) == {"probabilities", "prediction"}
    assert report.signatures["token_ids"][0]["input_ids"] == "int32 [?, ?, ?]"
    loaded = tf.saved_model.load(str(tmp_path / "out"))
    context = "a list of the array is returned . who sorted the list ?"
    # The second question has two choices.
    found = loaded.signatures["serving_default"](
        context=tf.constant([context, "who ?"]),
        choices=tf.constant([["a", "b sorted", "the"], ["the mask", "b", " "]]),
    )
    expected = ending([(context, ["a", "b sorted", "the"]), ("who ?", ["the mask", "b"])])
    np.testing.assert_allclose(found["probabilities"][0], expected[0]["probabilities"], atol=1e-5)
    np.testing.assert_allclose(
        found["probabilities"][1], [*expected[1]["probabilities"], 0], atol=1e-5
    )
    assert found["prediction"].numpy().tolist() == [answer["prediction"] for answer in expected]


def test_the_end_of_the_context_is_kept_where_asked(predictor, ending):
    """Two contexts that differ in their beginning only are the same."""
    choices = ["a", "b"]
    contexts = ["who " + "the array list " * 4, "mask " + "the array list " * 4]
    differ = []
    for one in (predictor, ending):
        first, second = one([(context, choices) for context in contexts])
        differ.append(first["probabilities"] != second["probabilities"])
    assert differ == [True, False]


def test_transformers_computes_the_same_on_hugging_faces_format(checkpoints):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    with open(f"{checkpoints['huggingface']}/config.json") as file:
        assert json.load(file)["architectures"] == ["BertForMultipleChoice"]
    predictor = Predictor.from_checkpoint(
        checkpoints["huggingface"], max_seq_length=CONFIG.max_position_embeddings
    )
    model = transformers.BertForMultipleChoice.from_pretrained(checkpoints["huggingface"]).eval()
    for question, answer in zip(QUESTIONS, predictor(QUESTIONS), strict=True):
        features = predictor.inference.reference_features([predictor.inference.check(question)])
        with torch.no_grad():
            logits = model(
                *(
                    torch.tensor(features[name])
                    for name in ("input_ids", "input_mask", "segment_ids")
                )
            ).logits
        np.testing.assert_allclose(answer["probabilities"], torch.softmax(logits[0], -1), atol=1e-5)
