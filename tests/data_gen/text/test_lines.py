import gzip
import io

import pytest

from bert_common.errors import UserError
from data_gen.text import lines
from data_gen.text.lines import input_lines


def test_lines_of_inputs():
  assert list(input_lines(io.BytesIO("a\r\n\nü b\x85\u2028c".encode()), "x")) == ["a", "", "ü b\x85\u2028c"]
  assert list(input_lines(io.BytesIO(b""), "x")) == []


@pytest.mark.parametrize(("data", "message"), [
    (b"a\n\xff\n", "x:2: not UTF-8 at byte 1 of the line"),
    (b"a\n" + b"b" * 11, "x:2: longer than 0 MiB: one input per line is expected"),
    (gzip.compress(b"a\n" * 100, mtime=0)[:-9], "x: damaged or cut off")])
def test_lines_that_can_not_be_inputs(monkeypatch, data, message):
  monkeypatch.setattr(lines, "_LONGEST_INPUT_BYTES", 10)
  file = io.BytesIO(data)
  with pytest.raises(UserError, match=message):
    list(input_lines(gzip.GzipFile(fileobj=file) if data.startswith(b"\x1f\x8b") else file, "x"))
