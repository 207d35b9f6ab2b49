"""What runs were made from: what counts as the same."""

import json
import os
import re

import pytest

from bert_common.errors import UserError
from bert_tf.runs import contents, provenance
from bert_tf.runs.provenance import check_same, fingerprints


@pytest.fixture
def reads(monkeypatch) -> list[str]:
    names, read = [], contents._file_digest
    monkeypatch.setattr(
        contents,
        "_file_digest",
        lambda path, *rest: names.append(os.path.basename(path)) or read(path, *rest),
    )
    contents._known_digests.clear()
    return names


def test_contents_count_and_are_read_once_in_a_start(tmp_path, reads):
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


def test_the_file_that_differs_is_named(tmp_path):
    paths = [str(tmp_path / name) for name in ("a.csv", "b.csv", "c.csv")]
    for path in paths:
        with open(path, "w") as file:
            file.write(path)
    first = fingerprints({"train": paths[:2]}, {})
    for given, difference in [
        (paths[:1], f"without {paths[1]}"),
        (paths, f"in {paths[2]}"),
        ([paths[0], paths[2]], f"in {paths[2]}"),
        (paths[1::-1], f"in {paths[1]}"),
    ]:
        with pytest.raises(UserError, match=re.escape(f"other training data {difference})")):
            check_same("run", first, fingerprints({"train": given}, first), strict=False)
    os.utime(paths[0], ns=(1, 1))
    with pytest.raises(UserError, match=f"without {paths[1]}"):
        check_same("run", first, fingerprints({"train": paths[:1]}, first), strict=False)
    with open(paths[1], "a") as file:
        file.write(" ")
    os.utime(paths[0], ns=(first["train"]["files"][0][2],) * 2)
    with pytest.raises(UserError, match=f"in {paths[1]}"):
        check_same("run", first, fingerprints({"train": paths[:2]}, first), strict=False)


def test_contents_count_whatever_sizes_and_times_are(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text("a,1\n")
    status = path.stat()
    first = fingerprints({"train": [str(path)]}, {})
    path.write_text("a,0\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    # As at every start, before the data are read.
    contents.InputFacts({"train_file": [str(path)]})
    with pytest.raises(UserError, match="other training data"):
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
