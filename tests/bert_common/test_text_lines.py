import pytest

from bert_common.text_lines import numbered_lines


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"one\r\rtwo\r", ["one\r", "\r", "two\r"]),
        (b"one\rtwo", ["one\r", "two"]),
        (b"\xef\xbb\xbfone\rtwo\r", ["one\r", "two\r"]),
        # With LF in the file CR is a character like any other.
        (b"one\rtwo\nthree\r\n", ["one\rtwo\n", "three\r\n"]),
        (b"one", ["one"]),
        (b"", []),
    ],
)
def test_cr_ends_the_lines_of_a_file_without_lf(tmp_path, content, lines):
    path = tmp_path / "lines.txt"
    path.write_bytes(content)
    assert list(numbered_lines(str(path), "input_file")) == list(enumerate(lines, 1))
