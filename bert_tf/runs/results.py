"""Results of many runs: each is kept in the run's directory, together with what it was made from.

  run_result.json   from when a run begins: version, sources, their digest; when it is complete also
  its metrics and
                    seconds, and whether it is degenerate

A result is believed only where its sources are today's: options, and digests without paths, so that
a directory can be moved. Used by `bert_tf/runs/sweep.py`.
"""

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping

from bert_common import json_files
from bert_common.errors import UserError

RESULT_FILE = "run_result.json"
# Of a selection: all its runs, and what is read of each.
SELECTION_FILE = "selection.json"
# Of the format. The first had no sources.
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
    """A run and what it was made from.

    Attributes:
      sources: name of an option or input → its value, or the digest of its content.
      metrics: by name; empty where the run writes them elsewhere.
      seconds: how long it took; None until it is complete.
      degenerate: whether it predicts the same for every example.
      details: of how it was carried out, for people.
    """

    sources: Mapping[str, object]
    metrics: Mapping[str, float] = dataclasses.field(default_factory=dict)
    seconds: float | None = None
    degenerate: bool = False
    details: Mapping[str, object] = dataclasses.field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        return self.seconds is not None


def read_result(directory: str, details: Mapping[str, object] | None = None) -> Result | None:
    """The result kept in a run's directory; None where none was begun there.

    `details` are the fields that its details must have, see `json_files.read_object`. Raises
    `UserError` where it can't be read, was edited, or is of another version.
    """
    path = os.path.join(directory, RESULT_FILE)
    found = json_files.read_object(path, _FIELDS)
    if not found:
        return None
    if found["version"] != VERSION:
        raise UserError(
            f"{path} is of version {found['version']} of the format, {VERSION} is expected: take another "
            "directory, or the program that wrote it"
        )
    if found["digest"] != digest(found["sources"]):
        raise UserError(
            f"{path}: 'digest' is not that of 'sources', which were edited: restore the file, or move "
            f"{directory} away"
        )
    json_files.check_object(found, {"details": details or {}}, path)
    return Result(
        found["sources"],
        found.get("metrics") or {},
        found.get("seconds"),
        bool(found.get("degenerate")),
        found["details"],
    )


def write_result(directory: str, result: Result) -> None:
    """Keeps a result in the run's directory, in place of an earlier one."""
    json_files.write(
        os.path.join(directory, RESULT_FILE),
        {"version": VERSION, "digest": digest(result.sources), **dataclasses.asdict(result)},
    )


def digest(value: object) -> str:
    """Digest of what JSON can hold; the order of keys is irrelevant."""
    return "sha256:" + hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def differences(found: Mapping[str, object], expected: Mapping[str, object]) -> list[str]:
    """In what two sets of sources differ, e.g. "learning_rate: 0.0001 → 5e-05", "corpus has other
    contents"."""
    return [
        f"{name} has other contents"
        if all(str(one.get(name)).startswith("sha256:") for one in (found, expected))
        else f"{name}: {found.get(name)} → {expected.get(name)}"
        for name in sorted({*found, *expected})
        if found.get(name) != expected.get(name)
    ]
