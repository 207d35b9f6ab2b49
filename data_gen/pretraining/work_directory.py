"""The work directory of `generation.py`, which contains everything until all records are complete.

For an output `records.tfrecord` it is `.records.tfrecord.partial` beside it, for one of four
machines (`--part=1/4`) `.records.tfrecord.1-of-4.partial`. It contains `manifest.json` (the job),
`scan-*` (where the blocks of a file are), `run-*` and `part-*` (finished work), and `shard-*`
(concatenated parts); of a share also `prepared.json` and `written.json`, which mark the ends of its
steps. A part's `.json` stays when
its bytes have moved into the shard, so that the number of valid bytes of a shard is known at any
moment.
"""

import contextlib
import dataclasses
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence

from bert_common import files, json_files, locks
from bert_common.errors import UserError, say
from data_gen.pretraining.corpus import Block, Corpus
from data_gen.pretraining.external_shuffle import (
    ShardPart,
    disk_errors,
    read_facts,
    sealed,
    write_facts,
)

# Steps of a share (--part).
PREPARED, WRITTEN = "prepared", "written"
_SYNC_EVERY_BYTES = 64 << 20
# Names in a work directory: nothing else is ever removed. Earlier versions wrote "lock" and
# "outcome".
_OWN_NAME = re.compile(
    r"lock|(manifest|prepared|written)\.json|\.(manifest|prepared|written)\.json\.\S+\.tmp|"
    r"(run|part|scan|shard|text)-\d+[-.\w]*|outcome-[-.\w]+"
)


def _is_leftover(name: str) -> bool:
    """Whether a file is useless for resuming: temporary, or of an earlier version."""
    return name.startswith("outcome-") or name.endswith(".tmp")


class WorkDirectory:
    """A context that locks the directory, and removes it after `finish`.

    Attributes:
      resumed: the work of an earlier run is used.
      keep: finished work stays at the end of the context; else the directory is removed with its
        contents.
      shard_sizes: number of a shard → bytes of the parts that `append_part` has moved there.
    """

    def __init__(self, output_file: str, identity: dict, resume: bool, share: str = ""):
        """Makes a context for the directory of the first output.

        Entering it raises `UserError` if work of other settings is to be resumed, if finished work
        would be lost, or if another process holds the directory.

        Args:
          identity: all that the records depend on, for JSON; --resume compares it.
          share: name of the share of the work that one of several machines has, e.g. "1-of-4"; each
            has a directory of its own.
        """
        folder, name = os.path.split(os.path.abspath(output_file))
        if share:
            name += f".{share}"
        self.path = os.path.join(folder, f".{name}.partial")
        self.resumed = False
        self._identity = json.loads(json.dumps(identity))
        self._resume = resume
        # What the user gives to continue the work.
        self._flag = "--part" if share else "--resume"
        self._lock = contextlib.ExitStack()
        self.keep = True
        self.shard_sizes: dict[int, int] = {}

    def __enter__(self) -> "WorkDirectory":
        with files.user_error(f"--output_file: can't write in {os.path.dirname(self.path)}"):
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.path)
            if os.path.islink(self.path) or not os.path.isdir(self.path):
                raise UserError(
                    f"--output_file: {self.path}, the work directory, exists and is no directory: "
                    "move it away, or choose another output"
                )
            busy = (
                f"another process is writing this output (it holds {self.path}): wait for it, or "
                "stop it"
            )
            self._lock.enter_context(locks.directory_lock(self.path, busy))
        # The lock is released if one of the checks fails.
        with contextlib.ExitStack() as on_error:
            on_error.push(self._lock)
            self._prepare()
            on_error.pop_all()
        return self

    def _prepare(self) -> None:
        """Resumes earlier work or begins new work in the locked directory."""
        manifest = os.path.join(self.path, "manifest.json")
        self.resumed = self._resume and os.path.exists(manifest)
        if self.resumed:
            self.check_same()
            self._clear(_is_leftover)
            return
        if os.path.exists(manifest) and self._has_finished_work():
            raise UserError(
                f"an interrupted run has left finished work in {self.path}: give --resume to "
                "continue it, or delete that directory to start again"
            )
        self._clear()
        json_files.write(manifest, self._identity)

    def check_same(self) -> None:
        """Raises `UserError` if the work was begun with other settings or another corpus."""
        manifest = os.path.join(self.path, "manifest.json")
        if not os.path.exists(manifest):
            raise UserError(
                f"{self._flag}: the work in {self.path} has lost its manifest.json: delete that "
                "directory to start again"
            )
        recorded = json_files.read_object(manifest)
        for name in sorted(self._identity.keys() | recorded.keys()):
            if self._identity.get(name) != recorded.get(name):
                if name == "input_file":
                    difference = "another corpus (or it has changed)"
                else:
                    difference = f"another --{name}"
                raise UserError(
                    f"{self._flag}: the work in {self.path} was begun with {difference}: give the "
                    "same flags, or delete that directory to start again"
                )

    def __exit__(self, kind, error, trace) -> None:
        with self._lock:
            # The directory may have been moved, and another one may lie in its place.
            locks.check_held()
            self._leave(error)

    def _leave(self, error: BaseException | None) -> None:
        """Removes the directory, or says that finished work stays in it."""
        if not self.keep or not self._has_finished_work():
            self._clear()
            # Somebody may have put other files there, which must stay.
            with contextlib.suppress(OSError):
                os.rmdir(self.path)
        elif error:
            say(
                f"Finished work is kept in {self.path}; the same command with {self._flag} "
                "continues it.",
                file=sys.stderr,
            )

    def _has_finished_work(self) -> bool:
        return any(
            name.endswith(".json") and name.startswith(("run-", "prepared"))
            for name in os.listdir(self.path)
        )

    def _clear(self, is_removed: Callable[[str], bool] | None = None) -> None:
        """Removes the files of a work directory, all or those whose names are selected."""
        for entry in os.scandir(self.path):
            if not _OWN_NAME.fullmatch(entry.name) or entry.is_dir(follow_symlinks=False):
                continue
            if is_removed is None or is_removed(entry.name):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(entry.path)

    def text_path(self, number: int) -> str:
        """Returns the path for the copy of a gzipped or remote input file."""
        return os.path.join(self.path, f"text-{number:05d}.txt")

    def _scan_path(self, number: int) -> str:
        return os.path.join(self.path, f"scan-{number:05d}")

    def write_scan(self, number: int, source: list, text: Corpus) -> None:
        """Notes the blocks of an input file, for machines that share the work.

        Args:
          source: all that the blocks follow from, for JSON.
        """
        blocks = []
        for block in text.blocks:
            # Each machine has its own path to a copy of the text.
            blocks.append(dataclasses.astuple(dataclasses.replace(block, path="")))
        facts = {
            "source": source,
            "size": text.size,
            "portion_size": text.portion_size,
            "nul_bytes": text.nul_bytes,
            "blocks": blocks,
        }
        with disk_errors(self.path):
            write_facts(self._scan_path(number), facts)

    def read_scan(self, number: int, source: list, path: str) -> Corpus | None:
        """Returns what `write_scan` noted about the text at `path`; None if it is of another source
        or not there."""
        facts = read_facts(self._scan_path(number))
        if facts is None or facts["source"] != source:
            return None
        blocks = []
        for block in facts["blocks"]:
            blocks.append(dataclasses.replace(Block(*block), path=path))
        return Corpus(blocks, facts["size"], facts["portion_size"], facts["nul_bytes"])

    def run_path(self, number: int) -> str:
        """Returns the path of the run of a portion, without extension."""
        return os.path.join(self.path, f"run-{number:06d}")

    def part_path(self, part: ShardPart) -> str:
        """Returns the path of the records of a part; its facts are in `….json`."""
        return os.path.join(self.path, f"part-{part.shard:05d}-{part.number:06d}")

    def _shard_path(self, shard: int) -> str:
        return os.path.join(self.path, f"shard-{shard:05d}")

    def read_part(self, part: ShardPart) -> dict | None:
        """Returns the facts of a part that an earlier run has finished, or None."""
        facts = read_facts(self.part_path(part))
        if facts is None:
            return None
        with contextlib.suppress(FileNotFoundError):
            return facts if os.path.getsize(self.part_path(part)) == facts["bytes"] else None
        # The bytes have moved into the shard, or with the shard to its final path.
        return facts

    def read_step(self, step: str) -> dict | None:
        """Returns the facts of a step, "prepared" or "written", of a share; None before its end."""
        return read_facts(os.path.join(self.path, step))

    def write_step(self, step: str, facts: dict) -> None:
        """Notes that a step of a share is complete; see `read_step`."""
        json_files.write(os.path.join(self.path, f"{step}.json"), sealed(facts))

    def leave_note(self, step: str, facts: dict) -> None:
        """Removes the texts of another share, and notes for its machine that a step is done."""
        self.write_step(step, facts)
        for name in os.listdir(self.path):
            if name.startswith("text-"):
                os.unlink(os.path.join(self.path, name))

    def remove(self) -> None:
        """Removes the directory of another share, unless a process holds it."""
        with contextlib.suppress(UserError, OSError):
            with locks.directory_lock(self.path, "in use"):
                self._clear()
            os.rmdir(self.path)

    def check_shards(
        self, shards: Mapping[int, Sequence[ShardPart]], output_files: Sequence[str]
    ) -> None:
        """Forgets the parts of a shard that has lost bytes, as after a power failure, or the facts
        of a part of it.

        They will be made again.

        Args:
          shards: number of a shard → its parts.
        """
        for number, parts in shards.items():
            moved_bytes = 0
            lacks_facts = False
            is_broken = False
            for part in parts:
                path = self.part_path(part)
                facts = read_facts(path)
                if facts is None:
                    lacks_facts = True
                elif not os.path.exists(path):
                    moved_bytes += facts["bytes"]
                    # Its place in the shard follows from the parts before it.
                    is_broken = is_broken or lacks_facts
            shard_bytes = 0
            # An output of earlier does not count beside an unfinished shard.
            for path in (output_files[number], self._shard_path(number)):
                if os.path.exists(path):
                    shard_bytes = os.path.getsize(path)
            if is_broken or shard_bytes < moved_bytes:
                for part in parts:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(f"{self.part_path(part)}.json")

    def append_part(self, part: ShardPart, facts: dict) -> None:
        """Moves the bytes of a part into its shard, unless they are there already."""
        path = self.part_path(part)
        shard = self._shard_path(part.shard)
        before = self.shard_sizes.get(part.shard, 0)
        self.shard_sizes[part.shard] = before + facts["bytes"]
        if not os.path.exists(path):
            return
        with disk_errors(path):
            if before == 0:
                os.replace(path, shard)
                return
            with open(path, "rb") as source, open(shard, "r+b") as target:
                # An interrupted call may have copied some of the bytes.
                target.truncate(before)
                target.seek(before)
                # Copying inside the kernel is several times cheaper, where the file system can.
                if hasattr(os, "copy_file_range"):
                    with contextlib.suppress(OSError):
                        while os.copy_file_range(source.fileno(), target.fileno(), 1 << 30):
                            pass
                # Copy the rest, or everything if the kernel can't; the descriptors have the
                # position at which it stopped.
                for file in (source, target):
                    file.seek(os.lseek(file.fileno(), 0, os.SEEK_CUR))
                shutil.copyfileobj(source, target, 1 << 20)
                # Sync now, while the workers work; else all bytes would have to reach the disk at
                # the end.
                if (before + facts["bytes"]) // _SYNC_EVERY_BYTES > before // _SYNC_EVERY_BYTES:
                    os.fsync(target.fileno())
            os.unlink(path)

    def publish(self, output_files: Mapping[int, str], stats_file: str) -> None:
        """Moves the shards to their final paths, number → path, and removes statistics of earlier
        ones."""
        locks.check_held()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(stats_file)
        for number, path in output_files.items():
            shard = self._shard_path(number)
            size = self.shard_sizes.get(number, 0)
            if os.path.exists(shard) or not size:
                with disk_errors(shard), open(shard, "ab") as file:
                    os.fsync(file.fileno())
                if os.stat(shard).st_dev == os.stat(os.path.dirname(os.path.abspath(path))).st_dev:
                    files.take_the_place_of(shard, path)
                else:
                    files.copy(shard, path)
                    os.unlink(shard)
            if os.path.getsize(path) != size:
                raise UserError(f"{path} has lost bytes: remove it, then give --resume")

    def finish(self, stats_file: str, stats: dict) -> None:
        """Writes the statistics of all records; the directory is removed afterwards."""
        json_files.write(stats_file, stats)
        self.keep = False


def all_prepared(shares: Sequence[WorkDirectory], part: str) -> list[dict]:
    """Returns the facts of all prepared shares.

    Args:
      part: the value of --part.

    Raises:
      UserError: one is not prepared, or was prepared with other settings.
    """
    prepared = facts_of(shares, PREPARED)
    for number, other in enumerate(shares, 1):
        if number not in prepared:
            raise UserError(
                f"--part={part} is prepared, --part={number}/{len(shares)} is not: prepare it by "
                "the same command, then write the output by this one"
            )
        other.check_same()
    return list(prepared.values())


def facts_of(shares: Sequence[WorkDirectory], step: str) -> dict[int, dict]:
    """Returns number, from 1, → facts of the shares that have ended a step."""
    ended = {}
    for number, other in enumerate(shares, 1):
        facts = other.read_step(step)
        if facts is not None:
            ended[number] = facts
    return ended
