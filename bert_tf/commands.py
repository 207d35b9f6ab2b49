"""The scripts as commands of an installation: `bert-run-squad` is `python run_squad.py`, in any
directory.

A wheel has the scripts in a folder beside this module, where pyproject.toml puts them, in
`data_gen` and in `extras` (`bert-search` is `python -m bert_tf.extras.search`); a checkout has the
first at its root.
"""

import os
import re
import runpy
import sys

_PREFIX = "bert-"
_PACKAGE = os.path.dirname(os.path.abspath(__file__))
# Folders of scripts, relative to this package.
_FOLDERS = ("scripts", "..", "extras", "../data_gen", "../vocab")
_SCRIPT = re.compile(r"python (?:(?:\w+/)*(\w+)\.py\b|-m bert_tf\.extras\.(\w+))")


def main() -> None:
    """Runs the script whose command this process is; its help shows commands, not scripts.

    Raises:
      FileNotFoundError: there is no such script.
    """
    command = os.path.basename(sys.argv[0]).removesuffix(".exe")
    script = command.removeprefix(_PREFIX).replace("-", "_") + ".py"
    # The folders of a wheel and of a checkout never both have the script.
    for folder in _FOLDERS:
        path = os.path.normpath(os.path.join(_PACKAGE, folder, script))
        if os.path.isfile(path):
            # The script takes its name for messages from here.
            sys.argv[0] = path
            runpy.run_path(path, {"translate_help": _with_commands}, run_name="__main__")
            return
    raise FileNotFoundError(f"there is no {script} for the command {command}")


def _with_commands(text: str) -> str:
    """Replaces `python SCRIPT.py` by the command of the script."""

    def command_of(match: re.Match) -> str:
        return _PREFIX + (match[1] or match[2]).replace("_", "-")

    return _SCRIPT.sub(command_of, text)
