"""Messages of user errors: one line of readable length."""

import pytest

from bert_common.errors import UserError


@pytest.mark.parametrize(("message", "shown"), [
    ("two\nlines", "two lines"), ("a\r\x1b[31m\x85\u2028b", r"a\r\x1b[31m\x85\u2028b"),
    ("x" * 500, f"{'x' * 60}…{'x' * 60}"), ("word " * 500, f"{('word ' * 500)[:1200]}…")])
def test_a_message_is_one_line(message, shown):
  assert str(UserError(message)) == shown
