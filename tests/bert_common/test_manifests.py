"""Files that are kept between processes: what is believed."""

import contextlib
import json
import os
import pathlib

import pytest

from bert_common import manifests
from bert_common.errors import UserError

SOURCES = {"model": "sha256:1", "layers": (1, 2)}


@pytest.fixture
def path(tmp_path) -> str:
    (tmp_path / "a.bin").write_bytes(b"abc")
    manifests.write_manifest(f"{tmp_path}/index.json", 2, SOURCES, ["a.bin"], count=3)
    return f"{tmp_path}/index.json"


def _read(path, version, sources, fields):
    with contextlib.ExitStack() as opened:
        return manifests.read_manifest(path, version, sources, ["a.bin"], fields, opened)


def test_it_is_read_as_it_was_written(path):
    with contextlib.ExitStack() as opened:
        found, (file,) = manifests.read_manifest(
            path, 2, SOURCES, ["a.bin"], {"count": int}, opened
        )
        # What comes to the path now is not what was compared.
        (pathlib.Path(path).parent / "other").write_bytes(b"xyz")
        os.replace(pathlib.Path(path).parent / "other", pathlib.Path(path).parent / "a.bin")
        assert file.read() == b"abc"
    assert file.closed
    assert found["count"] == 3 and [size for size, _ in found["files"].values()] == [3]


@pytest.mark.parametrize(
    "version, sources, changes, message",
    [
        (3, SOURCES, {}, "is of version 2 of the format, 3 is expected"),
        (2, {**SOURCES, "model": "sha256:2"}, {}, r"made from something else \(model\)"),
        (2, SOURCES, {"files": {"a.bin": [3, "0"]}}, "a.bin is damaged"),
        (2, SOURCES, {"count": "3"}, "'count' is \"3\""),
        (2, SOURCES, {"files": {"gone.bin": [3, "0"]}}, "'files' has another form"),
        (2, SOURCES, {"files": {"a.bin": ["3"]}}, "'files' has another form"),
        (2, SOURCES, {"version": None}, "'version'"),
    ],
)
def test_everything_else_is_refused(path, tmp_path, version, sources, changes, message):
    with open(path) as file:
        written = json.load(file)
    (tmp_path / "index.json").write_text(json.dumps({**written, **changes}))
    with pytest.raises(UserError, match=message):
        _read(path, version, sources, {"count": int})


def test_damaged_and_missing_files(path, tmp_path):
    for content in (b"", b"abd", b"ab", b"abcd"):
        (tmp_path / "a.bin").write_bytes(content)
        with pytest.raises(UserError, match="a.bin is damaged"):
            _read(path, 2, SOURCES, {})
    (tmp_path / "a.bin").unlink()
    with pytest.raises(UserError, match="a.bin is damaged"):
        _read(path, 2, SOURCES, {})
