"""The scripts as commands of an installation: `bert-run-squad` is `python run_squad.py`, in any
directory.

A wheel has the scripts in a folder beside this module, where pyproject.toml puts them, in
`data_gen` and in `extras` (`bert-search` is `python -m bert_tf.extras.search`); a checkout has the
first at its root.
"""

import functools
import os
import re
import runpy
import sys

_PREFIX = "bert-"
_PACKAGE = os.path.dirname(os.path.abspath(__file__))
# Where scripts are, beside and below this package.
_FOLDERS = ("scripts", "..", "extras", "../data_gen", "../vocab")
_SCRIPT = re.compile(r"python (?:(?:\w+/)*(\w+)\.py\b|-m bert_tf\.extras\.(\w+))")


def main() -> None:
    """Runs the script whose command this process is; its help shows commands, not scripts.

    Raises:
      FileNotFoundError: there is none.
    """
    command = os.path.basename(sys.argv[0]).removesuffix(".exe")
    script = command.removeprefix(_PREFIX).replace("-", "_") + ".py"
    paths = [os.path.normpath(os.path.join(_PACKAGE, folder, script)) for folder in _FOLDERS]
    sys.argv[0] = next(filter(os.path.isfile, paths), "")
    if not sys.argv[0]:
        raise FileNotFoundError(f"there is no {script} for the command {command}")
    with_commands = functools.partial(
        _SCRIPT.sub, lambda found: _PREFIX + (found[1] or found[2]).replace("_", "-")
    )
    runpy.run_path(sys.argv[0], init_globals={"translate_help": with_commands}, run_name="__main__")
