import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.tasks.pretraining.data import (
    PretrainingRecords,
    check_all_records,
    mask_records,
    masker,
    parser,
)
from bert_tf.tasks.pretraining.graph_masking import mask_in_graph
from bert_tf.tasks.pretraining.options import PretrainingOptions
from bert_tf.training.inputs import RecordFiles, evaluation_dataset, training_dataset
from data_gen.pretraining.masking import (
    DEFAULT_RATIOS,
    Masking,
    MaskingRatios,
    predictions_of,
)
from data_gen.pretraining.record_writer import RecordWriter
from data_gen.pretraining.schema import MASK_FEATURES, Schema
from tests.bert_tf.training.common import TINY
from tests.bert_tf.training.packed import pack_features, sequences_of
from tests.data_gen.pretraining.packed_rows import split_row
from tests.refusals import assert_refused

WIDTH, PREDICTIONS, MASK = 40, 6, 4
RATIOS = MaskingRatios.parse(DEFAULT_RATIOS)
MASKING = Masking(PREDICTIONS, 0.15, RATIOS, TINY.vocab_size, MASK)
LENGTH = np.random.default_rng(3).integers(5, WIDTH + 1, 60)


def without_masks(packed: bool) -> tuple[Schema, dict[str, np.ndarray]]:
    features = sequences_of(LENGTH, WIDTH, PREDICTIONS, TINY.vocab_size)
    schema = Schema(WIDTH, PREDICTIONS)
    if packed:
        schema, features = pack_features(features, 5)
    schema = Schema(WIDTH, 0, schema.max_sequences_per_row)
    return schema, {name: features[name] for name in schema.features}


def masked(
    features: dict, passes: int = 0, seed: int = 1, masking: Masking = MASKING, first: int = 0
) -> dict:
    rows = len(features["input_ids"])
    found = mask_records(
        features, masking, seed, np.full(rows, passes), np.arange(first, first + rows)
    )
    return {**features, **dict(zip(("input_ids", *MASK_FEATURES), found, strict=True))}


def rows_of(features: dict) -> list[dict]:
    return [
        {name: value[row] for name, value in features.items()}
        for row in range(len(features["input_ids"]))
    ]


@pytest.mark.parametrize("packed", [False, True])
def test_the_rule(packed):
    schema, features = without_masks(packed)
    kinds = []
    for passes in range(40):
        found = masked(features, passes)
        for before, after in zip(rows_of(features), rows_of(found), strict=True):
            assert (
                Schema(WIDTH, PREDICTIONS, schema.max_sequences_per_row).find_fault(
                    {
                        name: value.astype(np.float32 if "weights" in name else np.int64)
                        for name, value in after.items()
                    },
                    TINY.vocab_size,
                    2,
                )
                is None
            )
            restored = after["input_ids"].copy()
            used = after["masked_lm_weights"] > 0
            places = after["masked_lm_positions"][used]
            kinds += np.where(
                restored[places] == MASK,
                0,
                np.where(restored[places] == before["input_ids"][places], 2, 1),
            ).tolist()
            restored[places] = after["masked_lm_ids"][used]
            np.testing.assert_array_equal(restored, before["input_ids"])
            for one in split_row(after):
                real = one["masked_lm_weights"] > 0
                length = int(one["input_mask"].sum())
                assert real.sum() == predictions_of(np.array([length]), 0.15, PREDICTIONS)[0]
                assert (
                    (one["masked_lm_positions"][real] > 0)
                    & (one["masked_lm_positions"][real] < length - 1)
                ).all()
    np.testing.assert_allclose(np.bincount(kinds) / len(kinds), [0.8, 0.1, 0.1], atol=0.015)


@pytest.mark.parametrize("packed", [False, True])
def test_masks_follow_from_seed_pass_and_record(packed):
    _, features = without_masks(packed)
    first = masked(features)
    again = masked({name: value[7:12] for name, value in features.items()}, first=7)
    for name in MASK_FEATURES:
        np.testing.assert_array_equal(again[name], first[name][7:12])
    for other in (masked(features, passes=1), masked(features, seed=2), masked(features, first=1)):
        assert (other["masked_lm_positions"] != first["masked_lm_positions"]).any(
            axis=1
        ).mean() > 0.8


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("words", [False, True])
def test_masks_of_tensorflow_operations_are_those_of_numpy(packed, words):
    _, features = without_masks(packed)
    rng = np.random.default_rng(9)
    rows = len(features["input_ids"])
    keys, passes = rng.integers(0, 1 << 62, rows), rng.integers(0, 1 << 40, rows)
    is_continuation = rng.random(TINY.vocab_size) < 0.4 if words else None
    inputs = {name: tf.constant(value, tf.int32) for name, value in features.items()}
    # 4.5 and 13.5 tokens of 30 are rounded to even numbers; rows are full with 3 predictions.
    for share, predictions in ((0.15, PREDICTIONS), (0.45, 3), (np.full(rows, 0.3), 50)):
        masking = dataclasses.replace(
            MASKING,
            masked_lm_prob=share,
            max_predictions_per_seq=predictions,
            is_continuation=is_continuation,
        )
        found = mask_in_graph(inputs, masking, share, 12345, tf.constant(passes), tf.constant(keys))
        expected = mask_records(features, masking, 12345, passes, keys)
        for name, value in zip(("input_ids", *MASK_FEATURES), expected, strict=True):
            assert found[name].dtype.as_numpy_dtype == value.dtype
            np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_a_row_never_has_more_predictions_than_fit():
    _, features = without_masks(packed=True)
    found = masked(features, masking=Masking(PREDICTIONS, 0.5, RATIOS, TINY.vocab_size, MASK))
    assert found["masked_lm_positions"].shape == (len(features["input_ids"]), PREDICTIONS)
    changed = found["input_ids"] != features["input_ids"]
    assert (changed.sum(1) <= found["masked_lm_weights"].sum(1)).all()


@pytest.fixture(params=[False, True], ids=["single", "packed"])
def unmasked_files(request, tmp_path):
    """A file of records without masks: its schema, its rows, itself."""
    schema, features = without_masks(request.param)
    rows = len(features["input_ids"])
    (tmp_path / "records").write_bytes(RecordWriter(schema, TINY.vocab_size).encode(features))
    return schema, rows, RecordFiles((str(tmp_path / "records"),), (rows,), (False,))


def test_in_the_input_pipeline(unmasked_files):
    """A run that resumes sees the same masks; every pass has others; an evaluation always has the
    same."""
    schema, rows, files = unmasked_files
    parse = parser(schema, TINY, masker(schema, MASKING, 1))
    one = tf.distribute.InputContext(1, 0, 1)

    def stream(start: int, batches: int) -> list[dict]:
        dataset = training_dataset(files, parse, 4, 1, start, one).take(batches)
        return [row for batch in dataset.as_numpy_iterator() for row in rows_of(batch)]

    whole = stream(0, 3 * rows // 4)
    for row, expected in zip(stream(rows + 4, 5), whole[rows + 4 :], strict=False):
        for name, value in expected.items():
            np.testing.assert_array_equal(row[name], value)
    passes = [
        {
            row["segment_ids"].tobytes() + row["input_mask"].tobytes(): row["masked_lm_positions"]
            for row in whole[number * rows : (number + 1) * rows]
        }
        for number in range(2)
    ]
    same = [
        np.array_equal(positions, passes[1][key])
        for key, positions in passes[0].items()
        if key in passes[1]
    ]
    assert np.mean(same) < 0.2
    evaluations = [
        [
            row
            for batch in evaluation_dataset(files, parse, 4, one).as_numpy_iterator()
            for row in rows_of(batch)
        ]
        for _ in range(2)
    ]
    for first, second in zip(*evaluations, strict=True):
        for name, value in first.items():
            np.testing.assert_array_equal(second[name], value)


@pytest.mark.parametrize("in_graph", [False, True])
def test_the_share_of_predictions_follows_the_step(unmasked_files, in_graph):
    """Of the batches of a step, wherever a run resumes and whichever host reads them; the last
    share in evaluations."""
    schema, rows, files = unmasked_files
    options = PretrainingOptions(masked_lm_prob=(0.4, 0.1), num_train_steps=10)
    masking = dataclasses.replace(MASKING, max_predictions_per_seq=WIDTH // 2)
    parse = parser(schema, TINY, masker(schema, masking, 1, options.masked_lm_probs, in_graph))
    one = tf.distribute.InputContext(1, 0, 1)

    def shares(batch: dict) -> list[tuple[int, int]]:
        return [
            (int(one["input_mask"].sum()), int(one["masked_lm_weights"].sum()))
            for row in rows_of(batch)
            for one in split_row(row | {"input_mask": row.get("sequence_ids", row["input_mask"])})
        ]

    def batches(step: int, context: tf.distribute.InputContext = one) -> list[dict]:
        dataset = training_dataset(files, parse, 4, 1, 4 * step, context, start_step=step)
        return list(dataset.take(12 - step).as_numpy_iterator())

    def expected(length: int, prob: float) -> int:
        return predictions_of(np.array([length]), prob, masking.max_predictions_per_seq)[0]

    whole = batches(0)
    for step, batch in enumerate(whole):
        assert all(
            count == expected(length, 0.4 + (0.1 - 0.4) * (min(step, 10) / 10))
            for length, count in shares(batch)
        )
    for batch, first in zip(batches(7), whole[7:], strict=True):
        np.testing.assert_array_equal(batch["masked_lm_positions"], first["masked_lm_positions"])
    halves = [batches(7, tf.distribute.InputContext(2, host, 2)) for host in range(2)]
    for first, left, right in zip(whole[7:], *halves, strict=True):
        np.testing.assert_array_equal(
            np.concatenate([left["input_ids"], right["input_ids"]]), first["input_ids"]
        )
    (evaluation,) = evaluation_dataset(files, parse, rows, one).as_numpy_iterator()
    assert all(count == expected(length, 0.1) for length, count in shares(evaluation))


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        (
            "next_sentence_positions",
            0,
            WIDTH + 7,
            f"contains {WIDTH + 7} among its next_sentence_positions",
        ),
        ("input_ids", 3, TINY.vocab_size, f"contains the token id {TINY.vocab_size}, but"),
    ],
)
def test_a_wrong_record_is_named(name, place, value, message, tmp_path):
    schema, features = without_masks(packed=True)
    features[name] = features[name].copy()
    features[name][-1, place] = value
    path, rows = str(tmp_path / "records"), len(features["input_ids"])
    (tmp_path / "records").write_bytes(RecordWriter(schema, 1 << 20).encode(features))
    files = RecordFiles((path,), (rows,), (False,))
    parse = parser(schema, TINY, masker(schema, MASKING, 1))
    with pytest.raises(tf.errors.InvalidArgumentError):
        list(evaluation_dataset(files, parse, 4, tf.distribute.InputContext(1, 0, 1)))
    assert_refused(
        lambda: check_all_records(PretrainingRecords(files, schema, "input_file"), TINY),
        f"--input_file: {path}: record {rows} {message}",
    )
