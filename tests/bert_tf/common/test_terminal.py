import io

import pytest

from bert_tf.common.terminal import RIGHT, painter


class Terminal(io.StringIO):

  def isatty(self):
    return True


def test_a_terminal_gets_colours(monkeypatch):
  monkeypatch.delenv("NO_COLOR", raising=False)
  monkeypatch.setenv("TERM", "xterm")
  assert painter(Terminal())("yes", RIGHT) == "\033[32myes\033[0m"


@pytest.mark.parametrize("variable, value", [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_nobody_gets_colours_who_does_not_want_them(monkeypatch, variable, value):
  monkeypatch.setenv(variable, value)
  assert painter(Terminal())("yes", RIGHT) == "yes"


def test_files_and_pipes_get_plain_text(monkeypatch):
  monkeypatch.delenv("NO_COLOR", raising=False)
  monkeypatch.setenv("TERM", "xterm")
  assert painter(io.StringIO())("yes", RIGHT) == "yes"
