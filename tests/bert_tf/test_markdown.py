"""What is shown of a text after it was Markdown, by the very functions that TensorBoard calls."""

import html
import re

import pytest
from hypothesis import example, given, settings, strategies
from tensorboard import plugin_util

from bert_tf.markdown import escape, table


def shown(markdown: str) -> str:
  """What a reader sees of it, without the tags."""
  rendered = plugin_util.markdown_to_safe_html(markdown)
  return html.unescape(re.sub(r"<[^>]*>", "", rendered)).strip()


@pytest.mark.parametrize("text", [
    "_", "*", "`", "``", "train.tfrecord*of*", "a_b_c", "| a | b |", "[a](http://b)", "![a](b)", "<script>x</script>",
    "# heading", "- item", "1. item", "> quote", "===", "---", "&amp;", "&#42;", "\\*", "[MASK]", "##s", "~~~",
    "```x```", "http://a.b/c_d_e", "<http://a.b>", "a@b.c", "[1]: x", "C:\\new\\_file"])
def test_texts_are_shown_as_they_are(text):
  rendered = plugin_util.markdown_to_safe_html(escape(text))
  assert re.findall("<.*?>", rendered) == ["<p>", "</p>"]
  assert shown(escape(text)) == text


@settings(max_examples=30, deadline=None)
@given(strategies.text(max_size=40))
@example("\x02wzxhzdk:0\x03")
@example("\x00\ud800")
def test_any_text(text):
  visible = " ".join("".join("\ufffd" if ord(c) in (*range(9), *range(14, 28), *range(127, 133), *range(134, 160),
                                                    *range(0xd800, 0xe000)) else c for c in text).split())
  assert " ".join(shown(escape(text)).split()) == visible


def test_tables_keep_their_cells():
  rows = [("a|b", "<td>"), ("*c*", 1.5), ("", "x" * 20)]
  rendered = plugin_util.markdown_to_safe_html(table(("one", "_"), rows))
  cells = [html.unescape(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", rendered)]
  assert cells == ["one", "_", "a|b", "<td>", "*c*", "1.5", "", "x" * 20]
