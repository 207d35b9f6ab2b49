"""The scripts as commands of an installation: `bert-run-squad` is `python run_squad.py`, in any directory.

A wheel has the scripts in a folder beside this module, where pyproject.toml puts them, and in `data_gen`; a checkout
has them at its root.
"""

import os
import re
import runpy
import sys

_PREFIX = "bert-"
_PACKAGE = os.path.dirname(os.path.abspath(__file__))
# Where scripts are, beside and below this package.
_FOLDERS = ("scripts", "..", "../data_gen", "../vocab")
_SCRIPT = re.compile(r"python (?:\w+/)*(\w+)\.py\b")


def main() -> None:
  """Runs the script whose command this process is; its help shows commands, not scripts."""
  name = os.path.basename(sys.argv[0]).removesuffix(".exe")
  sys.argv[0] = script_path(name)
  runpy.run_path(sys.argv[0], init_globals={"translate_help": _with_commands}, run_name="__main__")


def script_path(command: str) -> str:
  """The script that a command runs.

  Raises:
    FileNotFoundError: there is none.
  """
  script = command.removeprefix(_PREFIX).replace("-", "_") + ".py"
  for folder in _FOLDERS:
    path = os.path.normpath(os.path.join(_PACKAGE, folder, script))
    if os.path.isfile(path):
      return path
  raise FileNotFoundError(f"there is no {script} for the command {command}")


def _with_commands(text: str) -> str:
  return _SCRIPT.sub(lambda found: _PREFIX + found[1].replace("_", "-"), text)
