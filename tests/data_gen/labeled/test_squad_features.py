"""Windows, against those of the original code and against its algorithm written plainly."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_common.errors import UserError
from data_gen.labeled import squad_features
from data_gen.labeled.squad import Answer, Question, SquadData, check_training, read_squad
from data_gen.labeled.squad_features import make_windows
from data_gen.tokenization.tokenizer import Tokenizer
from tests.data_gen.tokenization.common import ENGLISH, REFERENCES, TEXTS, TOKENIZERS, thorough
from tests.oracles.squad import reference_features, split_words

SETTINGS = {
    name: dict(
        zip(
            ("max_seq_length", "doc_stride", "max_query_length"),
            map(int, name.split("_")),
            strict=True,
        )
    )
    for name in ("384_128_64", "128_32_24")
}

# Which fixture holds which questions of the original's.
QUESTIONS = [
    ("golden", "v20"),
    ("golden", "corner"),
    ("full_golden", "v11"),
    ("full_golden", "v20"),
    ("full_golden", "corner"),
]


@pytest.fixture(scope="module")
def uncased(golden):
    return Tokenizer.from_file(str(golden / "bert" / "uncased_vocab.txt"))


def read_lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def rows_of(values, lengths):
    return [row.tolist() for row in np.split(values, np.cumsum(lengths))[:-1]]


def features_of(data, tokenizer, training=True, **lengths):
    contexts, windows = make_windows(data, tokenizer, **lengths, training=training)
    word_of_character = [split_words(context)[1] for context in data.contexts]
    positions = (
        [[None] * len(windows)] * 2
        if windows.start_positions is None
        else [windows.start_positions.tolist(), windows.end_positions.tolist()]
    )
    columns = [
        rows_of(windows.input_ids, windows.row_lengths),
        rows_of(windows.segment_ids, windows.row_lengths),
        rows_of(windows.max_context(), windows.num_context_tokens),
        windows.doc_token_start.tolist(),
        *positions,
        windows.question_index.tolist(),
        windows.first_context_token.tolist(),
        windows.num_context_tokens.tolist(),
    ]
    features = []
    for ids, segments, best, doc_start, start, end, number, first, count in zip(
        *columns, strict=True
    ):
        question = data.questions[number]
        first += contexts.row_starts[question.context]
        words = [
            word_of_character[question.context][start]
            for start in contexts.offsets[first : first + count, 0].tolist()
        ]
        features.append(
            {
                "qas_id": question.id,
                "input_ids": ids,
                "segment_ids": segments,
                "doc_token_start": doc_start,
                "token_to_orig_map": words,
                "token_is_max_context": list(map(int, best)),
                "start_position": start,
                "end_position": end,
                "is_impossible": question.is_impossible,
            }
        )
    return features


def unpadded(line):
    """A feature of the original without its padding."""
    length = line["n_tokens"]
    assert not any(line["input_ids"][length:]) and not any(line["segment_ids"][length:])
    return line | {
        "input_ids": line["input_ids"][:length],
        "segment_ids": line["segment_ids"][:length],
    }


def plain_features(data, lower=True, training=True, **lengths):
    reference = REFERENCES[lower]
    return [
        {
            "qas_id": data.questions[feature["question"]].id,
            "input_ids": [reference.ids[token] for token in feature["tokens"]],
            "segment_ids": feature["segment_ids"],
            "doc_token_start": min(feature["token_to_word"]),
            "token_to_orig_map": list(feature["token_to_word"].values()),
            "token_is_max_context": list(map(int, feature["is_max_context"].values())),
            "start_position": feature["start_position"],
            "end_position": feature["end_position"],
            "is_impossible": data.questions[feature["question"]].is_impossible,
        }
        for feature in reference_features(data, reference, training=training, **lengths)
    ]


def one_context(context, answer=None, start=0, question="ab"):
    answers = () if answer is None else (Answer(answer, start),)
    return SquadData(
        "data.json", [context], [Question("1", question, 0, answers, False)], True, False
    )


@pytest.mark.golden
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("golden_values, name", QUESTIONS)
def test_windows_equal_those_of_the_original(request, uncased, golden_values, name, setting):
    """All but those of questions that the original leaves out of the training."""
    folder = request.getfixturevalue(golden_values) / "squad"
    expected = list(map(unpadded, read_lines(folder / f"squad_features_{name}_{setting}.jsonl.gz")))
    data = read_squad(str(folder / f"squad_{name}_train.json"), "train_file")
    checked = check_training(data, version_2_with_negative=name == "v20", skip_bad_answers=True)
    known = {line["qas_id"] for line in expected}
    found = [
        feature
        for feature in features_of(checked, uncased, **SETTINGS[setting])
        if feature["qas_id"] in known
    ]
    assert found == [{key: line[key] for key in found[0]} for line in expected]


@pytest.mark.golden
@pytest.mark.parametrize(
    "golden_values, name, setting",
    [
        (*questions, setting)
        for questions in QUESTIONS
        for setting in SETTINGS
        if (*questions, setting) != ("golden", "corner", "384_128_64")
    ],
)
def test_windows_for_prediction_are_those_that_the_original_made_logits_for(
    request, uncased, golden_values, name, setting
):
    folder = request.getfixturevalue(golden_values) / "squad"
    data = read_squad(str(folder / f"squad_{name}_eval.json"), "predict_file")
    logits = np.load(folder / f"squad_logits_{name}_{setting}.npz")
    features = features_of(data, uncased, training=False, **SETTINGS[setting])
    assert [feature["qas_id"] for feature in features] == logits["qas_ids"].tolist()
    assert {feature["start_position"] for feature in features} == {None}


@pytest.mark.golden
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_plain_algorithm_is_the_original(golden, uncased, setting):
    """So that what is compared with it below is compared with the original."""
    from tests.oracles.tokenizer import ReferenceTokenizer

    reference = ReferenceTokenizer(uncased.vocabulary.tokens)
    expected = read_lines(golden / "squad" / f"squad_features_corner_{setting}.jsonl.gz")
    known = {line["qas_id"] for line in expected}
    data = read_squad(str(golden / "squad" / "squad_corner_train.json"), "train_file")
    found = [
        feature
        for feature in reference_features(data, reference, **SETTINGS[setting], training=True)
        if data.questions[feature["question"]].id in known
    ]
    for feature, line in zip(found, map(unpadded, expected), strict=True):
        assert [reference.ids[token] for token in feature["tokens"]] == line["input_ids"]
        assert feature["segment_ids"] == line["segment_ids"]
        assert list(feature["token_to_word"].values()) == line["token_to_orig_map"]
        assert list(map(int, feature["is_max_context"].values())) == line["token_is_max_context"]
        assert (feature["start_position"], feature["end_position"]) == (
            line["start_position"],
            line["end_position"],
        )


@st.composite
def squad_data(draw):
    contexts = draw(st.lists(st.one_of(TEXTS, ENGLISH), min_size=1, max_size=4))
    questions = []
    for number in range(draw(st.integers(1, 5))):
        context = draw(st.integers(0, len(contexts) - 1))
        answers = ()
        if contexts[context] and draw(st.booleans()):
            start = draw(st.integers(0, len(contexts[context]) - 1))
            end = draw(st.integers(start + 1, min(start + 12, len(contexts[context]))))
            answers = (Answer(contexts[context][start:end], start),)
        questions.append(
            Question(
                str(number), draw(st.one_of(TEXTS, ENGLISH)), context, answers, draw(st.booleans())
            )
        )
    return SquadData("data.json", contexts, questions, True, False)


@thorough
@given(
    squad_data(),
    st.booleans(),
    st.integers(1, 5),
    st.integers(1, 12),
    st.integers(0, 15),
    st.booleans(),
)
def test_windows_equal_those_of_the_plain_algorithm(
    data, lower, max_query_length, doc_stride, space, training
):
    lengths = {
        "max_seq_length": max_query_length + 3 + doc_stride + space,
        "doc_stride": doc_stride,
        "max_query_length": max_query_length,
    }
    with pytest.MonkeyPatch.context() as patch:
        # Most data take several rounds.
        patch.setattr(squad_features, "_TOKENS_AT_ONCE", 9)
        found = features_of(data, TOKENIZERS[lower], training, **lengths)
    assert found == plain_features(data, lower, training, **lengths)


@pytest.mark.parametrize(
    "space, stride, num_tokens",
    [
        (100, 37, 301),
        (101, 1, 137),
        (100, 100, 200),
        *((space, 120, space + 140) for space in range(200, 240, 3)),
    ],
)
def test_the_best_window_where_scores_differ_by_rounding_only(space, stride, num_tokens):
    """A last window that is 100 tokens shorter weighs one token less: 0.01 x 100."""
    lengths = {"max_seq_length": space + 4, "doc_stride": stride, "max_query_length": 1}
    data = one_context("the " * num_tokens, question="the")
    found = [
        feature["token_is_max_context"]
        for feature in features_of(data, TOKENIZERS[True], **lengths)
    ]
    assert found == [feature["token_is_max_context"] for feature in plain_features(data, **lengths)]


@pytest.mark.parametrize(
    "context, answer, start, tokens",
    [
        ("the (1-3).", "1", 5, ["1"]),
        ("mask mask the", "mask", 5, ["mask"]),
        ("unaffable", "able", 5, ["un", "##aff", "##able"]),
        (" the ab", " the", 0, ["the"]),
        ("the \u200b ab", "\u200b", 4, []),
        ("the\u202fab", "ab", 4, ["ab"]),
        ("中本", "本", 1, ["本"]),
    ],
)
def test_tokens_of_awkward_answers(context, answer, start, tokens):
    (feature,) = features_of(
        one_context(context, answer, start),
        TOKENIZERS[True],
        max_seq_length=20,
        doc_stride=5,
        max_query_length=5,
    )
    ids = feature["input_ids"][feature["start_position"] : feature["end_position"] + 1]
    assert [TOKENIZERS[True].vocabulary.tokens[id] for id in ids] == tokens


def test_what_is_counted():
    data = SquadData(
        "data.json",
        ["the " * 30, "\u200b", ""],
        [
            Question("cut", "ab the ab the", 0, (Answer("the", 0),), False),
            Question("too long for a window", "ab", 0, (Answer(("the " * 30).rstrip(), 0),), False),
            Question("impossible", "ab", 0, (), True),
            Question("no token", "ab", 1, (), False),
            Question("empty", "ab", 2, (Answer("x", 0),), False),
        ],
        True,
        True,
    )
    _, windows = make_windows(
        data, TOKENIZERS[True], max_seq_length=20, doc_stride=8, max_query_length=2, training=True
    )
    assert windows.num_truncated_questions == 1
    assert windows.num_questions_without_window == 2
    assert windows.num_unanswerable_questions == 2
    assert set(windows.question_index.tolist()) == {0, 1, 2}
    assert windows.start_positions[0] == windows.end_positions[0] == 4
    assert not windows.start_positions[windows.question_index > 0].any()


def test_no_more_windows_than_are_wanted():
    data = one_context("the " * 50, "the", 160)
    lengths = {"max_seq_length": 20, "doc_stride": 5, "max_query_length": 5, "training": True}
    _, every = make_windows(data, TOKENIZERS[True], **lengths)
    _, some = make_windows(data, TOKENIZERS[True], **lengths, max_windows=3)
    assert (len(every), every.num_cut_contexts, every.num_unanswerable_questions) == (8, 0, 0)
    assert (len(some), some.num_cut_contexts, some.num_unanswerable_questions) == (3, 1, 1)
    np.testing.assert_array_equal(some.input_ids, every.input_ids[: len(some.input_ids)])
    assert some.max_context().sum() == some.first_context_token[-1] + some.num_context_tokens[-1]


def test_no_window_at_all():
    contexts, windows = make_windows(
        one_context(""),
        TOKENIZERS[True],
        max_seq_length=20,
        doc_stride=5,
        max_query_length=5,
        training=True,
    )
    assert (
        len(windows)
        == len(windows.input_ids)
        == len(windows.max_context())
        == len(contexts.ids)
        == 0
    )
    assert windows.num_questions_without_window == 1


@pytest.mark.parametrize(
    "lengths, message",
    [
        ((384, 318, 64), "--doc_stride=318 is more than the 317 tokens .* at most 317"),
        ((384, 0, 64), "--doc_stride is 0, it must be at least 1"),
        (
            (67, 1, 64),
            "--max_query_length=64 .* leave no room for context in --max_seq_length=67: at most 63",
        ),
        ((384, 128, 0), "--max_query_length is 0, it must be at least 1"),
    ],
)
def test_lengths_that_do_not_go_together(lengths, message):
    names = dict(zip(("max_seq_length", "doc_stride", "max_query_length"), lengths, strict=True))
    with pytest.raises(UserError, match=message):
        make_windows(one_context("the"), TOKENIZERS[True], **names, training=False)
