"""What runs were made from: what counts as the same. What is kept between processes: what is
believed."""

import contextlib
import json
import os
import pathlib

import pytest

from bert_common.errors import UserError
from bert_tf.runs import provenance
from bert_tf.runs.provenance import check_same, content_digest, fingerprints


@pytest.fixture
def reads(monkeypatch) -> list[str]:
    names, read = [], provenance._file_digest
    monkeypatch.setattr(
        provenance,
        "_file_digest",
        lambda path, *rest: names.append(os.path.basename(path)) or read(path, *rest),
    )
    provenance._digest_of.cache_clear()
    return names


def test_contents_count_and_are_read_only_where_size_or_time_have_changed(tmp_path, reads):
    path = tmp_path / "train.csv"
    path.write_text("a,1\n")
    first = json.loads(json.dumps(fingerprints({"train": [str(path)]}, {})))
    assert fingerprints({"train": [str(path)]}, first) == first and reads == ["train.csv"]
    os.utime(path, ns=(1, 1))
    touched = fingerprints({"train": [str(path)]}, first)
    assert reads == ["train.csv"] * 2 and touched["train"]["digest"] == first["train"]["digest"]
    check_same("run", first, touched, strict=True)
    path.rename(tmp_path / "moved.csv")
    check_same("run", first, fingerprints({"train": [f"{tmp_path}/moved.csv"]}, first), strict=True)
    path.write_text("a,0\n")
    with pytest.raises(
        UserError,
        match=r"the run in run was made from something else than now \(other training data in "
        r".*train.csv\): give what it was made from, or choose another directory",
    ):
        check_same("run", first, fingerprints({"train": [str(path)]}, first), strict=False)


def test_pipes_and_devices_are_not_read_once_more(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    assert (
        fingerprints({"train": [str(tmp_path / "pipe")], "dev": [str(tmp_path / "endless")]}, {})
        == {}
    )


def test_what_a_run_may_go_on_with_or_without():
    one, other = ({"digest": value, "files": [["a", 1, 1]]} for value in "ab")
    for before, now in (
        ({"init_checkpoint": one}, {}),
        ({"dev": one}, {}),
        ({}, {"dev": one}),
        ({"test": one}, {"test": other}),
    ):
        check_same("run", before, now, strict=False)
    for before, now, message in (
        ({}, {"init_checkpoint": one}, "start weights .* given"),
        ({"teacher_checkpoint": one}, {}, "teacher .* not given"),
        ({"transfer": one}, {"transfer": other}, "other texts without labels in a"),
    ):
        with pytest.raises(UserError, match=message):
            check_same("run", before, now, strict=False)
    with pytest.raises(UserError, match="development data not given"):
        check_same("run", {"dev": one}, {}, strict=True)


def test_of_large_inputs_a_sample_of_blocks_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "_WHOLE", 1 << 20)
    path = tmp_path / "records"
    content = bytearray(os.urandom(3 << 20))
    path.write_bytes(content)
    before = content_digest([str(path)])
    for place in (0, len(content) - 1, (len(content) - provenance._BLOCK) // 2):
        changed = bytearray(content)
        changed[place] ^= 1
        path.write_bytes(changed)
        assert content_digest([str(path)]) != before
    path.write_bytes(content)
    assert content_digest([str(path)]) == before
    path.write_bytes(content[:-1])
    assert content_digest([str(path)]) != before


@pytest.mark.parametrize(
    "content, message",
    [
        ("[]", "a JSON object is expected"),
        ('{"version": 2, "made_from": {}, "evaluated_on": {}}', "version 2"),
        ('{"version": 1}', "made_from"),
        ('{"version": 1, "made_from": {"train": {}}, "evaluated_on": {}}', "train: .*digest"),
    ],
)
def test_a_damaged_record_is_one_line(tmp_path, content, message):
    assert provenance.read(str(tmp_path)) == {"made_from": {}, "evaluated_on": {}}
    (tmp_path / "inputs.json").write_text(content)
    with pytest.raises(UserError, match=f"inputs.json.*{message}"):
        provenance.read(str(tmp_path))


SOURCES = {"model": "sha256:1", "layers": (1, 2)}


@pytest.fixture
def path(tmp_path) -> str:
    (tmp_path / "a.bin").write_bytes(b"abc")
    provenance.write_manifest(f"{tmp_path}/index.json", 2, SOURCES, ["a.bin"], count=3)
    return f"{tmp_path}/index.json"


def _read(path, version, sources, fields):
    with contextlib.ExitStack() as opened:
        return provenance.read_manifest(path, version, sources, ["a.bin"], fields, opened)


def test_it_is_read_as_it_was_written(path):
    with contextlib.ExitStack() as opened:
        found, (file,) = provenance.read_manifest(
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


def _exchanged(path):
    """Another file of the same size and time."""
    status = os.stat(path)
    other = path.with_suffix(".new")
    other.write_text(path.read_text().upper())
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.rename(path)


def _written_over(path):
    status = os.stat(path)
    path.write_text(path.read_text().upper())
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize(
    "change",
    [
        _exchanged,
        _written_over,
        lambda path: path.write_text("longer than before\n"),
        lambda path: path.unlink(),
    ],
)
def test_an_input_that_changes_while_it_is_read_is_refused(tmp_path, change):
    path = tmp_path / "train.csv"
    path.write_text("a,one\n")
    facts = provenance.InputFacts({"train_file": [str(path)], "dev_file": ["/dev/null"]})
    facts.check()
    change(path)
    with pytest.raises(
        UserError, match=r"--train_file: .*train\.csv has changed while it was read"
    ):
        facts.check()
