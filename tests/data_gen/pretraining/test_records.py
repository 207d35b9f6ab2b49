import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_common.errors import UserError
from data_gen.pretraining import records, schema
from data_gen.pretraining.record_writer import RecordWriter
from data_gen.pretraining.schema import Schema


@pytest.fixture(scope="module")
def original(golden) -> str:
    return str(golden / "pretraining_data" / "first50_len128_pred20.tfrecord")


@pytest.mark.golden
def test_reads_the_original(golden, original):
    with gzip.open(golden / "pretraining_data" / "first50_len128_pred20.jsonl.gz") as file:
        expected = [json.loads(line) for line in file]
    found = list(records.read_examples(original))
    assert len(found) == len(expected) == records.count_records(original) == 50
    for example, values in zip(found, expected, strict=True):
        assert set(example) == set(values)
        for name, value in values.items():
            np.testing.assert_array_equal(example[name], np.ravel(value))


@st.composite
def batches(draw):
    """Schema, size of the vocabulary, and features of a few records, of any size the format
    allows."""
    width = draw(st.integers(5, 300))
    sequences = draw(st.sampled_from([0, 0, 1, 7]))
    expected = Schema(width, draw(st.sampled_from([0, 1, 2, width - 3])), sequences)
    vocab_size = draw(st.sampled_from([5, 127, 128, 129, 16384, 16385, 30522, 250000, 3_000_000]))
    batch = draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    limits = expected.value_limits(vocab_size, 2)
    return (
        expected,
        vocab_size,
        {
            name: rng.integers(0, limits.get(name, 2), (batch, length)).astype(dtype)
            for name, (length, dtype) in expected.features.items()
        },
    )


@settings(max_examples=40, deadline=None)
@given(batches())
def test_tensorflow_and_this_reader_read_what_is_written(tmp_path_factory, batch):
    import tensorflow as tf

    expected, vocab_size, features = batch
    path = str(tmp_path_factory.mktemp("records") / "x.tfrecord")
    with open(path, "wb") as file:
        file.write(RecordWriter(expected, vocab_size).encode(features))
    serialized = [value.numpy() for value in tf.data.TFRecordDataset(path)]
    parsed = tf.io.parse_example(serialized, expected.parse_spec())
    ours = list(records.read_examples(path))
    assert records.inspect_first_record(path).schema == expected and set(ours[0]) == set(features)
    for name, values in features.items():
        np.testing.assert_array_equal(parsed[name].numpy(), values)
        stacked = np.stack([example[name] for example in ours])
        np.testing.assert_array_equal(stacked, values)
        assert stacked.dtype == expected.features[name][1]


@pytest.mark.parametrize("v2", [False, True])
def test_reads_examples_written_by_tensorflow(tmp_path, v2):
    import tensorflow as tf

    values = {
        "input_ids": [1, 2, 300, 70000, 0],
        "input_mask": [1, 1, 1, 1, 0],
        "segment_ids": [0, 0, 1, 1, 0],
        "masked_lm_positions": [2, 0],
        "masked_lm_ids": [80000, 0],
        "masked_lm_weights": [1.0, 0.0],
        "next_sentence_labels": [1],
    }

    def feature(name, value):
        if name == "masked_lm_weights":
            return tf.train.Feature(float_list=tf.train.FloatList(value=value))
        return tf.train.Feature(int64_list=tf.train.Int64List(value=value))

    example = tf.train.Example(
        features=tf.train.Features(
            feature={
                schema.V2_NAMES.get(name, name) if v2 else name: feature(name, value)
                for name, value in values.items()
            }
        )
    )
    path = str(tmp_path / "x.gz")
    with tf.io.TFRecordWriter(path, "GZIP") as writer:
        writer.write(example.SerializeToString())
    (found,) = records.read_examples(path)
    for name, value in values.items():
        np.testing.assert_array_equal(found[name], np.array(value, schema.FEATURES[name]))
    facts = records.inspect_first_record(path)
    assert facts.schema.v2_feature_names == v2 and facts.features["masked_lm_ids"].max() == 80000
    assert records.count_records(path) == 1
    parsed = tf.io.parse_example(
        [example.SerializeToString()], Schema(5, 2, v2_feature_names=v2).parse_spec()
    )
    assert set(parsed) == set(facts.schema.parse_spec())


def _damaged(original: str, change) -> bytes:
    with open(original, "rb") as file:
        return change(bytearray(file.read()))


def _flip(data: bytearray, position: int) -> bytearray:
    data[position] ^= 1
    return data


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"", "is empty"),
        (lambda data: data[:5], "ends inside record 1"),
        (lambda data: data[:500], "ends inside record 1"),
        (lambda data: gzip.compress(data)[:300], "damaged or cut off"),
        (lambda data: b"just some text, long enough", "not a TFRecord"),
        (lambda data: _flip(data, 100), "record 1 is damaged"),
        (lambda data: b"\x1f\x8b\x08 no gzip at all", "damaged or cut off"),
    ],
)
def test_names_what_is_broken(original, tmp_path, change, message):
    path = tmp_path / "broken.tfrecord"
    path.write_bytes(_damaged(original, change))
    with pytest.raises(UserError, match=message) as caught:
        records.inspect_first_record(str(path))
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_another_kind_of_record_is_named(tmp_path):
    import tensorflow as tf

    path = str(tmp_path / "x.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(
            tf.train.Example(
                features=tf.train.Features(
                    feature={
                        "label_ids": tf.train.Feature(int64_list=tf.train.Int64List(value=[1]))
                    }
                )
            ).SerializeToString()
        )
    with pytest.raises(UserError, match="has no feature .*input_mask.*it has: label_ids"):
        records.inspect_first_record(path)
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(b"\xff\xff no example")
    with pytest.raises(UserError, match="record 1 is not a serialized tf.train.Example"):
        records.inspect_first_record(path)


def _right() -> dict[str, np.ndarray]:
    values = {
        "input_ids": [2, 7, 3, 0],
        "input_mask": [1, 1, 1, 0],
        "segment_ids": [0, 0, 1, 0],
        "masked_lm_positions": [1, 0],
        "masked_lm_ids": [9, 0],
        "masked_lm_weights": [1, 0],
        "next_sentence_labels": [1],
    }
    return {name: np.array(value, schema.FEATURES[name]) for name, value in values.items()}


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("input_ids", [2, -7, 3, 0], "contains -7 among its input_ids, 0 to 9 are expected"),
        (
            "input_ids",
            [2, 10, 3, 0],
            "contains the token id 10, but vocab_size is 10 in the model's configuration",
        ),
        ("input_ids", [2, 7, 3], "was made with max_seq_length=3, but --max_seq_length is 4"),
        (
            "input_ids",
            np.array([2, 7, 3, 0], np.float32),
            "has input_ids that are no whole numbers",
        ),
        ("input_mask", [1, 1, 2, 0], "contains 2 among its input_mask, 0 to 1"),
        ("segment_ids", [0, 0, 5, 0], "contains the segment id 5, but type_vocab_size is 2"),
        ("masked_lm_positions", [4, 0], "contains 4 among its masked_lm_positions, 0 to 3"),
        ("masked_lm_positions", [1], "has 1 masked_lm_positions, 2 are expected"),
        ("masked_lm_ids", [-100, 0], "contains -100 among its masked_lm_ids"),
        (
            "masked_lm_weights",
            np.array([np.nan, 0], np.float32),
            "contains nan among its masked_lm_weights",
        ),
        (
            "masked_lm_weights",
            np.array([-1, 0], np.float32),
            "contains -1.0 among its masked_lm_weights",
        ),
        ("masked_lm_weights", [1, 0], "has masked_lm_weights that are no floats"),
        ("next_sentence_labels", [7], "contains 7 among its next_sentence_labels, 0 to 1"),
    ],
)
def test_what_a_record_holds_that_can_not_be(name, values, message):
    assert Schema(4, 2).find_fault(_right(), 10, 2) is None
    found = Schema(4, 2).find_fault(_right() | {name: np.asarray(values)}, 10, 2)
    assert found.startswith(message) and "\n" not in found


def test_bytes_that_are_no_example_are_refused_whatever_they_are(original):
    """Changed, cut and random bytes: an Example or a `ValueError`, nothing else."""
    rng = np.random.default_rng(3)
    payload = next(records.read_records(original))
    outcomes = set()
    for _ in range(2000):
        data = bytearray(
            payload[: rng.integers(1, len(payload) + 1)] if rng.random() < 0.5 else payload
        )
        for position in rng.integers(0, min(len(data), 60), rng.integers(1, 5)):
            data[position] = rng.integers(0, 256)
        try:
            records.parse_example(bytes(data))
            outcomes.add("read")
        except ValueError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def _right_row() -> dict[str, np.ndarray]:
    """Two sequences of 3 and 2 tokens in a row of 6."""
    return {
        "input_ids": np.array([2, 7, 3, 2, 3, 0]),
        "input_mask": np.array([1, 1, 1, 2, 2, 0]),
        "segment_ids": np.array([0, 0, 1, 0, 1, 0]),
        "masked_lm_positions": np.array([1, 4]),
        "masked_lm_ids": np.array([9, 8]),
        "masked_lm_weights": np.ones(2, np.float32),
        "next_sentence_positions": np.array([0, 3, 0]),
        "next_sentence_labels": np.array([1, 0, 0]),
        "next_sentence_weights": np.array([1, 1, 0], np.float32),
    }


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("input_mask", [1, 1, 1, 1, 2, 0]),
        ("input_mask", [1, 1, 1, 3, 3, 0]),
        ("input_mask", [0, 1, 1, 2, 2, 0]),
        ("input_mask", [1, 1, 0, 2, 2, 0]),
        ("input_mask", [2, 2, 2, 1, 1, 0]),
        ("input_mask", [0] * 6),
        ("next_sentence_positions", [0, 2, 0]),
        ("next_sentence_positions", [1, 3, 0]),
        ("next_sentence_weights", np.array([1, 0, 0], np.float32)),
    ],
)
def test_broken_sequence_numbers_of_a_row(name, values):
    schema_of_rows = Schema.of(_right_row())
    assert (
        schema_of_rows == Schema(6, 2, 3) and schema_of_rows.find_fault(_right_row(), 10, 2) is None
    )
    assert "broken sequence numbers" in schema_of_rows.find_fault(
        _right_row() | {name: np.asarray(values)}, 10, 2
    )


def test_rows_and_sequences_are_told_apart():
    assert Schema(6, 2).find_fault(_right_row(), 10, 2).startswith("is packed, others are unpacked")
    assert (
        Schema(4, 0)
        .find_fault(_right(), 10, 2)
        .startswith("is unpacked, others are unpacked, without masks")
    )


def _touch(folder, *names):
    for name in names:
        (folder / name).write_text("")


@pytest.mark.parametrize(
    "pattern",
    ["train*", "train.tfrecord*", "train.tfrecord*of*", "train.tfrecord-00000-of-00002,train*"],
)
def test_statistics_are_no_records_whatever_the_pattern(tmp_path, pattern):
    names = records.shard_names("train.tfrecord", 2)
    _touch(tmp_path, *names)
    (tmp_path / "train.tfrecord.stats.json").write_text("{}")
    patterns = ",".join(str(tmp_path / one) for one in pattern.split(","))
    assert records.find_records(patterns, "input_file") == [str(tmp_path / name) for name in names]


def test_statistics_alone_are_refused(tmp_path):
    _touch(tmp_path, "a.stats.json")
    with pytest.raises(UserError, match="--input_file: .*a.stats.json"):
        records.find_records(str(tmp_path / "a*"), "input_file")


def test_shards_of_fewer_instances_than_files(tmp_path):
    names = records.shard_names("t", 4)
    paths = [str(tmp_path / name) for name in names]
    _touch(tmp_path, *names)
    shards = [{"file": name, "bytes": 0, "rows": 0} for name in names]
    shards[1] = {"file": names[1], "bytes": 3, "rows": 1}
    # Its records were lost: nothing is left out then.
    shards[2] = {"file": names[2], "bytes": 3, "rows": 1}
    (tmp_path / names[1]).write_text("abc")
    (tmp_path / "t.stats.json").write_text(json.dumps({"shards": shards}))
    assert records.find_records(str(tmp_path / "t-*"), "input_file") == paths[1:3]
    # A file that is named alone is refused when it is read.
    assert records.find_records(paths[3], "input_file") == [paths[3]]
    # Another program's records may have replaced a shard.
    (tmp_path / names[3]).write_text("other records")
    assert records.find_records(str(tmp_path / "t-*"), "input_file") == paths[1:]


def test_two_sets_of_a_name_are_refused(tmp_path):
    _touch(
        tmp_path,
        *records.shard_names("t", 4),
        *records.shard_names("t", 2),
        *records.shard_names("u", 3),
    )
    with pytest.raises(
        UserError,
        match=r"matches files of two sets, .*/t-\*-of-0000[24] and .*/t-\*-of-0000[24]: name",
    ):
        records.find_records(str(tmp_path / "t*of*"), "input_file")
    assert len(records.find_records(f"{tmp_path}/t*of-00004,{tmp_path}/u*", "input_file")) == 7


def test_statistics_tell_how_many_records_there_are_of_a_file_of_that_size(tmp_path):
    names = records.shard_names("t", 3)
    paths = [str(tmp_path / name) for name in names]
    for path, text in zip(paths, ("12345", "1234567", ""), strict=True):
        with open(path, "w") as file:
            file.write(text)
    shards = [
        {"file": name, "bytes": size, "rows": size * 10}
        for name, size in zip(names, (5, 6, 0), strict=True)
    ]
    (tmp_path / "t.stats.json").write_text(json.dumps({"shards": shards}))
    assert records.stated_counts(paths) == [50, None, 0]
    # Those of earlier versions have no sizes.
    for wrong in (
        [{"file": names[0], "rows": 50}],
        [{"file": names[0], "bytes": 5}],
        ["t"],
        7,
        None,
    ):
        (tmp_path / "t.stats.json").write_text(json.dumps({"shards": wrong}))
        assert records.stated_counts(paths) == [None] * 3
