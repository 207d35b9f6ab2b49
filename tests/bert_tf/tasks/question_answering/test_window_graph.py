"""Windows against those of `data_gen/labeled/squad_features.py`, answers against the original's
loops."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.tasks.question_answering.inference import answers_in_graph, windows_in_graph
from bert_tf.tasks.question_answering.options import SquadConfig
from data_gen.labeled.squad import Question, SquadData
from data_gen.labeled.squad_features import make_windows as exact_windows
from modeling.preprocessing.graph_tokenizer import GraphTokenizer
from tests.data_gen.tokenization.common import PIECES, TOKENIZERS

TOKENIZER = TOKENIZERS[True]
GRAPH = GraphTokenizer(TOKENIZER.vocabulary, True)


def texts(rng, number, longest):
    """The first one is empty."""
    return [
        "",
        *(" ".join(rng.choice(PIECES, rng.integers(0, longest))) for _ in range(number - 1)),
    ]


def both(rng, settings, number=12):
    """(the questions as the exact code sees them, tokens, windows of the graph)"""
    questions, contexts = texts(rng, number, 9), texts(rng, number, 60)
    data = SquadData(
        "test",
        contexts,
        [Question(str(index), text, index, (), False) for index, text in enumerate(questions)],
        False,
        False,
    )
    context_tokens, exact = exact_windows(
        data,
        TOKENIZER,
        max_seq_length=settings.max_seq_length,
        doc_stride=settings.doc_stride,
        max_query_length=settings.max_query_length,
        training=False,
    )
    tokens = GRAPH(tf.constant(contexts))
    return (
        contexts,
        context_tokens,
        exact,
        tokens,
        windows_in_graph(
            GRAPH(tf.constant(questions)).ids, tokens.ids, settings, TOKENIZER.vocabulary
        ),
    )


@pytest.mark.parametrize("seed", range(8))
def test_windows_are_those_of_training(seed):
    rng = np.random.default_rng(seed)
    settings = SquadConfig(
        max_seq_length=int(rng.integers(14, 40)),
        doc_stride=int(rng.integers(1, 7)),
        max_query_length=int(rng.integers(1, 5)),
    )
    _, context_tokens, exact, _, windows = both(rng, settings)
    # The exact code leaves out questions about nothing.
    kept = np.isin(windows.owners, exact.question_index)
    features = {name: values.numpy()[kept] for name, values in windows.features.items()}
    mask = features["input_mask"].astype(bool)
    np.testing.assert_array_equal(windows.owners.numpy()[kept], exact.question_index)
    np.testing.assert_array_equal(mask.sum(1), exact.row_lengths)
    np.testing.assert_array_equal(features["input_ids"][mask], exact.input_ids)
    np.testing.assert_array_equal(features["segment_ids"][mask], exact.segment_ids)
    numbers = windows.context_tokens.numpy()[kept]
    np.testing.assert_array_equal(windows.is_best.numpy()[kept][numbers >= 0], exact.max_context())
    np.testing.assert_array_equal(
        context_tokens.ids[numbers[numbers >= 0]], features["input_ids"][numbers >= 0]
    )
    np.testing.assert_array_equal(np.argmax(numbers >= 0, 1), exact.doc_token_start)


def plain_answers(windows, start_logits, end_logits, offsets, settings, questions):
    """`write_predictions` of the original: [(start, end, score, null score − score)]."""
    numbers, best_window = windows.context_tokens.numpy(), windows.is_best.numpy()
    lengths = windows.features["input_mask"].numpy().sum(1)
    answers = []
    for question in range(questions):
        found, null = None, np.inf
        for window in np.flatnonzero(windows.owners.numpy() == question):
            null = min(null, start_logits[window, 0] + end_logits[window, 0])

            def best(logits, window=window):
                logits = logits[window, : lengths[window]]
                return sorted(range(len(logits)), key=lambda position: -logits[position])[
                    : settings.n_best_size
                ]

            for start in best(start_logits):
                for end in best(end_logits):
                    if (
                        numbers[window, start] < 0
                        or numbers[window, end] < 0
                        or not best_window[window, start]
                        or end < start
                        or end - start + 1 > settings.max_answer_length
                    ):
                        continue
                    score = start_logits[window, start] + end_logits[window, end]
                    if found is None or score > found[2]:
                        found = (
                            offsets[numbers[window, start], 0],
                            offsets[numbers[window, end], 1],
                            score,
                        )
        if found is None:
            answers.append((-1, -1, 0, 0))
        elif (
            settings.version_2_with_negative
            and null - found[2] > settings.null_score_diff_threshold
        ):
            answers.append((-1, -1, found[2], null - found[2]))
        else:
            answers.append((*found, null - found[2]))
    return answers


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_answers_are_those_of_the_plain_loops(seed, negative):
    rng = np.random.default_rng(100 + seed)
    settings = SquadConfig(
        max_seq_length=20,
        doc_stride=3,
        max_query_length=4,
        n_best_size=(5, 30)[seed % 2],
        max_answer_length=3,
        version_2_with_negative=negative,
        null_score_diff_threshold=-4.0,
    )
    contexts, context_tokens, _, tokens, windows = both(rng, settings, 30)
    # Few different numbers, so that there are ties.
    start_logits, end_logits = rng.integers(-3, 4, (2, *windows.is_best.shape)).astype(np.float32)
    found = answers_in_graph(
        windows, tf.constant(start_logits), tf.constant(end_logits), tokens, settings
    )
    expected = plain_answers(
        windows, start_logits, end_logits, context_tokens.offsets, settings, len(contexts)
    )
    assert list(zip(*(values.numpy().tolist() for values in found), strict=True)) == expected
    starts = [start for start, *_ in expected]
    assert any(start < 0 for start in starts) and any(start > 0 for start in starts)
