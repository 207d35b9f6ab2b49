import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bert_tf.training.examples import (
    Examples,
    assemble,
    consecutive_batch,
    epoch_batches,
    evaluation_dataset,
    padded_lengths,
    sorted_batches,
    training_dataset,
)

ONE = tf.distribute.InputContext(1, 0, 1)
CONTEXTS = [(1, 2), (1, 4), (2, 2), (2, 4), (4, 4)]

lengths_of_rows = st.lists(st.integers(1, 40), min_size=1, max_size=120).map(np.array)


def make(row_lengths) -> Examples:
    """Examples whose tokens encode example and position: 100 * example + position + 1."""
    row_lengths = np.asarray(row_lengths, np.int64)
    ids = np.concatenate(
        [100 * row + np.arange(length) + 1 for row, length in enumerate(row_lengths)]
    )
    return Examples(
        {"input_ids": ids.astype(np.int32), "segment_ids": (ids % 2).astype(np.uint8)},
        row_lengths,
        {
            "label_ids": np.arange(len(row_lengths), dtype=np.int32) % 3,
            "labels": np.arange(2 * len(row_lengths), dtype=np.uint8).reshape(-1, 2),
            "score": np.arange(len(row_lengths), dtype=np.float32) / 2,
        },
    )


def mrpc_like(count: int) -> np.ndarray:
    return np.random.default_rng(0).normal(53, 13, count).round().clip(19, 103).astype(np.int64)


def take(dataset, count: int) -> list[dict]:
    return list(dataset.take(count).as_numpy_iterator())


def joined(parts: list[dict]) -> dict:
    """The batches of all replicas of a step as the global batch they are cut from."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def assert_same(found: list[dict], expected: list[dict]) -> None:
    assert len(found) == len(expected)
    for batch, expected_batch in zip(found, expected, strict=True):
        assert set(batch) == set(expected_batch)
        for name, values in expected_batch.items():
            np.testing.assert_array_equal(batch[name], values, err_msg=name)


def global_batches(make_dataset, hosts: int, replicas: int, steps: int) -> list[dict]:
    """What all hosts together read in `steps` steps."""
    each = replicas // hosts
    parts = [
        take(make_dataset(tf.distribute.InputContext(hosts, host, replicas)), steps * each)
        for host in range(hosts)
    ]
    return [
        joined([part for host in parts for part in host[step * each : (step + 1) * each]])
        for step in range(steps)
    ]


@given(lengths_of_rows, st.integers(1, 9), st.integers(0, 5), st.integers(0, 5))
def test_every_example_is_in_one_batch_of_an_epoch(row_lengths, batch_size, seed, epoch):
    batches = epoch_batches(row_lengths, batch_size, seed, epoch)
    assert sorted(np.concatenate(batches)) == list(range(len(row_lengths)))
    sizes = sorted(map(len, batches), reverse=True)
    assert len(sizes) == -(-len(row_lengths) // batch_size)
    assert sizes[:-1] == [batch_size] * (len(sizes) - 1)
    again = epoch_batches(row_lengths, batch_size, seed, epoch)
    assert [batch.tolist() for batch in batches] == [batch.tolist() for batch in again]


@given(st.integers(1, 40), st.integers(1, 50), st.integers(0, 5))
def test_consecutive_batches_cut_epochs_without_regard_to_their_ends(
    num_examples, batch_size, seed
):
    steps = -(-3 * num_examples // batch_size)
    batches = [consecutive_batch(num_examples, batch_size, seed, step) for step in range(steps)]
    assert {len(batch) for batch in batches} == {batch_size}
    stream = np.concatenate(batches)
    for epoch in range(3):
        order = stream[epoch * num_examples : (epoch + 1) * num_examples]
        assert sorted(order) == list(range(num_examples))


def test_the_originals_batches_are_full_and_of_any_length():
    examples, lengths = make(mrpc_like(30)), padded_lengths(128, 16)
    seen = take(training_dataset(examples, 8, 0, 2, lengths, ONE, original_batches=True), 3)
    for step, batch in enumerate(seen, 2):
        assert batch["example_index"].tolist() == consecutive_batch(30, 8, 0, step).tolist()
        assert batch["is_real_example"].tolist() == [1] * 8


def test_the_order_is_shuffled():
    row_lengths = mrpc_like(4000)
    orders = [
        np.concatenate(epoch_batches(row_lengths, 32, seed, epoch))
        for seed, epoch in ((0, 0), (0, 1), (1, 0), (1, 1))
    ]
    # Where in the epoch each example comes. With 4000 examples, chance alone gives a correlation of
    # about 0.016; that examples of like length come together makes it a few times as much.
    places = [np.argsort(order) for order in orders]
    for number, place in enumerate(places):
        assert abs(stats.spearmanr(place, np.arange(4000)).statistic) < 0.1
        assert abs(stats.spearmanr(place, row_lengths).statistic) < 0.25
        for other in places[:number]:
            assert abs(stats.spearmanr(place, other).statistic) < 0.25


def test_little_is_padded():
    row_lengths = mrpc_like(3668)
    lengths = padded_lengths(128, 16)

    def share(batches, allowed) -> float:
        padded = sum(
            32 * allowed[np.searchsorted(allowed, row_lengths[batch].max())] for batch in batches
        )
        return 1 - row_lengths.sum() / padded

    random_order = np.array_split(np.random.default_rng(0).permutation(3668), 115)
    fixed = share(random_order, np.array([128]))
    to_longest = share(random_order, np.arange(1, 129))
    ours = share(epoch_batches(row_lengths, 32, 0, 0), lengths)
    assert fixed > 0.55 and to_longest > 0.3
    assert ours < 0.12
    assert share(sorted_batches(row_lengths, 32), lengths) < 0.12


@given(st.integers(1, 600), st.integers(1, 20))
def test_padded_lengths_are_few_and_end_with_the_longest(longest, number):
    lengths = padded_lengths(longest, number)
    assert lengths[-1] == longest and (np.diff(lengths) > 0).all() and lengths[0] > 0
    assert len(lengths) <= number
    assert all(length % 4 == 0 for length in lengths[:-1])
    assert padded_lengths(longest, 1).tolist() == [longest]


@given(lengths_of_rows, st.integers(1, 6), st.data())
def test_a_batch_holds_the_tokens_of_its_examples(row_lengths, number, data):
    examples = make(row_lengths)
    batch_size = data.draw(st.integers(1, 8))
    chosen = np.array(
        data.draw(st.lists(st.integers(0, len(examples) - 1), min_size=1, max_size=batch_size))
    )
    lengths = padded_lengths(40, number)
    batch = assemble(examples, chosen, batch_size, lengths)
    longest = row_lengths[chosen].max()
    shape = (batch_size, min(length for length in lengths if length >= longest))
    for name in ("input_ids", "segment_ids", "input_mask"):
        assert batch[name].shape == shape and batch[name].dtype == np.int32
    for row, example in enumerate(chosen):
        tokens = 100 * example + np.arange(row_lengths[example]) + 1
        rest = [0] * (shape[1] - len(tokens))
        assert batch["input_ids"][row].tolist() == [*tokens, *rest]
        assert batch["segment_ids"][row].tolist() == [*(tokens % 2), *rest]
        assert batch["input_mask"][row].tolist() == [*np.ones_like(tokens), *rest]
        assert batch["label_ids"][row] == example % 3 and batch["score"][row] == example / 2
    assert batch["example_index"][: len(chosen)].tolist() == chosen.tolist()
    assert batch["is_real_example"].tolist() == [1] * len(chosen) + [0] * (batch_size - len(chosen))


def test_the_batches_follow_from_seed_and_step():
    examples, lengths = make(mrpc_like(50)), padded_lengths(128, 16)
    expected = take(training_dataset(examples, 8, 3, 0, lengths, ONE), 30)
    assert_same(take(training_dataset(examples, 8, 3, 0, lengths, ONE), 30), expected)
    for start in (1, 6, 7, 20):
        assert_same(
            take(training_dataset(examples, 8, 3, start, lengths, ONE), 10),
            expected[start : start + 10],
        )
    other = take(training_dataset(examples, 8, 4, 0, lengths, ONE), 30)
    assert [batch["example_index"].tolist() for batch in other] != [
        batch["example_index"].tolist() for batch in expected
    ]


@pytest.mark.parametrize(("hosts", "replicas"), CONTEXTS)
def test_replicas_and_hosts_cut_the_same_global_batch(hosts, replicas):
    examples, lengths = make(mrpc_like(50)), padded_lengths(128, 16)

    def dataset(context):
        return training_dataset(examples, 8, 3, 2, lengths, context)

    # Joining the replicas' parts fails where one has another length.
    assert_same(global_batches(dataset, hosts, replicas, 12), take(dataset(ONE), 12))


@settings(max_examples=15, deadline=None)
@given(lengths_of_rows, st.sampled_from([(1, 1), *CONTEXTS]))
def test_evaluation_is_one_exact_pass(row_lengths, context):
    examples, lengths = make(row_lengths), padded_lengths(40, 5)
    steps = -(-len(examples) // 8)
    hosts, replicas = context
    assert len(
        list(
            evaluation_dataset(examples, 8, lengths, tf.distribute.InputContext(hosts, 0, replicas))
        )
    ) == (steps * replicas // hosts)
    batches = global_batches(
        lambda context: evaluation_dataset(examples, 8, lengths, context), hosts, replicas, steps
    )
    real = np.concatenate(
        [batch["example_index"][batch["is_real_example"] == 1] for batch in batches]
    )
    assert sorted(real) == list(range(len(examples)))
    widths = [batch["input_ids"].shape[1] for batch in batches]
    assert widths == sorted(widths, reverse=True)


@settings(max_examples=15, deadline=None)
@given(lengths_of_rows, st.integers(1, 120))
def test_batches_with_a_limit_of_tokens(row_lengths, tokens):
    examples, lengths = make(row_lengths), padded_lengths(40, 5)
    batches = [*evaluation_dataset(examples, 8, lengths, ONE, tokens).as_numpy_iterator()]
    assert len(batches) == len(sorted_batches(examples.lengths, 8, lengths, tokens))
    assert sorted(np.concatenate([batch["example_index"] for batch in batches])) == list(
        range(len(examples))
    )
    shapes = [batch["input_ids"].shape for batch in batches]
    assert all(rows == 1 or rows <= 8 and rows * length <= tokens for rows, length in shapes)
    # Of all batches of one length but the last.
    assert all(min(8, max(1, tokens // length)) == rows for rows, length in shapes[:-1])
