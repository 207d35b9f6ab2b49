"""The history of the benchmarks, a line of JSON for each table of a run, and its table in the docs.

  python -m benchmarks.history        # rewrites the table in docs/results.md

A benchmark appends to benchmarks/history.jsonl where it is given --history. The page has the last
line of every benchmark and setting.
"""

import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
from collections.abc import Iterable, Mapping, Sequence

from bert_common import json_files
from bert_common.options import Options, option, option_class

_PROJECT = pathlib.Path(__file__).resolve().parent.parent
_HISTORY = _PROJECT / "benchmarks/history.jsonl"
_PAGE = _PROJECT / "docs/results.md"
# Fields of a line and their types; a program's ratio is above 1 where `program` is faster than it.
FIELDS = {
    "benchmark": str,
    "setting": str,
    "program": str,
    "faster_by": dict,
    "commit": str,
    "modified": bool,
    "date": str,
    "cpu": str,
    "cores": int,
    "versions": dict,
}
# Packages whose versions are noted where they are installed.
_PACKAGES = (
    "numpy",
    "tensorflow",
    "keras",
    "tf-models-official",
    "keras-hub",
    "torch",
    "transformers",
    "tokenizers",
    "nanotoken",
)
# Lines that are appended change no program.
_CODE = (".", ":(exclude)benchmarks/history.jsonl")
_BEGIN = "<!-- The table of benchmarks/history.jsonl begins. -->\n\n"
_END = "\n<!-- It ends. -->\n"


@option_class
class HistoryOptions(Options):
    """History."""

    history: bool = option(False, "Append the ratios to benchmarks/history.jsonl.")

    def record(
        self,
        benchmark: str,
        setting: str,
        seconds: Mapping[str, Sequence[float]],
    ) -> None:
        """Appends a line where --history asks for it and there is something to compare.

        Args:
          setting: sizes and data.
          seconds: seconds of each turn, by program; the first is compared with the others.
        """
        if self.history and len(seconds) > 1:
            line = json.dumps(_line(benchmark, setting, seconds), ensure_ascii=False)
            with open(_HISTORY, "a", encoding="utf-8") as file:
                file.write(line + "\n")


def read(path: pathlib.Path = _HISTORY) -> list[dict]:
    """Returns the lines of a history, the oldest first; raises `UserError` for a wrong one."""
    return json_files.read_objects(str(path), FIELDS)


def table(lines: Iterable[dict]) -> str:
    """Returns the last line of each benchmark and setting as a table of Markdown."""
    last = {(line["benchmark"], line["setting"]): line for line in lines}
    rows = [
        "| benchmark | program | times as fast as | date, commit | machine |",
        "|---|---|---|---|---|",
    ]
    for (benchmark, setting), line in sorted(last.items()):
        ratios = [f"{name} {ratio:.2f}×" for name, ratio in line["faster_by"].items()]
        cells = [
            f"{benchmark}: {setting}",
            line["program"],
            "; ".join(ratios),
            f"{line['date']}, {line['commit'][:8]}",
            f"{line['cpu']}, {line['cores']} cores",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def with_table(page: str, lines: Iterable[dict]) -> str:
    """Returns the page with today's table between its marks."""
    before, rest = page.split(_BEGIN)
    _, after = rest.split(_END)
    return before + _BEGIN + table(lines) + _END + after


def _line(
    benchmark: str, setting: str, seconds: Mapping[str, Sequence[float]]
) -> dict[str, object]:
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    program, *rivals = seconds
    faster_by = {}
    for name in rivals:
        ratio = statistics.median(seconds[name]) / statistics.median(seconds[program])
        faster_by[name] = round(ratio, 3)
    return {
        "benchmark": benchmark,
        "setting": setting,
        "program": program,
        "faster_by": faster_by,
        "commit": _git("rev-parse", "HEAD"),
        "modified": bool(_git("status", "--porcelain", "--untracked-files=no", "--", *_CODE)),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "versions": versions,
    }


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(_PROJECT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _cpu_name() -> str:
    # The benchmarks need Linux; some of its processors have no such line.
    processors = pathlib.Path("/proc/cpuinfo").read_text("utf-8")
    match = re.search(r"^model name\s*: (.*)$", processors, re.MULTILINE)
    return match[1] if match else platform.machine()


if __name__ == "__main__":
    _PAGE.write_text(with_table(_PAGE.read_text("utf-8"), read()), "utf-8")
