import importlib.util
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_common.errors import UserError
from bert_tf.evaluation.squad_answers import (
    Candidate,
    QuestionAnswers,
    best_spans,
    collect_null_odds,
)
from bert_tf.evaluation.squad_scores import (
    score,
    score_by_characters,
    score_officially,
    tune_threshold,
)
from data_gen.labeled.squad import Answer, Question, SquadData
from tests.bert_tf.evaluation import squad_golden

CLOSE = {"rel": 0, "abs": 1e-9}


@pytest.fixture(params=squad_golden.CASES, ids=str)
def case(request, golden):
    return squad_golden.load(request, golden, request.param)


@pytest.mark.golden
def test_scores_are_those_of_the_official_scripts(case):
    """Of the original's answers."""
    if not case.version_2:
        expected = case.scores("v1")
        version_2 = case.name.startswith("v20")
        scores = score(case.data, case.predictions("v1"), None, version_2)
        if not version_2:
            expected = {
                "exact": expected["exact_match"],
                "f1": expected["f1"],
                "total": len(case.data.questions),
            }
        assert scores == pytest.approx(expected, **CLOSE)
        return
    for mode in ("v2_thr0", "v2_thr-1.5"):
        expected = case.scores(mode)
        answers = case.predictions(mode)
        assert score(case.data, answers, case.null_odds, True) == pytest.approx(
            expected["with_na_prob_file"], **CLOSE
        )
        assert score(case.data, answers, None, True) == pytest.approx(
            expected["without_na_prob_file"], **CLOSE
        )


@pytest.mark.golden
@pytest.mark.parametrize("negative", [case for case in squad_golden.CASES if case[-1]], ids=str)
def test_the_tuned_threshold_is_as_good_as_the_official_one(request, golden, negative):
    """Better where a question without answer gets an answer like "the", which the rules take for
    none: the official search counts it as wrong, the official score as right."""
    case = squad_golden.load(request, golden, negative)
    spans = best_spans(case.found)
    official = score(case.data, spans, case.null_odds, True)
    threshold = tune_threshold(case.data, spans, collect_null_odds(case.found))
    tuned, at_official = (
        score(case.data, {found.id: found.choose(value).text for found in case.found}, None, True)[
            "f1"
        ]
        for value in (threshold, official["best_f1_thresh"])
    )
    assert official["best_f1"] - 1e-9 <= at_official <= tuned + 1e-9
    assert tuned < official["best_f1"] + 1
    assert threshold not in case.null_odds.values()


def result(id, text, odds):
    span = [Candidate(text, 0, len(text), 0.5, 0.0, 0.0)] if text else []
    return QuestionAnswers(id, [*span, Candidate("", None, None, 0.5, 0.0, 0.0)], odds)


def tuned_threshold(data, results):
    return tune_threshold(data, best_spans(results), collect_null_odds(results))


def squad_data(*answers):
    questions = [
        Question(str(n), "?", 0, tuple(Answer(text, 0) for text in texts), not texts)
        for n, texts in enumerate(answers)
    ]
    return SquadData("some.json", ["right wrong"], questions, True, True)


# Texts with and without words by the rules: articles, punctuation, white space, other alphabets,
# apostrophes.
TEXTS = [
    "",
    "the",
    "The",
    "a",
    "...",
    "an!",
    "Ada Lovelace",
    "ada  lovelace.",
    "the Ada",
    "Lovelace",
    "Lovelace Ada Ada",
    "10,000",
    "10 000",
    "A.B.",
    "ab",
    "U.S.",
    "us",
    "the-an",
    "ñandú",
    "N\u0303andu\u0301",
    "中 本",
    "中本",
    "\u3000中本",
    "İ",
    "don't",
    "dont",
    "it\u2019s",
    "an an an",
    "anna",
    "right wrong",
    "wrong",
    "right",
]


@pytest.mark.skipif(
    importlib.util.find_spec("official") is None, reason="tf-models-official is not installed"
)
@pytest.mark.parametrize("version_2", [False, True])
def test_scores_of_generated_sets_are_those_of_the_official_scripts(version_2):
    """1,000 sets each; with equal odds, right answers without a word, and questions without any."""
    rng = random.Random(37 + version_2)
    for _ in range(1000):
        size = rng.randint(1, 7)
        data = squad_data(*(rng.choices(TEXTS, k=rng.choice((0, 1, 1, 2, 3))) for _ in range(size)))
        answers = {
            question.id: rng.choice(
                [*TEXTS, *(one.text for one in question.answers)] * rng.choice((1, 0))
                or [one.text for one in question.answers]
                or [""]
            )
            for question in data.questions
        }
        null_odds = rng.choice(
            (None, {id: rng.choice((-3.0, -0.5, 0.0, 0.25, 2.0)) for id in answers})
        )
        if not version_2 and not any(question.answers for question in data.questions):
            continue
        # Up to the last digit: the copy for version 1.1 divides first, and Python sums more exactly
        # from 3.12 on.
        expected = score_officially(data, answers, null_odds, version_2)
        assert score(data, answers, null_odds, version_2) == pytest.approx(
            expected, rel=1e-15, abs=0
        )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([(), ("right",), ("right wrong", "the")]),
            st.sampled_from(["right", "wrong", ""]),
            st.sampled_from([-3.0, -1.0, 0.0, 0.5, 2.0, 7.0]),
        ),
        min_size=1,
        max_size=9,
    )
)
def test_no_threshold_is_better_than_the_tuned_one(questions):
    """With equal odds, too, of which the official script may cut off a part; and where it is best
    to answer nothing."""
    data = squad_data(*(answers for answers, _, _ in questions))
    results = [result(str(n), text, odds) for n, (_, text, odds) in enumerate(questions)]

    def f1(threshold):
        return score(
            data, {found.id: found.choose(threshold).text for found in results}, None, True
        )["f1"]

    tuned = tuned_threshold(data, results)
    assert f1(tuned) == pytest.approx(max(map(f1, [-9.0, -3.0, -1.0, 0.0, 0.5, 2.0, 7.0])))
    # Not at the edge: a little noise changes no answer.
    assert all(
        found.choose(tuned - 0.2) == found.choose(tuned) == found.choose(tuned + 0.2)
        for found in results
    )


def test_threshold_beyond_all_odds():
    data = squad_data((), ())
    assert tuned_threshold(data, [result("0", "right", -2.0), result("1", "right", 3.0)]) == -3.0
    data = squad_data(("right",), ("right",))
    assert tuned_threshold(data, [result("0", "right", -2.0), result("1", "right", 3.0)]) == 4.0


def test_of_equally_good_thresholds_the_lowest_is_taken():
    # Answering nothing is as good as answering both: one is right then either way.
    data = squad_data((), ("right",))
    assert tuned_threshold(data, [result("0", "right", -2.0), result("1", "right", 3.0)]) == -3.0


def test_odds_above_one_do_not_undo_answers():
    """The official script would take an answer with odds of 3 for "no answer" if it were given the
    odds."""
    data = squad_data(("right",), ())
    scores = score(data, {"0": "right", "1": ""}, {"0": 3.0, "1": 5.0}, True)
    assert scores["exact"] == scores["HasAns_exact"] == 100 and scores["best_f1_thresh"] == 3.0
    assert scores["best_exact_thresh"] == 3.0


def test_questions_without_a_right_answer_in_version_1():
    """The official script ends in an error there."""
    data = squad_data(("right",), (), ("wrong", "right"))
    assert score(data, {"0": "right", "1": "x", "2": "wrong right"}, None, False) == pytest.approx(
        {"exact": 50.0, "f1": 100 * (1 + 2 / 3) / 2, "total": 2}
    )
    with pytest.raises(UserError, match="some.json: no question has an answer"):
        score(squad_data((), ()), {"0": "", "1": ""}, None, False)


@pytest.mark.parametrize(
    ("rights", "answer", "expected"),
    [
        # One of two characters is right: precision 1, recall 1/2.
        (("北京",), "京", 200 / 3),
        # The better of two right answers; punctuation does not count.
        (("上海", "北京市"), "北京市。", 100.0),
        (("ประเทศไทย",), "ไทย", 50.0),
        # Words of Latin letters are units beside characters.
        (("iPhone手机",), "iphone", 50.0),
        (("東京",), "", 0.0),
        # Scripts with blanks have the official score alone.
        (("Anna Berg",), "Anna", None),
        (("서울 도시",), "서울", None),
        ((), "", None),
    ],
)
def test_f1_by_characters(rights, answer, expected):
    answers = tuple(Answer(text, 0) for text in rights)
    questions = [Question("q", "?", 0, answers, False)]
    data = SquadData("f", ["c"], questions, has_answers=True, has_impossible=False)
    scores = score_by_characters(data, {"q": answer})
    if expected is None:
        assert scores == {}
    else:
        assert scores == {"character_f1": pytest.approx(expected), "character_total": 1}
