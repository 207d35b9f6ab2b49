import gzip

import pytest

from bert_common import files
from bert_common.errors import UserError


def test_a_text_as_a_whole(tmp_path):
  path = tmp_path / "text"
  for data in ("ü\r\n".encode(), gzip.compress("ü\r\n".encode())):
    path.write_bytes(data)
    assert files.is_gzip(str(path)) == data.startswith(b"\x1f")
    assert files.read_text(str(path)) == "ü\r\n"
  for data, message in ((b"a\xff", "is not UTF-8 .byte 1."), (gzip.compress(b"abc")[:-3], "damaged or cut off")):
    path.write_bytes(data)
    with pytest.raises(UserError, match=message):
      files.read_text(str(path))
  with pytest.raises(UserError, match="can't read .*nothing: No such file"):
    files.read_text(str(tmp_path / "nothing"))


def test_what_is_told_beside_what_is_read(tmp_path):
  path = tmp_path / "file"
  for data in (b"abc" * 1000, gzip.compress(b"abc" * 1000)):
    path.write_bytes(data)
    with files.open_unzipped(str(path)) as (stored, file):
      assert (stored is file) == data.startswith(b"abc")
      assert file.read() == b"abc" * 1000 and stored.tell() == len(data)
  with pytest.raises(OSError, match="disk"), files.damage_named("x"):
    raise OSError("disk")
