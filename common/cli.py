"""How every script of the project starts and ends.

    if __name__ == "__main__":
      cli.run(main)

Exit status: 0 done (also: interrupted, saved, and can be resumed), 2 the user can mend it, 130 interrupted
with nothing to save, 1 a bug (with its traceback).
"""

import os
import sys
from collections.abc import Callable, Sequence

from absl import app, flags, logging

from common.errors import UserError


def run(main: Callable[[Sequence[str]], int | None]) -> None:
  """Parses the flags, calls `main(argv)` with what is left, and turns a `UserError` into one line and status 2."""
  # TensorFlow logs a dozen lines about the CPU and missing GPU drivers; what goes wrong is raised in Python anyway.
  os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
  app.run(lambda argv: _call(main, argv), flags_parser=_parse_flags)


def _call(main: Callable[[Sequence[str]], int | None], argv: Sequence[str]) -> int:
  try:
    return main(argv) or 0
  except UserError as error:
    return fail(error)
  except KeyboardInterrupt:
    print("interrupted", file=sys.stderr)
    return 130
  except BrokenPipeError:
    # The reader of our output has gone (`… | head`); the interpreter must not complain about it at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def fail(error: UserError) -> int:
  """Prints the error as the user sees it and returns the exit status."""
  print(f"error: {error}", file=sys.stderr, flush=True)
  return 2


def _parse_flags(argv: Sequence[str]) -> list[str]:
  """absl's own parser, with a wrong flag as one line and status 2."""
  try:
    rest = flags.FLAGS(argv)
    if not flags.FLAGS["verbosity"].present:
      # Orbit and Keras log a line for every inner loop.
      logging.set_verbosity(logging.WARNING)
    return rest
  except flags.Error as error:
    message = " ".join(str(error).split())
    raise SystemExit(fail(UserError(f"{message} (--help lists the flags)"))) from None


def refuse_arguments(argv: Sequence[str]) -> None:
  """For scripts that take flags only.

  Raises:
    UserError: a word was left over, usually because of a space around `=` or a shell glob without quotes.
  """
  if len(argv) > 1:
    raise UserError(f"unexpected argument {argv[1]!r}: values are given as --flag=value; quote patterns with *")


def require_flags(**values: object) -> None:
  """Refuses flags that were not given.

  Args:
    **values: flag name → its value; None and "" count as not given.

  Raises:
    UserError: names all the missing flags.
  """
  missing = [f"--{name}" for name, value in values.items() if value in (None, "")]
  if missing:
    raise UserError(f"{', '.join(missing)} must be given (--help explains)")


def effective_flags() -> dict[str, object]:
  """Name → value of every flag of the running script, its own and those it has adopted, given or default."""
  return {flag.name: flag.value
          for flag in sorted(flags.FLAGS.get_key_flags_for_module(sys.argv[0]), key=lambda flag: flag.name)}


def given_flags() -> set[str]:
  """Names of the flags that were on the command line."""
  return {name for name in flags.FLAGS if flags.FLAGS[name].present}
