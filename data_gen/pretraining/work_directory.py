"""The directory in which `generation.py` works: out of the way until all is done.

For an output `records.tfrecord` it is `.records.tfrecord.partial` beside it, and holds
`manifest.json` (what is being made), `run-*` and `part-*` (finished work), and `shard-*` (parts put
together). A part's `.json` stays when its bytes have moved into the shard, so that at any moment it
is known how many bytes of a shard are good.
"""

import contextlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence

from bert_common import files, json_files, locks
from bert_common.errors import UserError
from data_gen.pretraining.external_shuffle import ShardPart, disk_errors, read_facts

_SYNC_EVERY_BYTES = 64 << 20
# What is in a work directory: nothing else is ever removed. "lock" and "outcome" are of earlier
# versions.
_OWN = re.compile(
    r"lock|manifest\.json|\.manifest\.json\.\S+\.tmp|(run|part|shard|text)-\d+[-.\w]*|outcome-[-.\w]+"
)


class WorkDirectory:
    """A context that holds the directory locked, and removes it after `publish`.

    Attributes:
      resumed: an earlier run's work is there and to be used.
      keep: finished work stays at the end of the context; else the directory is removed with all
        that is in it.
      shard_sizes: number of a shard → bytes of the parts that `append_part` has moved there.
    """

    def __init__(self, output_file: str, identity: dict, resume: bool):
        """The directory for the first output; to resume, `identity`, what is being made as JSON,
        must be the same.

        Entering it raises `UserError` where it is to be resumed and was made with other settings,
        is not and has finished work in it, or another process is at it.
        """
        folder, name = os.path.split(os.path.abspath(output_file))
        self.path = os.path.join(folder, f".{name}.partial")
        self.resumed = False
        self._identity = json.loads(json.dumps(identity))
        self._resume = resume
        self._lock = contextlib.ExitStack()
        self.keep = True
        self.shard_sizes: dict[int, int] = {}

    def __enter__(self) -> "WorkDirectory":
        with files.user_error(f"--output_file: can't write in {os.path.dirname(self.path)}"):
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.path)
            if os.path.islink(self.path) or not os.path.isdir(self.path):
                raise UserError(
                    f"--output_file: {self.path}, where the work is to be done, is there and is no directory: move "
                    "it away, or choose another output"
                )
            self._lock.enter_context(
                locks.directory_lock(
                    self.path,
                    f"another process is writing this output (it holds {self.path}): wait for it, or stop it",
                )
            )
        # Closed where what follows fails.
        with contextlib.ExitStack() as held:
            held.push(self._lock)
            manifest = os.path.join(self.path, "manifest.json")
            self.resumed = self._resume and os.path.exists(manifest)
            if self.resumed:
                found = json_files.read_object(manifest)
                for name in sorted(self._identity.keys() | found.keys()):
                    if self._identity.get(name) != found.get(name):
                        what = (
                            "another corpus (or it has changed)"
                            if name == "input_file"
                            else f"another --{name}"
                        )
                        raise UserError(
                            f"--resume: the work in {self.path} was begun with {what}: give the same flags, or delete "
                            "that directory to start again"
                        )
                self._clear(lambda name: name.startswith("outcome-") or name.endswith(".tmp"))
            elif os.path.exists(manifest) and self._has_finished_work():
                raise UserError(
                    f"an interrupted run has left finished work in {self.path}: give --resume to continue it, or "
                    "delete that directory to start again"
                )
            else:
                self._clear()
                json_files.write(manifest, self._identity)
            held.pop_all()
        return self

    def __exit__(self, kind, error, trace) -> None:
        if not self.keep or not self._has_finished_work():
            self._clear()
            # Another machine, which has not heard of the end yet, may write; the next command
            # removes that.
            with contextlib.suppress(OSError):
                os.rmdir(self.path)
        elif error:
            print(
                f"What is finished is kept in {self.path}; the same command with --resume continues it.",
                file=sys.stderr,
            )
        self._lock.close()

    def _has_finished_work(self) -> bool:
        return any(
            name.startswith("run-") and name.endswith(".json") for name in os.listdir(self.path)
        )

    def _clear(self, chosen: Callable[[str], bool] = lambda name: True) -> None:
        """Removes what a work directory has in it, and nothing else that somebody may have put
        there."""
        for entry in os.scandir(self.path):
            if (
                _OWN.fullmatch(entry.name)
                and chosen(entry.name)
                and not entry.is_dir(follow_symlinks=False)
            ):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(entry.path)

    def text_path(self, number: int) -> str:
        """Path for the text of an input file that is gzipped or not on a local disk."""
        return os.path.join(self.path, f"text-{number:05d}.txt")

    def run_path(self, number: int) -> str:
        """Name, without extension, of the run of a portion."""
        return os.path.join(self.path, f"run-{number:06d}")

    def part_path(self, part: ShardPart) -> str:
        """Name of the records of a part; its facts are in `….json`."""
        return os.path.join(self.path, f"part-{part.shard:05d}-{part.number:06d}")

    def _shard_path(self, shard: int) -> str:
        return os.path.join(self.path, f"shard-{shard:05d}")

    def read_part(self, part: ShardPart) -> dict | None:
        """Facts of a part that an earlier run has finished, or None."""
        facts = read_facts(self.part_path(part))
        if facts is None:
            return None
        with contextlib.suppress(FileNotFoundError):
            return facts if os.path.getsize(self.part_path(part)) == facts["bytes"] else None
        # The bytes have moved into the shard, or with it to its final place.
        return facts

    def check_shards(
        self, shards: Sequence[Sequence[ShardPart]], output_files: Sequence[str]
    ) -> None:
        """Forgets the parts of a shard that has lost bytes, as after a power failure; they will be
        made again."""
        for number, (parts, output) in enumerate(zip(shards, output_files, strict=True)):
            moved = [
                facts["bytes"]
                for part in parts
                if not os.path.exists(path := self.part_path(part)) and (facts := read_facts(path))
            ]
            shard = self._shard_path(number)
            holder = shard if os.path.exists(shard) else output
            if moved and not (os.path.exists(holder) and os.path.getsize(holder) >= sum(moved)):
                for part in parts:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(f"{self.part_path(part)}.json")

    def append_part(self, part: ShardPart, facts: dict) -> None:
        """Moves the bytes of a part after those of the parts before it; does nothing if they are
        there."""
        path, shard = self.part_path(part), self._shard_path(part.shard)
        before = self.shard_sizes.get(part.shard, 0)
        self.shard_sizes[part.shard] = before + facts["bytes"]
        if not os.path.exists(path):
            return
        with disk_errors(path):
            if before == 0:
                os.replace(path, shard)
                return
            with open(path, "rb") as source, open(shard, "r+b") as target:
                # An interrupted call may have copied a part.
                target.truncate(before)
                target.seek(before)
                # Inside the kernel where it can: that is several times cheaper.
                if hasattr(os, "copy_file_range"):
                    with contextlib.suppress(OSError):
                        while os.copy_file_range(source.fileno(), target.fileno(), 1 << 30):
                            pass
                # The rest, or where the kernel can't, everything; the descriptors know how far it
                # got.
                for file in (source, target):
                    file.seek(os.lseek(file.fileno(), 0, os.SEEK_CUR))
                shutil.copyfileobj(source, target, 1 << 20)
                # While the workers work; else all of it would have to reach the disk at the end.
                if (before + facts["bytes"]) // _SYNC_EVERY_BYTES > before // _SYNC_EVERY_BYTES:
                    os.fsync(target.fileno())
            os.unlink(path)

    def publish(self, output_files: Sequence[str], stats_file: str, stats: dict) -> None:
        """Gives the shards their final names, replacing files of these names, and writes the
        statistics last."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(stats_file)
        for number, path in enumerate(output_files):
            shard, size = self._shard_path(number), self.shard_sizes.get(number, 0)
            if os.path.exists(shard) or not size:
                with disk_errors(shard), open(shard, "ab") as file:
                    os.fsync(file.fileno())
                if os.stat(shard).st_dev == os.stat(os.path.dirname(os.path.abspath(path))).st_dev:
                    files.take_the_place_of(shard, path)
                else:
                    files.copy(shard, path)
                    os.unlink(shard)
            if os.path.getsize(path) != size:
                raise UserError(
                    f"{path} has lost bytes: is its file system seen alike by all machines? Remove it, then give "
                    "--resume"
                )
        json_files.write(stats_file, stats)
        self.keep = False
