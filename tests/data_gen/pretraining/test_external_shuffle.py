"""The shuffle on disk is a sort by random keys, whatever the buckets and shards."""

import collections

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_gen.pretraining import external_shuffle
from data_gen.pretraining.external_shuffle import plan_parts

DTYPE = external_shuffle.row_type(4, 1000)


def write_runs(folder, sizes: list[int], seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Runs with random keys; the first token of a row is the number of its instance. Returns all
    keys in that order."""
    rng = np.random.default_rng(seed)
    runs, all_keys = [], [np.empty(0, np.uint64)]
    for number, size in enumerate(sizes):
        keys = np.sort(rng.integers(0, 2**64, size, dtype=np.uint64))
        rows = np.zeros(size, DTYPE)
        rows["input_ids"][:, 0] = sum(sizes[:number]) + np.arange(size)
        runs.append(str(folder / f"run-{number}"))
        external_shuffle.write_run(
            runs[-1],
            keys,
            np.array_split(rows, 3),
            {"counts": {}, "text_bytes": 1, "peak_bytes": 1},
        )
        all_keys.append(keys)
    return runs, np.concatenate(all_keys)


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 60), min_size=1, max_size=5),
    bits=st.integers(0, 5),
    shards=st.integers(1, 7),
)
def test_shards_are_the_sorted_instances_cut_evenly(tmp_path_factory, sizes, bits, shards):
    runs, keys = write_runs(tmp_path_factory.mktemp("runs"), sizes)
    plan = plan_parts(runs, bits, shards)
    counts = collections.Counter(int(key) >> 64 - bits for key in keys)
    found = []
    for number, parts in enumerate(plan):
        assert [(part.shard, part.number) for part in parts] == [
            (number, place) for place in range(len(parts))
        ]
        shard = []
        for part in parts:
            rows, order = external_shuffle.read_bucket(runs, part.bucket, bits, DTYPE)
            assert len(rows) == counts[part.bucket]
            shard += rows[order[part.first : part.last]]["input_ids"][:, 0].tolist()
        found.append(shard)
    assert sum(found, []) == np.argsort(keys, kind="stable").tolist()
    assert [len(shard) for shard in found] == [
        len(keys) // shards + (n < len(keys) % shards) for n in range(shards)
    ]


@pytest.mark.parametrize(
    "damage",
    [
        lambda run: (run.with_suffix(".json")).unlink(),
        lambda run: (run.with_suffix(".rows")).unlink(),
        lambda run: run.with_suffix(".rows").write_bytes(
            run.with_suffix(".rows").read_bytes()[:-1]
        ),
        lambda run: run.with_suffix(".rows").write_bytes(
            b"\1" + run.with_suffix(".rows").read_bytes()[1:]
        ),
        lambda run: run.with_suffix(".keys").write_bytes(b""),
        lambda run: run.with_suffix(".json").write_text("{"),
    ],
)
def test_an_incomplete_run_is_not_taken_for_complete(tmp_path, damage):
    (run,), _ = write_runs(tmp_path, [50])
    assert external_shuffle.read_complete_run(run)["instances"] == 50
    damage(tmp_path / "run-0")
    assert external_shuffle.read_complete_run(run) is None
