import itertools
import logging

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.tasks.pretraining.data import parser
from bert_tf.training.batches import BatchSizes
from bert_tf.training.inputs import RecordFiles, evaluation_dataset, training_dataset
from data_gen.pretraining import records
from data_gen.pretraining.schema import FEATURES, Schema
from modeling.config import BertConfig
from tests.bert_tf.training.common import (
    LENGTH,
    PREDICTIONS,
    TINY,
    instances,
    numbers,
    write_records,
)

COUNTS = (7, 13, 20, 3)
TOTAL = sum(COUNTS)
ONE = tf.distribute.InputContext(1, 0, 1)


@pytest.fixture(scope="module", autouse=True)
def messages_of_autograph():
    """AutoGraph warns of a function that it can't convert, once in a process."""
    messages = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    tf.get_logger().addHandler(handler)
    yield
    tf.get_logger().removeHandler(handler)
    assert not [message for message in messages if "AutoGraph" in message]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> RecordFiles:
    folder = tmp_path_factory.mktemp("records")
    paths, first = [], 0
    for index, count in enumerate(COUNTS):
        paths.append(write_records(folder / f"{index}.tfrecord{'.gz' * (index % 2)}", count, first))
        first += count
    return RecordFiles(tuple(paths), COUNTS, (False, True, False, True))


def parse(serialized, passes):
    return parser(Schema(LENGTH, PREDICTIONS), TINY)(serialized, passes)


def stream(files, examples, batch=4, seed=1, start=0, context=ONE, groups=1) -> list[int]:
    """The next examples of the training stream, by number."""
    dataset = training_dataset(files, parse, batch, seed, start, context, groups)
    rows = itertools.chain.from_iterable(map(numbers, dataset))
    return list(itertools.islice(rows, examples))


def test_every_epoch_covers_every_record_once_in_an_order_of_its_own(files):
    seen = stream(files, 3 * TOTAL)
    epochs = [seen[begin : begin + TOTAL] for begin in range(0, 3 * TOTAL, TOTAL)]
    for epoch in epochs:
        assert sorted(epoch) == list(range(TOTAL))
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]


def test_one_file_has_another_order_in_every_epoch(files):
    one_file = RecordFiles(files.paths[2:3], files.counts[2:3], (False,))
    num_examples = one_file.num_examples
    seen = stream(one_file, 3 * num_examples)
    epochs = np.reshape(seen, [3, num_examples])
    assert {tuple(sorted(epoch)) for epoch in epochs} == {tuple(range(20, 40))}
    assert len({tuple(epoch) for epoch in epochs}) == 3


def test_the_order_follows_from_the_seed(files):
    expected = stream(files, TOTAL)
    assert stream(files, TOTAL) == expected
    try:
        tf.random.set_seed(7)
        assert stream(files, TOTAL) == expected
    finally:
        tf.random.set_seed(None)
    # Neighbouring seeds and epochs must not meet.
    first, second = stream(files, 2 * TOTAL, seed=1), stream(files, 2 * TOTAL, seed=2)
    orders = [
        tuple(seen[begin : begin + TOTAL]) for seen in (first, second) for begin in (0, TOTAL)
    ]
    assert len(set(orders)) == 4


@pytest.mark.parametrize("start", [4, 40, TOTAL, TOTAL + 9, 5 * TOTAL + 17])
def test_a_stream_goes_on_exactly_where_it_was_left(files, start):
    assert stream(files, 30, start=start) == stream(files, start + 30)[start:]


def test_the_global_batches_do_not_depend_on_replicas_and_hosts(files):
    expected = stream(files, 96, batch=8)
    for replicas in (2, 4):
        assert (
            stream(files, 96, batch=8, context=tf.distribute.InputContext(1, 0, replicas))
            == expected
        )
    for hosts, replicas in ((2, 2), (2, 4), (4, 4)):
        share = 8 // hosts
        streams = [
            np.array(
                stream(
                    files, 96 // hosts, 8, context=tf.distribute.InputContext(hosts, host, replicas)
                )
            )
            for host in range(hosts)
        ]
        assert np.hstack([part.reshape(-1, share) for part in streams]).ravel().tolist() == expected


def test_files_are_dealt_into_groups_of_about_the_same_size(files):
    dealt = files.deal(2)
    assert [group.counts for group in dealt] == [(20, 3), (7, 13)]
    assert sorted(path for group in dealt for path in group.paths) == sorted(files.paths)
    assert [group.gzipped for group in dealt] == [(False, True), (False, True)]
    assert [group.num_examples for group in files.deal(4)] == [20, 13, 7, 3]


@pytest.mark.parametrize("groups", [2, 4])
def test_batches_of_groups_do_not_depend_on_hosts(files, groups):
    expected = stream(files, 160, batch=8, groups=groups)
    for hosts, replicas in ((1, 2), (2, 2), (2, 4), (4, 4)):
        if groups % hosts == 0:
            streams = [
                np.array(
                    stream(
                        files,
                        160 // hosts,
                        8,
                        context=tf.distribute.InputContext(hosts, host, replicas),
                        groups=groups,
                    )
                )
                for host in range(hosts)
            ]
            assert (
                np.hstack([part.reshape(-1, 8 // hosts) for part in streams]).ravel().tolist()
                == expected
            )
    # Every record of a group is read once before any of it is read again.
    columns = np.reshape(expected, [-1, groups, 8 // groups])
    for number, group in enumerate(files.deal(groups)):
        seen = columns[:, number].ravel()[: group.num_examples]
        assert len(set(seen.tolist())) == min(group.num_examples, len(seen))
    for start in (16, 80):
        assert stream(files, 40, 8, start=start, groups=groups) == expected[start : start + 40]


def test_256_hosts_and_then_64_read_every_example_once(tmp_path):
    """The shares of processes that are not there: a step of the first 8 of 256, then one of the 2
    of 64 that read the same groups."""
    paths = [str(tmp_path / str(number)) for number in range(256)]
    files = RecordFiles(tuple(paths), (4,) * 256, (False,) * 256)
    dealt = files.deal(256)
    assert sorted(path for group in dealt for path in group.paths) == sorted(paths)
    number_of = {}
    for number, group in enumerate(dealt[:8]):
        (path,) = group.paths
        write_records(path, 4, 4 * number)
        for payload in records.read_records(path):
            number_of[payload] = len(number_of)
    seen = []
    for hosts, start, running in ((256, 0, 8), (64, 512, 2)):
        for host in range(running):
            context = tf.distribute.InputContext(hosts, host, hosts)
            dataset = training_dataset(files, raw, 512, 1, start, context, 256)
            seen += next(iter(dataset))["record"].numpy().tolist()
    assert sorted(number_of[payload] for payload in seen) == list(range(32))


def raw(serialized, passes):
    return {"record": serialized}


def test_a_host_reads_the_files_of_its_groups_only(files, tmp_path):
    dealt = files.deal(2)
    missing = RecordFiles(
        tuple(str(tmp_path / "gone") if path in dealt[1].paths else path for path in files.paths),
        files.counts,
        files.gzipped,
    )
    first = tf.distribute.InputContext(2, 0, 2)
    assert stream(missing, 30, 8, context=first, groups=2) == stream(
        files, 30, 8, context=first, groups=2
    )
    with pytest.raises(tf.errors.NotFoundError):
        stream(missing, 30, 8, context=first)


def test_what_is_written_is_read(files):
    expected = instances(COUNTS[0])
    dataset = evaluation_dataset(
        RecordFiles(files.paths[:1], COUNTS[:1], (False,)), parse, COUNTS[0], ONE
    )
    features = {name: value.numpy() for name, value in next(iter(dataset)).items()}
    np.testing.assert_array_equal(features.pop("is_real_example"), 1)
    assert set(features) == set(expected) == set(FEATURES)
    for name, value in expected.items():
        np.testing.assert_array_equal(features[name], value, err_msg=name)
    assert {value.dtype for value in features.values()} == {
        np.dtype(np.int32),
        np.dtype(np.float32),
    }


def test_the_feature_names_of_the_model_garden_are_translated():
    def ints(*values):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    example = tf.train.Example(
        features=tf.train.Features(
            feature={
                "input_word_ids": ints(5, 6),
                "input_mask": ints(1, 1),
                "input_type_ids": ints(0, 1),
                "masked_lm_positions": ints(1),
                "masked_lm_ids": ints(7),
                "masked_lm_weights": tf.train.Feature(float_list=tf.train.FloatList(value=[1.0])),
                "next_sentence_labels": ints(1),
            }
        )
    )
    features = parser(Schema(2, 1, v2_feature_names=True), BertConfig(vocab_size=8))(
        [example.SerializeToString()]
    )
    assert set(features) == set(FEATURES)
    np.testing.assert_array_equal(features["input_ids"], [[5, 6]])
    np.testing.assert_array_equal(features["segment_ids"], [[0, 1]])


@pytest.mark.parametrize(("hosts", "replicas"), [(1, 1), (1, 2), (2, 4)])
def test_evaluation_is_one_exact_pass(files, hosts, replicas):
    real, padded = [], 0
    for host in range(hosts):
        context = tf.distribute.InputContext(hosts, host, replicas)
        for batch in evaluation_dataset(files, parse, 8, context):
            is_real = batch["is_real_example"].numpy()
            assert is_real.shape == (8 // replicas,)
            real += np.array(numbers(batch))[is_real == 1].tolist()
            padded += np.sum(is_real == 0)
    assert sorted(real) == list(range(TOTAL))
    assert padded == -TOTAL % 8
    # It can be cut short.
    for batches, expected in ((3, 3), (100, -(-TOTAL // 8))):
        assert len(list(evaluation_dataset(files, parse, 8, ONE, batches))) == expected


@pytest.mark.parametrize("multiple", [None, 4])
@pytest.mark.parametrize(
    ("batch", "records", "sequences"), [(3, 10, 17), (32, 1000, 12_000), (5, 3, 3)]
)
def test_batches_of_packed_records_have_as_many_sequences_as_is_asked_for(
    batch, records, sequences, multiple
):
    sizes = BatchSizes.packed(batch, records, sequences, multiple)
    assert np.mean(sizes.sizes) * sequences / records == pytest.approx(batch, rel=0.002)
    assert max(sizes.sizes) - min(sizes.sizes) <= 1 and min(sizes.sizes) > 0
    assert sizes.largest % (multiple or 1) == 0 and max(sizes.sizes) <= sizes.largest < max(
        sizes.sizes
    ) + (multiple or 1)
    place, places = tf.constant(0, tf.int64), []
    for _ in range(600):
        place = sizes.after(place)
        places.append(int(place))
    np.testing.assert_array_equal(np.diff([0, *places]), (sizes.sizes * 3)[:600])


@pytest.mark.parametrize(("hosts", "replicas"), [(1, 1), (1, 4), (2, 4)])
@pytest.mark.parametrize("start_step", [0, 254])
def test_unequal_batches_of_groups(files, hosts, replicas, start_step):
    sizes = BatchSizes.packed(12, 10, 17, replicas if replicas > 1 else None, groups=2)
    assert not sizes.padded % (2 * replicas) and all(size % 2 == 0 for size in sizes.sizes)
    place = sizes.place(start_step)
    expected = stream(files, place + 60, 2, groups=2)[place:]
    counts, seen = [], []
    for host in range(hosts):
        dataset = training_dataset(
            files, parse, sizes, 1, place, tf.distribute.InputContext(hosts, host, replicas), 2
        )
        steps = itertools.islice(zip(*[iter(dataset)] * (replicas // hosts), strict=False), 6)
        real = [
            [
                number
                for batch in step
                for number, is_real in zip(
                    numbers(batch), batch["is_real_example"].numpy(), strict=True
                )
                if is_real
            ]
            for step in steps
        ]
        counts.append([len(numbers) for numbers in real])
        seen.append(real)
    assert np.sum(counts, axis=0).tolist() == list((sizes.sizes * 2)[start_step : start_step + 6])
    # The records of each group in their order, whatever the sizes.
    firsts = sum([step[: len(step) // (1 if hosts == 2 else 2)] for step in seen[0]], [])
    assert firsts == expected[::2][: len(firsts)]


@pytest.mark.parametrize("start_step", [0, 3, 254, 300])
@pytest.mark.parametrize("replicas", [1, 2])
def test_unequal_batches_resume_exactly_and_are_those_of_one_device(files, start_step, replicas):
    sizes = BatchSizes.packed(3, 10, 17, multiple=None if replicas == 1 else 2)
    place = int(sum((sizes.sizes * 2)[:start_step]))
    seen, counts = [], []
    expected = stream(files, place + 20)[place:]
    dataset = training_dataset(
        files, parse, sizes, 1, place, tf.distribute.InputContext(1, 0, replicas)
    )
    for batches in itertools.islice(zip(*[iter(dataset)] * replicas, strict=False), 8):
        real = [
            number
            for batch in batches
            for number, is_real in zip(
                numbers(batch),
                batch.get("is_real_example", tf.ones(len(batch["input_ids"]))).numpy(),
                strict=True,
            )
            if is_real
        ]
        seen += real
        counts.append(len(real))
    assert counts == list((sizes.sizes * 3)[start_step : start_step + 8])
    assert seen[:12] == expected[:12]


def test_the_end_of_an_iterator_waits_for_nothing(files):
    """The thread that adapts AUTOTUNE's numbers sleeps up to a minute at a time, and is waited
    for."""
    for dataset in (
        training_dataset(files, parse, 4, 1, 0, ONE),
        evaluation_dataset(files, parse, 4, ONE),
    ):
        assert dataset.options().autotune.enabled is False
