"""A shuffle of more instances than fit into memory: a sort by random keys on disk.

Input: the instances of each portion of the corpus, as a *run*: a file of them sorted by random
64-bit keys. The key space is cut into *buckets* small enough for memory; reading one bucket out of
all runs and sorting it gives the next stretch of one uniformly random order of all instances. That
order is cut into equal shards. Output: the *parts*, the instances of one bucket for one shard each.
Nothing depends on the number of processes or on their speed.
"""

import contextlib
import dataclasses
import functools
import json
import math
import os
from collections.abc import Iterable, Sequence

import google_crc32c
import numpy as np

from bert_common import files, json_files, locks
from bert_common.errors import UserError

# Bytes of rows in a bucket. A small job has small buckets, so that all workers have something to
# do.
_TARGET_BUCKETS = 32
_SMALLEST_BUCKET = 2 << 20
_LARGEST_BUCKET = 48 << 20


def row_type(max_seq_length: int, vocab_size: int) -> np.dtype:
    """Returns the type of an instance in a run: its unmasked tokens, two lengths and the label."""
    token = np.uint16 if vocab_size <= 1 << 16 else np.uint32
    return np.dtype(
        [
            ("input_ids", token, (max_seq_length,)),
            # Rows are written and read again for every instance, so the types are as small as
            # possible.
            ("a_length", np.uint16),
            ("b_length", np.uint16),
            ("random_next", np.uint8),
        ]
    )


def write_run(path: str, keys: np.ndarray, batches: Iterable[np.ndarray], facts: dict) -> None:
    """Writes `path`.rows, `path`.keys and, last, `path`.json, which marks a complete run.

    Args:
      keys: uint64, sorted.
      batches: the rows, in the same order, some at a time.
      facts: content of the .json, see `read_facts`.
    """
    checksum = 0
    temporary = {kind: files.unshared_name(f"{path}.{kind}") for kind in ("rows", "keys")}
    with disk_errors(path):
        with open(temporary["rows"], "wb") as file:
            for batch in batches:
                # The checksum is computed while the rows pass by: a run is never in memory as a
                # whole.
                data = batch.tobytes()
                checksum = google_crc32c.extend(checksum, data)
                file.write(data)
            size = file.tell()
        with open(temporary["keys"], "wb") as file:
            file.write(keys.tobytes())
        for kind, name in temporary.items():
            os.replace(name, f"{path}.{kind}")
        complete_facts = dict(facts)
        # The sizes and the checksum reveal rows that a crash of the machine has cut off.
        complete_facts["rows_bytes"] = size
        complete_facts["rows_crc32c"] = checksum
        complete_facts["instances"] = len(keys)
        write_facts(path, complete_facts)


def write_facts(path: str, facts: dict) -> None:
    """Writes `path`.json in one step."""
    temporary = files.unshared_name(f"{path}.json")
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(sealed(facts), file)
    os.replace(temporary, f"{path}.json")


def sealed(facts: dict) -> dict:
    """Returns the content of a file of facts: them and their checksum."""
    return {"facts": facts, "crc32c": google_crc32c.value(json.dumps(facts).encode())}


def read_facts(path: str) -> dict | None:
    """Returns the facts of which `path`.json has the sealed form; None if they are missing or
    damaged."""
    with contextlib.suppress(UserError):
        content = json_files.read_object(f"{path}.json", {"facts": dict})
        if content and content == sealed(content["facts"]):
            return content["facts"]
    return None


def file_checksum(path: str) -> int:
    """Returns the CRC-32C of a file; after a crash it may have its full size and zeros in it."""
    checksum = 0
    with open(path, "rb") as file:
        for data in iter(functools.partial(file.read, 1 << 20), b""):
            checksum = google_crc32c.extend(checksum, data)
    return checksum


def read_complete_run(path: str) -> dict | None:
    """Returns the facts of a run that an earlier process left; None unless it is complete."""
    facts = read_facts(path)
    if facts is None:
        return None
    try:
        rows = os.path.getsize(f"{path}.rows"), file_checksum(f"{path}.rows")
        keys_size = os.path.getsize(f"{path}.keys")
    except FileNotFoundError:
        return None
    has_all_rows = rows == (facts["rows_bytes"], facts["rows_crc32c"])
    if has_all_rows and keys_size == 8 * facts["instances"]:
        return facts
    return None


def check_runs(runs: Sequence[str]) -> None:
    """Checks that runs, which other machines may have made, have all their bytes.

    Raises:
      UserError: names the first that has not.
    """
    for run in runs:
        facts = read_facts(run) or {}
        sizes = []
        with contextlib.suppress(FileNotFoundError):
            sizes = [os.path.getsize(f"{run}.{kind}") for kind in ("rows", "keys")]
        if sizes != [facts.get("rows_bytes"), 8 * facts.get("instances", 0)]:
            raise UserError(
                f"{run}.rows is damaged or missing: delete its directory, prepare that share "
                "again, and give this command again"
            )


def disk_errors(path: str) -> contextlib.AbstractContextManager[None]:
    """Turns an `OSError` of writing a file into a `UserError` with the remedy.

    Raises `UserError` if the work directory is no longer at its path.
    """
    # Forked workers share the lock of their parent.
    locks.check_held()
    return files.user_error(
        f"can't write in {files.parent_directory(path)}: free some space, then give --resume"
    )


@dataclasses.dataclass(frozen=True)
class ShardPart:
    """Instances of one bucket that go into one shard.

    Attributes:
      number: number of the part in the shard.
      first, last: the instances [first, last) of the bucket, in its sorted order.
    """

    shard: int
    number: int
    bucket: int
    first: int
    last: int


def choose_bucket_bits(runs: Sequence[str]) -> int:
    """Returns the binary logarithm of the number of buckets for the rows of these runs."""
    return bucket_bits_for(sum(os.path.getsize(f"{run}.rows") for run in runs))


def bucket_bits_for(rows_bytes: int) -> int:
    """Returns the binary logarithm of the number of buckets for so many bytes of rows."""
    size = min(max(rows_bytes // _TARGET_BUCKETS, _SMALLEST_BUCKET), _LARGEST_BUCKET)
    num_buckets = math.ceil(rows_bytes / size)
    # The number is rounded up to a power of two, so that a bucket is a range of the keys' leading
    # bits.
    return max(num_buckets - 1, 0).bit_length()


def plan_parts(runs: Sequence[str], bucket_bits: int, shards: int) -> list[list[ShardPart]]:
    """Returns the parts of each shard, see `plan_shards`."""
    # Shards are planned from the keys alone; the rows, many times larger, stay on disk.
    counts = np.zeros(1 << bucket_bits, np.int64)
    for run in runs:
        buckets = buckets_of(np.fromfile(f"{run}.keys", np.uint64), bucket_bits)
        counts += np.bincount(buckets, minlength=len(counts))
    return plan_shards(counts, shards)


def buckets_of(keys: np.ndarray, bucket_bits: int) -> np.ndarray:
    """Returns the bucket of each key, int64."""
    if not bucket_bits:
        # A shift by all 64 bits is undefined.
        return np.zeros(len(keys), np.int64)
    return (keys >> np.uint64(64 - bucket_bits)).astype(np.int64)


def plan_shards(counts: np.ndarray, shards: int) -> list[list[ShardPart]]:
    """Returns the parts of each shard.

    Shards differ by one instance at most, the larger ones come first.

    Args:
      counts: int64, number of instances of each bucket.
    """
    ends = np.cumsum(counts)
    total = int(ends[-1])
    plan: list[list[ShardPart]] = []
    begin = 0
    for shard in range(shards):
        # A bool counts as 1: the first shards take one of the remaining instances each.
        end = begin + total // shards + (shard < total % shards)
        parts: list[ShardPart] = []
        for bucket in range(int(np.searchsorted(ends, begin, side="right")), len(counts)):
            bucket_begin = int(ends[bucket] - counts[bucket])
            if bucket_begin >= end:
                break
            first = max(begin - bucket_begin, 0)
            last = min(end - bucket_begin, int(counts[bucket]))
            if first < last:
                parts.append(ShardPart(shard, len(parts), bucket, first, last))
        plan.append(parts)
        begin = end
    return plan


def read_bucket(
    runs: Sequence[str], bucket: int, bucket_bits: int, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """Reads a bucket.

    Returns:
      (rows, order): rows[order] is sorted by key.
    """
    first = bucket << (64 - bucket_bits)
    # The bound is inclusive, because the exclusive one of the last bucket, 2**64, is no uint64.
    last = first + (1 << (64 - bucket_bits)) - 1
    keys = []
    rows = []
    for run in runs:
        if not os.path.getsize(f"{run}.keys"):
            continue
        # The search touches only a few pages of the mapped file.
        run_keys = np.memmap(f"{run}.keys", np.uint64, "r")
        begin = int(np.searchsorted(run_keys, np.uint64(first), side="left"))
        end = int(np.searchsorted(run_keys, np.uint64(last), side="right"))
        keys.append(np.array(run_keys[begin:end]))
        rows.append(np.fromfile(f"{run}.rows", dtype, end - begin, offset=begin * dtype.itemsize))
    # Rows are not sorted here: callers take a few through the order, without another copy.
    return np.concatenate(rows), np.argsort(np.concatenate(keys), kind="stable")
