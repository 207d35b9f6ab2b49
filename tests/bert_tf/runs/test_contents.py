"""Contents of inputs: what counts as the same."""

import os

import pytest

from bert_common.errors import UserError
from bert_tf.runs import contents


def test_of_large_inputs_a_sample_of_blocks_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "_WHOLE", 1 << 20)
    path = tmp_path / "records"
    content = bytearray(os.urandom(3 << 20))
    path.write_bytes(content)
    before = contents.content_digest([str(path)])
    for place in (0, len(content) - 1, (len(content) - contents._BLOCK) // 2):
        changed = bytearray(content)
        changed[place] ^= 1
        path.write_bytes(changed)
        assert contents.content_digest([str(path)]) != before
    path.write_bytes(content)
    assert contents.content_digest([str(path)]) == before
    path.write_bytes(content[:-1])
    assert contents.content_digest([str(path)]) != before


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
    facts = contents.InputFacts({"train_file": [str(path)], "dev_file": ["/dev/null"]})
    facts.check()
    change(path)
    with pytest.raises(
        UserError, match=r"--train_file: .*train\.csv has changed while it was read"
    ):
        facts.check()
