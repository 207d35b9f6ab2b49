import concurrent.futures
import errno
import gc
import glob
import gzip
import itertools
import os

import pytest

from bert_common import files, json_files, outputs
from bert_common.errors import UserError

_NUMBERS = itertools.count()


@pytest.fixture(params=["local", "ram"])
def place(request, tmp_path) -> str:
    """An empty directory on the disk, and one on a file system that only TensorFlow knows."""
    if request.param == "local":
        return str(tmp_path)
    # A name that no other begins with: the listing of "1" would have what is in "10".
    path = f"ram://files/{next(_NUMBERS)}."
    files.make_directories(path)
    return path


def write(path: str, mode: str, data: str | bytes, **text: str) -> None:
    with files.open_file(path, mode, **text) as file:
        file.write(data)


def read(path: str, mode: str = "r", **text: str) -> str | bytes:
    with files.open_file(path, mode, **text) as file:
        return file.read()


def test_files_are_written_read_and_appended_to(place):
    path = os.path.join(place, "é.txt")
    write(path, "w", "ü\nb\n")
    assert read(path) == "ü\nb\n" and read(path, "rb") == "ü\nb\n".encode()
    write(path, "a", "c\r\n", newline="")
    write(path, "ab", b"\xe9")
    assert (
        read(path, encoding="latin-1", newline="") == "ü\nb\n".encode().decode("latin-1") + "c\r\né"
    )
    assert files.file_size(path) == 9
    # ram:// appends to a file that is written again.
    files.remove(path)
    write(path, "wb", b"new")
    assert read(path, "rb") == b"new"
    write(os.path.join(place, "started"), "a", "x")
    assert read(os.path.join(place, "started")) == "x"
    with files.open_file(path, "rb") as file:
        assert (
            file.read(1),
            file.seek(1, os.SEEK_CUR),
            file.read(),
            file.seek(-3, os.SEEK_END),
        ) == (b"n", 2, b"w", 0)
        assert file.tell() == 0 and list(file) == [b"new"]
    for mode in ("w", "ab"):
        path = os.path.join(place, mode)
        files.open_file(path, mode).close()
        assert files.is_file(path) and files.file_size(path) == 0 and read(path) == ""
    # More than a buffer.
    data, path = os.urandom(3 << 20), os.path.join(place, "large")
    write(path, "wb", data)
    assert read(path, "rb") == data
    files.copy(path, os.path.join(place, "other"))
    assert read(os.path.join(place, "other"), "rb") == data


def test_names_of_a_directory(place):
    for name in ("b.txt", "a.txt", "c[1].txt", "below/d.txt"):
        files.make_directories(os.path.dirname(os.path.join(place, name)))
        write(os.path.join(place, name), "w", name)
    assert files.list_directory(place) == ["a.txt", "b.txt", "below", "c[1].txt"]
    assert files.glob_files(f"{place}/*.txt") == [
        f"{place}/{name}.txt" for name in ("a", "b", "c[1]")
    ]
    assert files.glob_files(f"{place}/*/?.txt") == [f"{place}/below/d.txt"]
    assert files.glob_files(f"{place}/no*") == files.glob_files(f"{place}/nothing/*") == []
    # A name that exists is that file, and not the pattern that it could be.
    assert files.expand_patterns(f"{place}/c[1].txt,{place}/a*,{place}/*.txt", "f") == [
        f"{place}/{name}.txt" for name in ("c[1]", "a", "b")
    ]
    assert files.glob_files(f"{place}/c[1].txt") == []
    assert files.glob_files(glob.escape(f"{place}/c[1].txt")) == [f"{place}/c[1].txt"]
    assert files.exists(f"{place}/below") and files.is_directory(f"{place}/below")
    assert not files.is_file(f"{place}/below") and not files.is_directory(f"{place}/a.txt")
    assert (
        not files.exists(f"{place}/e")
        and not files.is_file(f"{place}/e")
        and not files.is_directory(f"{place}/e")
    )


def test_files_are_renamed_and_removed(place):
    for name in ("x", "y", "tree/z"):
        files.make_directories(os.path.dirname(os.path.join(place, name)))
        write(os.path.join(place, name), "w", name)
    files.rename(f"{place}/x", f"{place}/y")
    assert files.list_directory(place) == ["tree", "y"] and read(f"{place}/y") == "x"
    files.remove(f"{place}/y")
    files.remove_tree(f"{place}/tree")
    files.remove_tree(f"{place}/nothing")
    files.make_directories(place)
    assert files.list_directory(place) == []


@pytest.mark.parametrize(
    "call",
    [
        files.open_file,
        files.file_size,
        files.list_directory,
        files.remove,
        files.is_gzip,
        lambda path: files.rename(path, f"{path}.new"),
        lambda path: files.copy_tree(path, f"{path}.new"),
    ],
)
def test_a_missing_file_is_the_same_error_everywhere(place, call):
    with pytest.raises(FileNotFoundError) as error:
        call(f"{place}/missing")
    assert error.value.strerror == "No such file or directory" and "missing" in error.value.filename


def test_the_directory_of_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert files.parent_directory("x") == str(tmp_path) and files.parent_directory("/a/b/") == "/a"
    assert files.parent_directory("gs://bucket/run/x") == "gs://bucket/run"
    assert files.parent_directory("gs://bucket/run/") == "gs://bucket"
    assert files.parent_directory("ram://x") == "ram://"


@pytest.mark.parametrize(
    "call",
    [
        lambda path: files.expand_patterns(path, "flag"),
        lambda path: files.check_readable(path, "flag"),
        lambda path: files.refuse_existing(path, "flag"),
        lambda path: files.make_output_directory(path, "flag"),
        lambda path: files.new_directory(path, "flag").__enter__(),
        json_files.read,
        json_files.read_object,
        lambda path: json_files.write(path, {}),
    ],
)
def test_an_unknown_file_system_is_a_user_error(call):
    message = "can't (read|write).* nowhere://x/y.*TensorFlow knows no file system nowhere://, only .*gs://"
    with pytest.raises(UserError, match=message) as error:
        call("nowhere://x/y")
    assert "\n" not in str(error.value)


def test_output_directories_and_files_on_any_file_system(place):
    path = files.make_output_directory(f"{place}/new/run", "output_dir")
    assert files.list_directory(path) == []
    json_files.write(f"{path}/a.json", {"a": "é"})
    json_files.write(f"{path}/a.json", {"b": 1})
    assert json_files.read(f"{path}/a.json") == json_files.read_object(f"{path}/a.json") == {"b": 1}
    assert json_files.read_object(f"{path}/none.json") == {}
    assert files.check_readable(f"{path}/a.json", "flag") == f"{path}/a.json"
    assert not files.is_gzip(f"{path}/a.json")
    with pytest.raises(UserError, match="--flag: .*run is a directory"):
        files.check_readable(path, "flag")
    with pytest.raises(UserError, match="--flag: .*none.json does not exist"):
        files.check_readable(f"{path}/none.json", "flag")
    with pytest.raises(ValueError, match="half way"), files.atomic_write(f"{path}/a.json") as file:
        file.write("torn")
        raise ValueError("half way")
    assert files.list_directory(path) == ["a.json"] and json_files.read(f"{path}/a.json") == {
        "b": 1
    }
    with files.atomic_write(f"{path}/empty", "wb"):
        pass
    assert files.file_size(f"{path}/empty") == 0


def test_new_directories_on_any_file_system(place):
    # A name is a name with a slash behind it, too.
    for path in (f"{place}/parent/new", f"{place}/other/"):
        with files.new_directory(path, "output") as directory:
            os.makedirs(os.path.join(directory, "below"))
            json_files.write(os.path.join(directory, "below/a.json"), 1)
            assert not files.exists(path)
        assert json_files.read(os.path.join(path, "below/a.json")) == 1
        with (
            pytest.raises(UserError, match="--output: .*exists"),
            files.new_directory(path, "output"),
        ):
            pass
    with (
        pytest.raises(UserError, match="--output: can't write .*full: No space left"),
        files.new_directory(f"{place}/full", "output"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    # Not even what has come while it was written is replaced.
    with (
        pytest.raises(UserError, match="--output: .*late exists"),
        files.new_directory(f"{place}/late", "output"),
    ):
        files.make_directories(f"{place}/late")
    files.remove_tree(f"{place}/late")
    assert files.list_directory(place) == ["other", "parent"] and files.list_directory(
        f"{place}/parent"
    ) == ["new"]


@pytest.mark.parametrize(
    "pattern, message",
    [
        ("{}/*.nothing", "--input_file: no file matches"),
        ("{}", "is a directory"),
        ("", "names no file"),
        ("{}/*", "pipe is a pipe or a device"),
        ("/dev/fd/0", "fd/0 is a pipe or a device"),
    ],
)
def test_patterns_that_name_no_file_are_refused(tmp_path, pattern, message):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match=message):
        files.expand_patterns(pattern.format(tmp_path), "input_file")


def test_permissions_are_ordinary_or_those_of_the_old_file(tmp_path):
    path = tmp_path / "secret.json"
    json_files.write(str(path), {"b": 1, "a": "é"})
    assert path.stat().st_mode & 0o444 == 0o444
    path.chmod(0o600)
    json_files.write(str(path), [1])
    assert path.stat().st_mode & 0o777 == 0o600 and json_files.read(str(path)) == [1]
    with files.new_directory(str(tmp_path / "new"), "output"):
        pass
    assert (tmp_path / "new").stat().st_mode & 0o055 == 0o055


def test_a_result_whose_name_ends_in_gz_is_gzipped(place):
    for name, mode, content in (("t.gz", "w", "é\r\n" * 9), ("b.CSV.GZ", "wb", b"\0\n" * 9)):
        path, again = f"{place}/{name}", f"{place}/again_{name}"
        for target in (path, again):
            with files.atomic_write(target, mode) as file:
                file.write(content)
        expected = content if isinstance(content, bytes) else content.encode()
        assert gzip.decompress(read(path, "rb")) == expected
        # Equal contents are equal bytes, and a copy is not packed twice.
        assert read(path, "rb") == read(again, "rb")
        files.copy(path, f"{place}/copy_{name}")
        assert read(path, "rb") == read(f"{place}/copy_{name}", "rb")
    with pytest.raises(ValueError, match="half way"), files.atomic_write(f"{place}/torn.gz"):
        raise ValueError("half way")
    with pytest.raises(UserError, match=r"--output_file: .*by gzip only"):
        outputs.check_output_file(f"{place}/t.jsonl.XZ", "output_file")
    assert len(files.list_directory(place)) == 6


def test_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "far.txt").write_text("kept")
    (tmp_path / "link.txt").symlink_to("far.txt")
    with files.atomic_write(str(tmp_path / "link.txt")) as file:
        file.write("new")
    assert ((tmp_path / "far.txt").read_text(), (tmp_path / "link.txt").read_text()) == (
        "kept",
        "new",
    )
    assert not (tmp_path / "link.txt").is_symlink()


def test_pipes_and_devices_are_written_and_stay_what_they_are(tmp_path, capfd):
    pipe, null = tmp_path / "pipe", tmp_path / "null"
    os.mkfifo(pipe)
    null.symlink_to("/dev/null")
    with concurrent.futures.ThreadPoolExecutor(1) as reader:
        read = reader.submit(pipe.read_bytes)
        outputs.prepare_output_file(str(pipe), "output_file")
        with files.atomic_write(str(pipe), "wb") as file:
            file.write(b"one line\n")
        assert read.result() == b"one line\n"
    with files.atomic_write(str(null)) as file:
        file.write("gone")
    with files.atomic_write("/dev/stdout") as file:
        file.write("shown")
    assert capfd.readouterr().out == "shown"
    assert pipe.is_fifo() and null.is_symlink() and sorted(os.listdir(tmp_path)) == ["null", "pipe"]
    closed = "/dev/fd/999"
    with (
        pytest.raises(UserError, match=f"can't write {closed}: Bad file descriptor"),
        files.atomic_write(closed),
    ):
        pass
    # Of a reader that has seen enough a script says nothing.
    reading, writing = os.pipe()
    os.close(reading)
    with pytest.raises(BrokenPipeError), files.atomic_write(f"/dev/fd/{writing}") as file:
        file.write("not read")
    os.close(writing)


def test_what_killed_writers_have_left_is_removed_and_nothing_else(tmp_path):
    left = [".a.json.0a1b2c3d.bert-tf.tmp", ".new.0a1b2c3d.bert-tf.tmp"]
    # Somebody's own may look like a temporary file.
    others = [
        ".b.json.0a1b2c3d.bert-tf.tmp",
        ".a.json.mybackup.tmp",
        ".new.mybackup.tmp",
        ".a.json.0a1b2c3d4.bert-tf.tmp",
    ]
    for name in (left[0], *others):
        (tmp_path / name).touch()
    (tmp_path / left[1]).mkdir()
    (tmp_path / left[1] / "half").touch()
    path = str(tmp_path / "a.json")
    with files.atomic_write(path) as first:
        # Another process that writes the same file at the same time.
        json_files.write(path, 2)
        first.write("1")
    with files.new_directory(str(tmp_path / "new"), "output"):
        pass
    assert json_files.read(path) == 1
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "a.json", "new"])


def test_a_name_like_that_of_a_missing_file_is_proposed(tmp_path):
    (tmp_path / "corpus").mkdir()
    assert files.similar(f"{tmp_path}/korpus/a.txt") == ": did you mean corpus?"
    # More directories than Python's stack.
    assert not files.similar(f"{tmp_path}/{'x/' * 1500}y")


def test_a_remote_directory_that_is_copied_half_way_is_removed():
    path = f"ram://files/{next(_NUMBERS)}./new"
    with (
        pytest.raises(UserError, match="--output: can't write .*new: No such file"),
        files.new_directory(path, "output") as directory,
    ):
        json_files.write(os.path.join(directory, "a.json"), 1)
        os.symlink("nothing", os.path.join(directory, "b.json"))
    assert not files.exists(path)


def test_a_text_as_a_whole(tmp_path):
    path = tmp_path / "text"
    for data in ("ü\r\n".encode(), gzip.compress("ü\r\n".encode())):
        path.write_bytes(data)
        assert files.is_gzip(str(path)) == data.startswith(b"\x1f")
        assert files.read_text(str(path)) == "ü\r\n"
    for data, message in (
        (b"a\xff", "is not UTF-8 .byte 1."),
        (gzip.compress(b"abc")[:-3], "damaged or cut off"),
    ):
        path.write_bytes(data)
        with pytest.raises(UserError, match=message):
            files.read_text(str(path))
    with pytest.raises(UserError, match="can't read .*nothing: No such file"):
        files.read_text(str(tmp_path / "nothing"))


def test_the_temporary_folder_of_a_killed_process_is_removed_by_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path))
    (tmp_path / "copy.a1b2c3d4.bert-tf.tmp").mkdir()
    (tmp_path / "copy.of_mine").mkdir()
    owners = [type("Owner", (), {})() for _ in range(2)]
    folders = [os.path.basename(files.temporary_folder(owner)) for owner in owners]
    assert sorted(os.listdir(tmp_path)) == sorted([*folders, "copy.of_mine"])
    owners.clear()
    gc.collect()
    assert os.listdir(tmp_path) == ["copy.of_mine"]


def test_an_account_without_a_home_keeps_files_in_the_temporary_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(files.os.path, "expanduser", str)
    assert files.cache_directory({}) == f"{tmp_path}/.cache/bert-tf"


def test_a_name_of_240_bytes(tmp_path):
    for name in ("x" * 240, "ü" * 120, "y" * 255):
        for _ in range(2):
            with files.atomic_write(str(tmp_path / name)) as file:
                file.write("a")
        with files.new_directory(str(tmp_path / f"{name[:-1]}d"), "output"):
            pass
    assert len(os.listdir(tmp_path)) == 6
