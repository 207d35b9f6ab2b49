"""Repeats once, alone and in a fresh process, the tests that failed in the last run, if all are
marked `processes`.

  python -m pytest … || python -m tests.again

What starts processes, kills or waits may fail where a machine holds it up; nothing else is given a
second chance.
"""

import json
import pathlib
import subprocess
import sys

_CACHE = pathlib.Path(".pytest_cache/v")


def main() -> int:
    failed = sorted(_cached("cache/lastfailed"))
    if not failed or _cached("promises/broken"):
        # Not a test, but the run has failed.
        return 1
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist"]
    listed = subprocess.run(
        [*pytest, "--collect-only", "-m", "processes", *failed],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()
    if others := [name for name in failed if name not in listed]:
        print(f"not repeated: {', '.join(others)} failed, which no busy machine explains")
        return 1
    print(f"repeated once: {', '.join(failed)}", flush=True)
    return subprocess.run([*pytest, "-m", "processes", *failed], check=False).returncode


def _cached(name: str) -> dict | list:
    """Returns what pytest keeps under a name, nothing if it keeps nothing."""
    path = _CACHE / name
    return json.loads(path.read_text("utf-8")) if path.exists() else []


if __name__ == "__main__":
    sys.exit(main())
