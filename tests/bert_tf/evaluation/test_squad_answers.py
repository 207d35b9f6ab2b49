import collections
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_common.errors import UserError
from bert_tf.evaluation import squad_answers
from bert_tf.evaluation.squad_answers import AnswerOptions, find_answers
from data_gen.labeled.squad import Question, SquadData
from data_gen.labeled.squad_features import make_windows
from tests.bert_tf.evaluation import squad_golden
from tests.bert_tf.evaluation.squad_reference import (
    final_text,
    kind_of_difference,
    nbest_of_questions,
    slice_text,
)
from tests.data_gen.tokenization.common import ENGLISH, TEXTS, TOKENIZERS

# How many texts of the original's n best answers are no slices, by kind and for each of the golden
# cases; see docs/squad.md.
DIFFERENCES = [
    {"changed length": 4},
    {"white space": 4, "changed length": 10},
    {"changed length": 4},
    {"white space": 3, "changed length": 10},
    {"white space": 9, "unknown word": 38, "changed length": 38},
    {"white space": 158, "unknown word": 9, "changed length": 11},
    {"white space": 334, "unknown word": 19, "changed length": 26},
    {"changed length": 4},
    {"white space": 4, "changed length": 17},
    {"changed length": 4},
    {"white space": 3, "changed length": 17},
    {"white space": 4, "unknown word": 14, "changed length": 15},
    {"white space": 9, "unknown word": 38, "changed length": 38},
]


KINDS = ("white space", "unknown word", "changed length", "first occurrence")


@pytest.fixture(params=squad_golden.CASES, ids=str)
def case(request, golden):
    return squad_golden.load(request, golden, request.param)


def texts_and_logits(candidates):
    return [(one.text, one.start_logit, one.end_logit) for one in candidates]


@pytest.mark.golden
def test_the_reference_is_the_original(case):
    """Texts, order and logits exactly: so whatever differs below differs because of the text of a
    span alone."""
    for id, (nbest, null_odds) in case.reference_of_original.items():
        golden = case.golden[id]
        assert [(text, start, end) for text, _, start, end, _ in nbest] == [
            (one["text"], one["start_logit"], one["end_logit"]) for one in golden
        ]
        assert [one[1] for one in nbest] == pytest.approx(
            [one["probability"] for one in golden], rel=1e-9
        )
        assert null_odds == (case.null_odds[id] if case.version_2 else None)


def test_equal_to_the_reference_that_takes_slices(case):
    reference = case.reference(slice_text)
    for found in case.found:
        nbest, null_odds = reference[found.id]
        assert texts_and_logits(found.nbest) == [
            (text, start, end) for text, _, start, end, _ in nbest
        ]
        assert [one.probability for one in found.nbest] == pytest.approx(
            [one[1] for one in nbest], rel=1e-9
        )
        assert found.null_odds == null_odds
    assert [found.id for found in case.found] == [question.id for question in case.data.questions]


@pytest.mark.golden
def test_texts_differ_from_the_original_for_known_reasons_only(case):
    kinds = collections.Counter()
    for question in case.data.questions:
        for *_, tokens in case.reference_of_original[question.id][0]:
            if tokens:
                context = case.data.contexts[question.context]
                kinds[kind_of_difference(context, case.tokenizer, case.contexts, *tokens)] += 1
    del kinds[None]
    assert kinds == DIFFERENCES[case.number]


@pytest.mark.golden
def test_texts_of_the_original_that_are_slices_are_ours(case):
    """In the same order; unless our list is full of better ones, which the original took for one
    and the same text."""
    for found, question in zip(case.found, case.data.questions, strict=True):
        context = case.data.contexts[question.context]
        ours = [one.text for one in found.nbest]
        slices = [
            (text, start + end)
            for text, _, start, end, tokens in case.reference_of_original[found.id][0]
            if tokens is None or text == slice_text(context, case.tokenizer, case.contexts, *tokens)
        ]
        kept = [text for text, _ in slices if text in ours]
        assert kept == [text for text in ours if text in kept]
        missing = [score for text, score in slices if text not in ours]
        if missing:
            assert len(ours) >= 20
            assert max(missing) <= min(
                one.start_logit + one.end_logit for one in found.nbest if one.text
            )


@pytest.mark.golden
def test_chosen_answers(case):
    """Under each threshold the original's answer, or the slice in place of a text that is none."""
    for mode, threshold in (
        (("v2_thr0", 0.0), ("v2_thr-1.5", -1.5)) if case.version_2 else (("v1", 0.0),)
    ):
        expected = case.predictions(mode)
        for found, question in zip(case.found, case.data.questions, strict=True):
            chosen, golden = found.choose(threshold), expected[found.id]
            if chosen.text != golden:
                tokens = next(
                    one[4] for one in case.reference_of_original[found.id][0] if one[0] == golden
                )
                context = case.data.contexts[question.context]
                kind = kind_of_difference(context, case.tokenizer, case.contexts, *tokens)
                assert kind in KINDS
                assert chosen.text == slice_text(context, case.tokenizer, case.contexts, *tokens)


@pytest.mark.golden
def test_final_text_of_the_reference_is_the_originals(golden_set):
    lines = (golden_set / "squad" / "get_final_text.jsonl").read_text().splitlines()
    assert len(lines) in (452, 630)
    for line in map(json.loads, lines):
        assert (
            final_text(line["pred_text"], line["orig_text"], line["do_lower_case"])
            == line["final_text"]
        )


def squad_data(*contexts):
    """A question about each of the contexts."""
    questions = [Question(str(n), "the un?", n, (), False) for n in range(len(contexts))]
    return SquadData("some.json", list(contexts), questions, True, False)


def windows_of(data, max_seq_length=16, doc_stride=3, lower=True):
    return make_windows(
        data,
        TOKENIZERS[lower],
        max_seq_length=max_seq_length,
        doc_stride=doc_stride,
        max_query_length=4,
        training=False,
    )


def answers(data, start_logits=None, end_logits=None, lower=True, max_seq_length=16, **options):
    contexts, windows = windows_of(data, max_seq_length, lower=lower)
    total = int(windows.row_lengths.sum())
    logits = [
        np.zeros(total, np.float32) if given is None else np.array(given, np.float32)
        for given in (start_logits, end_logits)
    ]
    return find_answers(data, contexts, windows, *logits, AnswerOptions(**options))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(TEXTS, min_size=1, max_size=3),
    st.booleans(),
    st.booleans(),
    st.integers(1, 6),
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
)
def test_equal_to_the_reference(
    texts, lower, version_2, n_best_size, max_answer_length, at_once, doc_stride, random
):
    """Any text, many equal scores, few places, portions of few windows."""
    data = squad_data(*texts)
    contexts, windows = windows_of(data, 13, doc_stride, lower)
    options = AnswerOptions(
        n_best_size=n_best_size,
        max_answer_length=max_answer_length,
        version_2_with_negative=version_2,
    )
    rows = [
        [
            [random.choice([-1.5, -0.0, 0.0, 0.25, 2.0]) for _ in range(length)]
            for length in windows.row_lengths
        ]
        for _ in range(2)
    ]
    flat = [np.array([logit for row in side for logit in row], np.float32) for side in rows]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(squad_answers, "_WINDOWS_AT_ONCE", at_once)
        found = find_answers(data, contexts, windows, *flat, options)
    reference = nbest_of_questions(
        data, TOKENIZERS[lower], contexts, windows, *rows, slice_text, options
    )
    for one, text in zip(found, texts, strict=True):
        nbest, null_odds = reference[one.id]
        assert texts_and_logits(one.nbest) == [
            (text, start, end) for text, _, start, end, _ in nbest
        ]
        assert one.null_odds == null_odds
        assert sum(candidate.probability for candidate in one.nbest) == pytest.approx(1)
        for candidate in one.nbest:
            if candidate.start is not None:
                assert candidate.text and candidate.text == text[candidate.start : candidate.end]


def test_a_question_without_any_span():
    """In version 1.1 the literal answer "empty", in 2.0 no answer, under any threshold."""
    for context in ("", " \n ", "\u200b \u200d"):
        (one,) = answers(squad_data(context))
        assert one.nbest == [("empty", None, None, 1.0, 0.0, 0.0)] and one.choose().text == "empty"
        (one,) = answers(squad_data(context), version_2_with_negative=True)
        assert one.nbest == [("", None, None, 1.0, 0.0, 0.0)]
        assert one.null_odds == 0 and one.choose(1e9).text == "" and one.best_span is None


def test_no_span_is_allowed_by_the_logits():
    """All likely starts and ends are [CLS], or in the question; or all ends are before all
    starts."""
    data = squad_data("ab able")
    #          [CLS] the un ? [SEP] ab able [SEP]
    starts, ends = [9, 8, 7, 0, 0, 0, 0, 0], [9, 8, 7, 0, 0, 0, 0, 0]
    (one,) = answers(data, starts, ends, n_best_size=3)
    assert one.choose().text == "empty"
    (one,) = answers(data, starts, ends, n_best_size=3, version_2_with_negative=True)
    assert [candidate[:3] for candidate in one.nbest] == [("", None, None)] and one.choose(
        99
    ).text == ""
    assert one.null_odds == 18
    (one,) = answers(data, [0, 0, 0, 0, 0, 0, 5, 0], [0, 0, 0, 0, 0, 5, 0, 0], n_best_size=1)
    assert one.choose().text == "empty"


def test_no_answer_is_always_in_the_list():
    data = squad_data("ab able")
    (one,) = answers(
        data,
        [5, 0, 0, 0, 0, 6, 0, 0],
        [5, 0, 0, 0, 0, 6, 0, 0],
        n_best_size=1,
        version_2_with_negative=True,
    )
    assert [candidate.text for candidate in one.nbest] == ["ab", ""] and one.null_odds == -2
    assert [one.choose(threshold).text for threshold in (-2.5, -2, 0)] == ["", "ab", "ab"]


def test_the_null_score_is_the_smallest_of_all_windows():
    data = squad_data("ab able un aff the mask")
    contexts, windows = windows_of(data, 10)
    assert windows.row_lengths.tolist() == [10, 9]
    logits = np.zeros(19, np.float32)
    logits[[0, 10, 17]] = 3, 4, 5  # both [CLS], "mask"
    options = AnswerOptions(n_best_size=2, version_2_with_negative=True)
    (one,) = find_answers(data, contexts, windows, logits, logits, options)
    assert [(candidate.text, candidate.start_logit) for candidate in one.nbest[:2]] == [
        ("mask", 5),
        ("", 3),
    ]
    assert one.null_odds == -4


@settings(max_examples=300, deadline=None)
@given(st.one_of(TEXTS, ENGLISH), st.booleans())
def test_every_difference_from_the_original_is_explained(context, lower):
    """Of all spans of up to six tokens."""
    data = squad_data(context)
    contexts, _ = windows_of(data, lower=lower)
    for first in range(len(contexts.ids)):
        for last in range(first, min(first + 6, len(contexts.ids))):
            assert kind_of_difference(context, TOKENIZERS[lower], contexts, first, last) in (
                None,
                *KINDS,
            )


@pytest.mark.parametrize(
    ("context", "tokens", "text"),
    [
        ("\u3000\u2028ab", (0, 0), "ab"),
        ("abe\u0301 un", (0, 1), "abe\u0301"),
        ("é.\u0301 un", (0, 0), "é"),
        ("中本 ab", (1, 1), "本"),
        ("ab\n\n  able", (0, 1), "ab\n\n  able"),
        ("a\u302e\U0001d165", (0, 0), "a\u302e\U0001d165"),
    ],
)
def test_slices_of_awkward_contexts(context, tokens, text):
    """Characters of the context, whatever is before, between and in them."""
    data = squad_data(context)
    _, windows = windows_of(data)
    # [CLS] the un ? [SEP] comes first.
    starts, ends = (np.eye(1, int(windows.row_lengths[0]), 5 + token)[0] for token in tokens)
    (one,) = answers(data, starts, ends)
    best = one.nbest[0]
    assert best.text == text == context[best.start : best.end]


def test_a_context_longer_than_any_window():
    """The answer is found where it stands, far behind the first window, and a span is counted
    once."""
    context = "ab un " * 300 + "mask " + "ab un " * 300
    data = squad_data("able", context)
    contexts, windows = windows_of(data)
    assert len(windows) > 300
    place = int(contexts.row_starts[1]) + 600
    position = windows.doc_token_start - windows.first_context_token + 600
    row_starts = np.cumsum(windows.row_lengths) - windows.row_lengths
    holds = (
        (windows.question_index == 1)
        & (position >= windows.doc_token_start)
        & (position < windows.row_lengths - 1)
    )
    assert holds.sum() > 1 and context[slice(*contexts.offsets[place])] == "mask"
    logits = np.zeros(windows.row_lengths.sum(), np.float32)
    logits[(row_starts + position)[holds]] = 4
    one = find_answers(data, contexts, windows, logits, logits, AnswerOptions())[1]
    assert one.nbest[0][:3] == ("mask", 1800, 1804) and one.nbest[0].start_logit == 4
    assert [candidate.text for candidate in one.nbest].count("mask") == 1


def test_logits_that_do_not_fit_or_are_no_numbers():
    data = squad_data("ab able")
    with pytest.raises(ValueError, match=r"expected \(8,\)"):
        answers(data, np.zeros(7), np.zeros(8))
    for value in (np.nan, np.inf):
        with pytest.raises(UserError, match="not all finite"):
            answers(data, np.zeros(8), [0] * 7 + [value])
