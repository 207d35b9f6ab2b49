import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_tf.tasks.multiple_choice.data import ChoiceExamples
from bert_tf.training.examples import assemble, padded_lengths

LENGTHS = padded_lengths(24, 6)
shapes = st.lists(st.lists(st.integers(1, 24), min_size=1, max_size=5), min_size=1, max_size=12)


def make(rows: list[list[int]]) -> ChoiceExamples:
    """Questions whose choices have so many tokens; the tokens of row r, in all, are 100 r + 1, 100
    r + 2, …"""
    row_lengths = np.array([length for question in rows for length in question], np.int64)
    ids = np.concatenate(
        [100 * row + np.arange(length) + 1 for row, length in enumerate(row_lengths)]
    ).astype(np.int32)
    return ChoiceExamples(
        {"input_ids": ids, "segment_ids": (ids % 2).astype(np.uint8)},
        row_lengths,
        {"label_ids": np.arange(len(rows), dtype=np.int32)},
        num_choices=np.array([len(question) for question in rows], np.int64),
    )


@settings(deadline=None)
@given(shapes, st.data())
def test_a_batch_holds_all_choices_of_its_questions(rows, data):
    examples = make(rows)
    assert len(examples) == len(rows)
    assert examples.lengths.tolist() == [max(question) for question in rows]
    chosen = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=6)))
    batch = assemble(examples, chosen, 8, LENGTHS)
    longest = max(max(rows[one]) for one in chosen)
    most = max(map(len, rows))
    assert batch["input_ids"].shape == (8, most, LENGTHS[np.searchsorted(LENGTHS, longest)])
    first = np.cumsum([0, *map(len, rows)])
    for place, one in enumerate(chosen):
        for choice in range(most):
            length = rows[one][choice] if choice < len(rows[one]) else 0
            tokens = 100 * (first[one] + choice) + np.arange(length) + 1
            assert batch["input_ids"][place, choice, :length].tolist() == tokens.tolist()
            assert batch["input_ids"][place, choice, length:].sum() == 0
            assert batch["input_mask"][place, choice].sum() == length
    assert batch["label_ids"][: len(chosen)].tolist() == chosen.tolist()
    assert ("num_choices" in batch) == examples.is_ragged == (len(set(map(len, rows))) > 1)
    if examples.is_ragged:
        counts = [*(len(rows[one]) for one in chosen), *[1] * (8 - len(chosen))]
        assert batch["num_choices"].tolist() == counts


@given(shapes)
def test_scores_come_back_to_their_questions(rows):
    examples = make(rows)
    table = examples.by_question(np.arange(len(examples.row_lengths), dtype=np.float32))
    numbers = iter(range(len(examples.row_lengths)))
    for question, scores in zip(rows, table, strict=True):
        assert scores[: len(question)].tolist() == [next(numbers) for _ in question]
        assert np.isneginf(scores[len(question) :]).all()
    assert len(examples.sequences) == len(examples.row_lengths)
