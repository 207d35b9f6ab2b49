"""User errors."""


class UserError(Exception):
  """Something outside the program is wrong: a file, a line in it, a flag, a disk.

  The message is one line that says what is wrong, where and how to fix it. Scripts print it without a traceback and end
  with exit status 2 (`bert_tf/common/cli.py`). Everything else that is raised is a bug of ours.
  """


def in_one_line(error: Exception, longest: int = 300) -> str:
  """The message of a library's exception, as a part of one of ours."""
  return " ".join(str(getattr(error, "message", None) or error).split())[:longest]
