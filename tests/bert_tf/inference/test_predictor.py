import dataclasses
import gzip
import io
import itertools
import json
import pathlib
import time

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_common.errors import UserError
from bert_tf.inference import predictor
from bert_tf.inference.fill_mask import load_mask_filler
from bert_tf.inference.options import FillMaskOptions, PredictOptions
from bert_tf.inference.predictor import Predictor, run, serve
from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.fine_tuning import BertForClassification, BertForQuestionAnswering
from tests.tiny import CONFIG, TOKENS, WORDS, write_tiny

CLASSES = {
    "kind": "classification",
    "task_name": "mrpc",
    "labels": ["no", "maybe", "yes"],
    "pair": True,
    "max_seq_length": 9,
}
SQUAD = {
    "kind": "question_answering",
    "max_seq_length": 16,
    "doc_stride": 4,
    "max_query_length": 6,
    "n_best_size": 20,
    "max_answer_length": 5,
    "version_2_with_negative": True,
    "null_score_diff_threshold": 0.0,
}


@pytest.fixture(scope="module")
def write(tmp_path_factory):
    """(heads, **kwargs of `write_tiny`) → path of a checkpoint."""
    return lambda *heads, **kwargs: write_tiny(tmp_path_factory.mktemp("bert"), *heads, **kwargs)


@pytest.fixture(scope="module")
def classifier(write):
    return Predictor.from_checkpoint(write("classification"))


@pytest.fixture(scope="module")
def features(write):
    return Predictor.from_checkpoint(write(), batch_size=3)


def loaded(model, checkpoint):
    load_weights(model, read_checkpoint(checkpoint))
    return model


def single(tokens: str) -> dict:
    """Features of one sequence alone, from its tokens."""
    tokens = tokens.split()
    ends = np.cumsum([token == "[SEP]" for token in tokens])
    segments = [int(before > 0) for before in [0, *ends[:-1]]]
    return {
        "input_ids": tf.constant([[TOKENS.index(token) for token in tokens]]),
        "input_mask": tf.ones([1, len(tokens)], tf.int32),
        "segment_ids": tf.constant([segments]),
    }


def test_classes_are_those_of_the_model_on_single_inputs(write):
    checkpoint = write("classification", task=CLASSES)
    predictor = Predictor.from_checkpoint(checkpoint, batch_size=2)
    model = loaded(BertForClassification(CONFIG, 3), checkpoint)
    results = predictor(
        [("the array", "lists"), ["a", ""], {"text_a": "sort " * 20, "text_b": "who ?", "id": "x"}]
    )
    assert predictor.task == "classification" and predictor.inference.truncated == 1
    assert [list(result) for result in results] == [["label", "probabilities"]] * 2 + [
        ["id", "label", "probabilities"]
    ]
    for result, tokens in zip(
        results,
        [
            "[CLS] the array [SEP] list ##s [SEP]",
            "[CLS] a [SEP]",
            "[CLS] sort sort sort sort [SEP] who ? [SEP]",
        ],
        strict=True,
    ):
        expected = tf.nn.softmax(model(single(tokens))[0]).numpy()
        assert list(result["probabilities"]) == CLASSES["labels"]
        assert list(result["probabilities"].values()) == pytest.approx(expected.tolist(), abs=1e-6)
        assert result["label"] == CLASSES["labels"][expected.argmax()]


def test_scores(write):
    checkpoint = write(
        "regression", task={**CLASSES, "kind": "regression", "labels": [], "pair": False}
    )
    model = loaded(BertForClassification(CONFIG, 1), checkpoint)
    (result,) = Predictor.from_checkpoint(checkpoint)(["the array"])
    assert result == {
        "score": pytest.approx(float(model(single("[CLS] the array [SEP]"))[0, 0]), abs=1e-6)
    }


@pytest.mark.parametrize(
    "extra, labels",
    [
        ({}, ["0", "1", "2"]),
        ({"id2label": {"0": "bad", "1": "good", "2": "odd"}}, ["bad", "good", "odd"]),
    ],
)
def test_names_of_the_classes_of_others_checkpoints(write, extra, labels):
    checkpoint = write(
        "classification",
        output_format="huggingface" if extra else "original",
        config=dataclasses.replace(CONFIG, extra=extra),
    )
    assert list(Predictor.from_checkpoint(checkpoint)(["a"])[0]["probabilities"]) == labels


def test_answers_are_those_of_the_model(write):
    checkpoint = write("question_answering", task={**SQUAD, "version_2_with_negative": False})
    model = loaded(BertForQuestionAnswering(CONFIG), checkpoint)
    words = ["the", "array", "is", "returned", "."]
    (result,) = Predictor.from_checkpoint(checkpoint, top_k=100)(
        [{"question": "who ?", "context": " ".join(words)}]
    )
    starts, ends = (
        logits[0].numpy()[4:9]
        for logits in model(single(f"[CLS] who ? [SEP] {' '.join(words)} [SEP]"))
    )
    scores = {
        " ".join(words[i : j + 1]): starts[i] + ends[j]
        for i, j in itertools.combinations_with_replacement(range(5), 2)
    }
    expected = sorted(scores, key=scores.get, reverse=True)
    assert [answer["text"] for answer in result["nbest"]] == expected and result[
        "answer"
    ] == expected[0]
    probabilities = tf.nn.softmax([scores[text] for text in expected]).numpy()
    assert [answer["probability"] for answer in result["nbest"]] == pytest.approx(
        probabilities.tolist(), abs=1e-5
    )
    assert " ".join(words)[result["start"] : result["end"]] == result["answer"]


def test_long_contexts_and_none_at_all(write):
    predictor = Predictor.from_checkpoint(write("question_answering", task=SQUAD), batch_size=4)
    inputs = [("who ? " * 9, "the array is returned . " * 30), ("a", ""), ("who", "a list " * 20)]
    results = predictor(inputs)
    assert predictor.inference.truncated == 1
    for (_, context), result, alone in zip(
        inputs, results, [predictor([value])[0] for value in inputs], strict=True
    ):
        assert [answer["text"] for answer in result["nbest"]] == [
            answer["text"] for answer in alone["nbest"]
        ]
        assert [answer["probability"] for answer in result["nbest"]] == pytest.approx(
            [answer["probability"] for answer in alone["nbest"]], abs=1e-5
        )
        assert (result["answer"] == "") == (result["start"] is None)
        assert all(
            answer["start"] is None or context[answer["start"] : answer["end"]] == answer["text"]
            for answer in result["nbest"]
        )
        assert isinstance(result["null_odds"], float) and len(result["nbest"]) <= 5
    assert results[1]["answer"] == ""


def test_masks_are_filled_as_one_by_one(write):
    checkpoint = write("masked_lm")
    predictor = Predictor.from_checkpoint(checkpoint, top_k=3, max_seq_length=10)
    filler = load_mask_filler(FillMaskOptions(init_checkpoint=checkpoint, top_k=3))
    texts = ["the [MASK] is [MASK]", "[MASK]\ta", "who sorted the array [MASK] ."]
    for text, result in zip(texts, predictor(texts), strict=True):
        assert result["text"] == text
        assert [[candidate["token"] for candidate in mask] for mask in result["masks"]] == [
            [candidate.token for candidate in mask] for mask in filler.fill(text)
        ]
        assert [
            candidate["probability"] for mask in result["masks"] for candidate in mask
        ] == pytest.approx(
            [candidate.probability for mask in filler.fill(text) for candidate in mask], abs=1e-6
        )
    (result,) = predictor(["[MASK] " * 30])
    assert len(result["masks"]) == 8 and predictor.inference.truncated == 1
    with pytest.raises(
        UserError, match=r"input 1: there is no \[MASK\] in the text within its first 8 tokens"
    ):
        predictor(["[MASK]", "a " * 30 + "[MASK]"])


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_vectors(write, pooling):
    checkpoint = write()
    predictor = Predictor.from_checkpoint(checkpoint, pooling=pooling, layer=0)
    model = loaded(BertForClassification(CONFIG, 1), checkpoint)
    results = predictor(["the array", ("a", "b")])
    for result, tokens in zip(
        results, ["[CLS] the array [SEP]", "[CLS] a [SEP] b [SEP]"], strict=True
    ):
        states = model.encode(single(tokens))["encoder_layer_0"][0].numpy()
        expected = states[0] if pooling == "cls" else states.mean(axis=0)
        assert result["vector"] == pytest.approx(expected.tolist(), abs=1e-5)


_lines = st.lists(
    st.one_of(
        st.lists(st.sampled_from([*WORDS, "\t", "{", "é"]), max_size=30).map(
            lambda words: " ".join(words).encode()
        ),
        st.sampled_from(
            [
                b"\xff",
                b'{"text": 1}',
                b'{"text": "a"}',
                b'{"id": 3, "text": "the list"}',
                b"a\tb\tc",
                b"{}",
            ]
        ),
    ),
    max_size=12,
)


@settings(max_examples=25, deadline=None)
@given(_lines)
def test_every_line_gets_the_answer_that_it_gets_alone(features, lines):
    results = features.answer_lines(lines, first=1)
    for number, (line, result) in enumerate(zip(lines, results, strict=True), 1):
        (alone,) = features.answer_lines([line], first=number)
        assert list(result) == list(alone)
        if "vector" in result:
            np.testing.assert_allclose(result["vector"], alone["vector"], atol=1e-5)
        else:
            assert result == alone and result["line"] == number


@pytest.mark.parametrize(
    "line, message",
    [
        (b"a\xe4", "not UTF-8 at byte 2 (0xe4)"),
        (b'{"text": ', "not JSON: Expecting value at column 10"),
        (b'{"texts": "a"}', "the keys are 'texts'; expected is"),
        (b"{}", "the keys are none"),
        (b'{"text": null}', "text is a NoneType, a text is expected"),
        (b"a\tb\tc", "3 texts with tabs between them"),
        (b"", "the text is empty"),
        (b'{"id": [1], "text": "a"}', "id is a list"),
    ],
)
def test_bad_lines_say_what_is_wrong(classifier, line, message):
    results = classifier.answer_lines([b"fine", line, b"fine"], first=7)
    assert results[1]["line"] == 8 and message in results[1]["error"]
    assert results[0]["label"] == results[2]["label"] and results[0]["label"] in "012"
    # Some processors round the rows of a product differently.
    probabilities = pytest.approx(results[0]["probabilities"], abs=1e-6)
    assert results[2]["probabilities"] == probabilities


@pytest.mark.parametrize(
    "inputs, message",
    [
        ("one text", "a list of inputs is expected"),
        ({"text": "a"}, "a list of inputs is expected"),
        (["a", 3], "input 1: a int is no text"),
        ([("a", "b", "c")], "input 0: 3 texts given"),
        ([("a", 1)], "input 0: text_b is a int"),
    ],
)
def test_bad_inputs_from_python(classifier, inputs, message):
    with pytest.raises(UserError, match=message):
        classifier(inputs)
    assert classifier([]) == []


def test_an_empty_question(write):
    predictor = Predictor.from_checkpoint(
        pathlib.Path(write("question_answering")), max_seq_length=20
    )
    with pytest.raises(UserError, match="input 0: the question is empty"):
        predictor([(" ", "the array")])


@pytest.mark.parametrize(
    "pair, value, message",
    [(True, "a", "was trained on pairs"), (False, ("a", "b"), "was trained on single texts")],
)
def test_pairs_where_pairs_are_expected(write, pair, value, message):
    predictor = Predictor.from_checkpoint(write("classification", task={**CLASSES, "pair": pair}))
    with pytest.raises(UserError, match=message):
        predictor([value])


@pytest.mark.parametrize(
    "heads, task, kwargs, message",
    [
        (
            ("classification", "question_answering"),
            None,
            {},
            "choose one with --task=classification or --task=question_answering",
        ),
        (
            ("classification",),
            "question_answering",
            {},
            "has no head for --task=question_answering: it can be used for classification, features",
        ),
        ((), "fill_mask", {}, "as it is only pre-trained: it can be used for features"),
        (
            ("classification",),
            "clasification",
            {},
            "--task=clasification is unknown: did you mean classification",
        ),
        (
            ("classification",),
            "x",
            {},
            "use one of classification, multiple_choice, question_answering, ",
        ),
        (
            ("classification",),
            None,
            {"max_seq_length": 25},
            "--max_seq_length 25 is longer than the .*'s position table",
        ),
        (("classification",), None, {"max_seq_length": 2}, "must be at least 3"),
        (("question_answering",), None, {"max_seq_length": 4}, "leave no room for context"),
        ((), None, {"layer": 3}, "^--layer: there is no layer 3"),
        ((), None, {"max_seq_length": "8"}, "--max_seq_length is 8, of type str: int is expected"),
        ((), None, {"pooling": "none"}, "--pooling=none is unknown"),
    ],
)
def test_what_does_not_fit_is_refused(write, heads, task, kwargs, message):
    with pytest.raises(UserError, match=message):
        Predictor.from_checkpoint(write(*heads), task, **kwargs)


def test_one_of_two_heads(write):
    both = write("classification", "question_answering")
    for name in ("question_answering", "squad"):
        assert Predictor.from_checkpoint(both, name).task == "question_answering"
    assert (
        Predictor.from_checkpoint(write("classification", "question_answering", task=SQUAD)).task
        == "question_answering"
    )
    assert Predictor.from_checkpoint(write("token_classification"), "features").task == "features"


@pytest.mark.parametrize(
    "task, message",
    [
        ({**CLASSES, "labels": ["no", "yes"]}, "task.json must name 3 different classes"),
        (
            {**CLASSES, "labels": ["no", "yes", "no"]},
            "task.json: labels: two classes are called 'no'",
        ),
        ({**CLASSES, "kind": "regression"}, "is for a score, but its head has 3 outputs"),
        (
            {**CLASSES, "labels": [0, 1, 2]},
            r"task.json: 'labels' is \[0, 1, 2\], a list, each of them a text, is expected",
        ),
        (
            {**CLASSES, "max_seq_length": "9"},
            "task.json: 'max_seq_length' is \"9\", a whole number is expected",
        ),
        (["no", "yes"], "task.json: a JSON object is expected"),
    ],
)
def test_descriptions_that_contradict_the_weights(write, task, message):
    with pytest.raises(UserError, match=message):
        Predictor.from_checkpoint(write("classification", task=task))


def test_several_classes_at_once(write):
    """By Hugging Face's configuration."""
    config = dataclasses.replace(CONFIG, extra={"problem_type": "multi_label_classification"})
    checkpoint = write("classification", output_format="huggingface", config=config)
    (result,) = Predictor.from_checkpoint(checkpoint)(["the array"])
    logits = loaded(BertForClassification(CONFIG, 3), checkpoint)(single("[CLS] the array [SEP]"))[
        0
    ]
    assert list(result["probabilities"].values()) == pytest.approx(
        tf.sigmoid(logits).numpy().tolist(), abs=1e-6
    )
    assert result["labels"] == [str(number) for number in range(3) if logits[number] >= 0]


class Pieces(io.RawIOBase):
    """What a pipe would give, read by read."""

    def __init__(self, *pieces: bytes):
        self._pieces = list(pieces)

    def read1(self, size: int) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""


def test_lines_are_answered_as_they_come(classifier):
    written = []
    source = Pieces(b"\xef\xbb\xbfth", b"e\r\nar", b"ray", b"\nis\n{\n\xff\nlist", b"\na")
    assert serve(classifier, source, written.append) == (7, ["line 5: not UTF-8 at byte 1 (0xff)"])
    assert [piece.count(b"\n") for piece in written] == [1, 4, 1, 1]
    results = [json.loads(line) for line in b"".join(written).splitlines()]
    assert results.pop(4)["line"] == 5
    for result, expected in zip(
        results, classifier(["the", "array", "is", "{", "list", "a"]), strict=True
    ):
        assert result["label"] == expected["label"]
        # Products of batches of other sizes round differently.
        assert result["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-6)


@pytest.mark.parametrize("heads", [("masked_lm", "next_sentence"), ("classification",)])
def test_a_model_that_is_only_pretrained_says_so(write, tmp_path, capsys, heads):
    (tmp_path / "lines").write_text("the [MASK] is\n")
    run(
        PredictOptions(
            init_checkpoint=write(*heads),
            input_file=str(tmp_path / "lines"),
            output_file=str(tmp_path / "out"),
        )
    )
    assert ("is only pre-trained: the scripts" in capsys.readouterr().err) == (len(heads) == 2)


def test_input_may_be_gzipped(write, tmp_path):
    checkpoint = write("classification")
    results = []
    for name, data in (
        ("plain", b"the array\nlists"),
        ("zipped", gzip.compress(b"the array\nlists")),
    ):
        (tmp_path / name).write_bytes(data)
        run(
            PredictOptions(
                init_checkpoint=checkpoint,
                input_file=str(tmp_path / name),
                output_file=str(tmp_path / "out"),
            )
        )
        results.append((tmp_path / "out").read_text())
    assert results[0] == results[1] and results[0].count("\n") == 2
    (tmp_path / "cut").write_bytes(gzip.compress(b"the array\n" * 1000)[:-20])
    with pytest.raises(UserError, match="cut: damaged or cut off"):
        run(
            PredictOptions(
                init_checkpoint=checkpoint,
                input_file=str(tmp_path / "cut"),
                output_file=str(tmp_path / "out"),
            )
        )


def test_the_windows_of_a_context_can_be_limited(write):
    checkpoint = write("question_answering", task=SQUAD)
    limited = Predictor.from_checkpoint(checkpoint, max_windows=2)
    (found,) = limited([("who", "a list " * 20)])
    # Two windows of 12 tokens of context that begin 4 tokens apart: what stands behind them is not
    # read.
    assert limited.inference.truncated == 1
    assert all(
        candidate["end"] is None or candidate["end"] <= len("a list " * 8)
        for candidate in found["nbest"]
    )


def test_a_long_line_takes_linear_time_and_has_a_limit(monkeypatch):
    lines = b"x" * (32 << 20) + b"\nshort\r\nlast"
    started = time.process_time()
    assert [len(line) for part in predictor._waiting_lines(io.BytesIO(lines)) for line in part] == [
        32 << 20,
        5,
        4,
    ]
    assert time.process_time() - started < 5
    monkeypatch.setattr(predictor, "LONGEST_LINE", 1 << 20)
    with pytest.raises(UserError, match=r"^line 2: longer than 1 MiB"):
        list(predictor._waiting_lines(io.BytesIO(b"short\n" + lines)))
