"""Results of the runs of a sweep, each in the run's directory.

  run_result.json   version, sources and their digest, from the beginning of a run; of a complete
                    run also its metrics, its seconds and whether it is degenerate

A result counts only if its sources, the options of the run, are today's. Used by
`bert_tf/runs/sweep.py`; `bert_tf/runs/provenance.py` compares the files that a run is made from.
"""

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping

from bert_common import json_files
from bert_common.errors import UserError
from modeling.checkpoints.companion_files import RESULT_FILE

# Version of the format. The first had no sources.
VERSION = 2
_FIELDS = {
    "version": int,
    "digest": str,
    "sources": dict,
    "metrics": dict[str, float] | None,
    "seconds": float | None,
    "degenerate": bool | None,
}


@dataclasses.dataclass(frozen=True)
class Result:
    """A run and its sources.

    Attributes:
      sources: name of an option → its value.
      metrics: name → value; empty until it is complete.
      seconds: how long it took; None until it is complete.
      degenerate: whether it predicts the same for every example.
    """

    sources: Mapping[str, object]
    metrics: Mapping[str, float] = dataclasses.field(default_factory=dict)
    seconds: float | None = None
    degenerate: bool = False

    @property
    def is_complete(self) -> bool:
        return self.seconds is not None


def read_result(directory: str) -> Result | None:
    """Returns the result in a run's directory; None if no run has begun there.

    Raises `UserError` if it can't be read, was edited, or has another version.
    """
    # A file that is missing is an empty object.
    path = os.path.join(directory, RESULT_FILE)
    content = json_files.read_object(path, _FIELDS)
    if not content:
        return None
    if content["version"] != VERSION:
        raise UserError(
            f"{path} is of version {content['version']} of the format, {VERSION} is expected: take "
            "another directory, or the program that wrote it"
        )
    # Edited options would make a result count that belongs to others.
    if content["digest"] != digest(content["sources"]):
        raise UserError(
            f"{path}: 'digest' is not that of 'sources', which were edited: restore the file, or "
            f"move {directory} away"
        )
    return Result(
        content["sources"],
        metrics=content.get("metrics") or {},
        seconds=content.get("seconds"),
        degenerate=bool(content.get("degenerate")),
    )


def write_result(directory: str, result: Result) -> None:
    """Writes a result into the run's directory, in place of an earlier one."""
    json_files.write(
        os.path.join(directory, RESULT_FILE),
        {"version": VERSION, "digest": digest(result.sources), **dataclasses.asdict(result)},
    )


def digest(value: object) -> str:
    """Returns the digest of a value that JSON can hold; the order of keys is irrelevant."""
    # The name of the algorithm allows another one later without a doubt about old records.
    return "sha256:" + hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def differences(sources: Mapping[str, object], expected: Mapping[str, object]) -> list[str]:
    """Returns the differences between two sets of sources.

    For example "learning_rate: 0.0001 → 5e-05".
    """
    changes = []
    # A name that one of them lacks has the value None.
    for name in sorted({*sources, *expected}):
        before = sources.get(name)
        after = expected.get(name)
        if before != after:
            changes.append(f"{name}: {before} → {after}")
    return changes
