"""Names of the flags of every script: the list that tests/test_flags.py freezes.

python -m tests.flags     # rewrites tests/flags.txt
"""

import pathlib
import runpy
import sys
from unittest import mock

from bert_common import cli
from bert_common.options import Options, declared_options
from tests.page_commands import PROJECT
from tests.test_scripts import SCRIPTS

LIST = pathlib.Path(__file__).with_name("flags.txt")


def options_of_script(script: str) -> type[Options]:
    """Returns the class of options that a script hands to `cli.run`."""
    path = str(PROJECT / script)
    with mock.patch.object(cli, "run") as run, mock.patch.object(sys, "argv", [path]):
        runpy.run_path(path, run_name="__main__")
    return run.call_args.args[0]


def all_flags() -> str:
    """Returns one line per flag: its name and aliases, then the scripts that have it."""
    scripts_by_flag: dict[str, list[str]] = {}
    for script in SCRIPTS:
        for option in declared_options(options_of_script(script)):
            for name in (option.name, *option.aliases):
                scripts_by_flag.setdefault(name, []).append(script.removesuffix(".py"))
    lines = [f"{name}: {' '.join(scripts)}\n" for name, scripts in sorted(scripts_by_flag.items())]
    return "".join(lines)


if __name__ == "__main__":
    LIST.write_text(all_flags(), "utf-8")
