"""The scripts as commands of an installation: `bert-run-squad` is `python run_squad.py`, in any
directory; and commands that run others.

A wheel has the scripts in a folder beside this module, where pyproject.toml puts them, in
`data_gen` and in `extras` (`bert-search` is `python -m bert_tf.extras.search`); a checkout has the
first at its root.
"""

import functools
import os
import re
import runpy
import shlex
import signal
import subprocess
import sys

from bert_common import parallel
from bert_common.errors import UserError, say

_PREFIX = "bert-"
_PACKAGE = os.path.dirname(os.path.abspath(__file__))
# Folders of scripts, relative to this package.
_FOLDERS = ("scripts", "../data_gen", "..", "extras", "../vocab")
_SCRIPT = re.compile(r"python (?:(?:\w+/)*(\w+)\.py\b|-m bert_tf\.extras\.(\w+))")


def main() -> None:
    """Runs the script whose command this process is; its help shows commands, not scripts.

    Raises:
      FileNotFoundError: there is no such script.
    """
    command = os.path.basename(sys.argv[0]).removesuffix(".exe")
    # The script takes its name for messages from here.
    sys.argv[0] = path_of_script(command.removeprefix(_PREFIX).replace("-", "_") + ".py")
    runpy.run_path(sys.argv[0], {"translate_help": _with_commands}, run_name="__main__")


def path_of_script(script: str) -> str:
    """Returns the path of a script with this name."""
    # The folders of a wheel and of a checkout never both have the script.
    for folder in _FOLDERS:
        path = os.path.normpath(os.path.join(_PACKAGE, folder, script))
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(f"there is no {script}")


def show_command(script: str, *arguments: str) -> str:
    """Returns a command of the project as one types it, a flag per line.

    Args:
      script: path below the project, e.g. "data_gen/prepare_corpus.py".
    """
    if script.startswith("bert_tf/"):
        command = f"python -m {script.removesuffix('.py').replace('/', '.')}"
    else:
        command = f"python {script}"
    # An installation has no scripts.
    if os.path.isdir(os.path.join(_PACKAGE, _FOLDERS[0])):
        command = _with_commands(command)
    return " \\\n    ".join([command, *map(shlex.quote, arguments)])


def run_command(script: str, *arguments: str) -> None:
    """Prints a command and runs it, in a process of its own as a user does.

    SIGTERM and SIGHUP are passed on, and end this process when the command has ended. If this one
    is killed, the command is, too.

    Raises:
      UserError: it ended with another status than 0.
    """
    say(f"$ {show_command(script, *arguments)}\n")
    # Modules of the project that are run by their path import each other from its root.
    environment = dict(os.environ)
    root = os.path.dirname(_PACKAGE)
    environment["PYTHONPATH"] = f"{root}{os.pathsep}{environment.get('PYTHONPATH', root)}"
    path = path_of_script(os.path.basename(script))
    end_with_this = None
    if sys.platform == "linux":
        # A command that lived on would write where the next start of this one does.
        end_with_this = functools.partial(parallel.end_with_parent, os.getpid())
    process = subprocess.Popen(
        [sys.executable, "-P", path, *arguments], env=environment, preexec_fn=end_with_this
    )
    received = []

    def pass_on(number: int, frame: object) -> None:
        received.append(number)
        process.send_signal(number)

    old_handlers = {}
    for name in ("SIGTERM", "SIGHUP"):
        # Windows has no SIGHUP, and nohup ignores it.
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            old_handlers[number] = signal.signal(number, pass_on)
    try:
        status = process.wait()
    except KeyboardInterrupt:
        # The script has received the signal as well and may be saving.
        process.wait()
        raise
    finally:
        for number, handler in old_handlers.items():
            signal.signal(number, handler)
    if received:
        sys.exit(128 + received[0])
    if status:
        raise UserError(f"{script} ended with status {status}, its message is above")


def _with_commands(text: str) -> str:
    """Replaces `python SCRIPT.py` by the command of the script."""

    def command_of(match: re.Match) -> str:
        return _PREFIX + (match[1] or match[2]).replace("_", "-")

    return _SCRIPT.sub(command_of, text)
