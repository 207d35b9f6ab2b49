import errno
import json
import pathlib
import re
import tomllib

import pytest

from bert_common import errors
from bert_common.errors import UserError, as_user_error, needs_package


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("two\nlines", "two lines"),
        ("a\r\x1b[31m\x85\u2028b", r"a\r\x1b[31m\x85\u2028b"),
        (
            "no ftp://me:it's+secret@host/x, http://host:80/a@b",
            "no ftp://***@host/x, http://host:80/a@b",
        ),
        ("https://hf_secret@host:80/a", "https://***@host:80/a"),
        ("s3://me:p@ss@host/a b@c", "s3://***@host/a b@c"),
        ("http://me:a/b@host/x", "http://***@host/x"),
        ("'https://host/w.zip?sig=a%2Fb&e=1': x=1", "'https://host/w.zip?***': x=1"),
        ("gs://bucket/a-????? holds hf_" + "a1" * 17, "gs://bucket/a-????? holds hf_***"),
        ("a\u202eb\u2066\udc80", r"a\u202eb\u2066\udc80"),
        ("x" * 500, f"{'x' * 60}…{'x' * 60}"),
        ("word " * 500, f"{('word ' * 500)[:1200]}…"),
    ],
)
def test_a_message_is_one_line(message, shown):
    assert str(UserError(message)) == shown


class NotFoundError(Exception):
    """As those of TensorFlow, which keep their message in a field."""

    def __init__(self, message: str):
        super().__init__(None, None, message)
        self.message = message


def _raised_by_json() -> Exception:
    with pytest.raises(json.JSONDecodeError) as found:
        json.loads("{")
    return found.value


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (UserError("wrong"), "wrong"),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "x.txt"),
            "x.txt: No such file or directory",
        ),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (OSError("Unable to open file"), "OSError: Unable to open file"),
        (
            PermissionError(errno.EACCES, "Permission denied", "run/.best.h5.ab12cd_9.bert-tf.tmp"),
            "run/best.h5: Permission denied",
        ),
        (MemoryError(), "memory ran out"),
        (RecursionError("too deep"), "RecursionError: too deep"),
        (
            _raised_by_json(),
            "JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ),
        (
            NotFoundError(
                "{{function_node __wrapped__ReadFile_device_/job:localhost}} /tmp/copy.abcd_123/x; No such file "
                "[Op:ReadFile] name: "
            ),
            "NotFoundError: x; No such file",
        ),
        (
            NotFoundError(
                "Graph execution error:\n\nDetected at node x defined at (most recent call last):\n"
                '  File "a.py", line 1, in x\n\nslice 3\nmore'
            ),
            "NotFoundError: slice 3",
        ),
        (NotFoundError("slice 3 [[{{node x}}]]\n\t [[more]]\nStack"), "NotFoundError: slice 3"),
    ],
)
def test_errors_that_nobody_expected_are_one_line_too(error, shown):
    assert str(as_user_error(error)).removesuffix(" (--debug shows where)") == shown


@pytest.mark.parametrize("error", [TypeError("x"), AssertionError(), KeyError("x"), RuntimeError()])
def test_mistakes_in_the_program_are_not_the_users(error):
    assert as_user_error(error) is None


def test_a_missing_optional_package_is_a_line_with_its_extra():
    error = ModuleNotFoundError("No module named 'tensorflow_text'", name="tensorflow_text.core")
    assert re.search(r"tensorflow-text.*pip install '\.\[text\]'", str(as_user_error(error)))
    assert needs_package("it", "bert_tf.extras.compare") is None
    extras = tomllib.loads((pathlib.Path(__file__).parents[2] / "pyproject.toml").read_text())[
        "project"
    ]["optional-dependencies"]
    for package, extra in errors._OPTIONAL.values():
        assert any(re.split(r"[~>=\[]", one)[0] == package for one in extras[extra]), package
