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

_FAILED = pathlib.Path(".pytest_cache/v/cache/lastfailed")


def main() -> int:
    failed = sorted(json.loads(_FAILED.read_text("utf-8"))) if _FAILED.exists() else []
    if not failed:
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


if __name__ == "__main__":
    sys.exit(main())
