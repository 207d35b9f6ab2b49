import json

import pytest

from bert_tf.runs.results import RESULT_FILE, Result, differences, read_result, write_result
from tests.refusals import assert_refused

SOURCES = {
    "learning_rate": 1e-4,
    "seeds": [1, 2],
    "init_checkpoint": None,
}


def test_a_result_is_read_as_it_was_written(tmp_path):
    assert read_result(str(tmp_path)) is None
    begun = Result(SOURCES)
    write_result(str(tmp_path), begun)
    assert read_result(str(tmp_path)) == begun and not begun.is_complete
    complete = Result(SOURCES, {"f1": 0.5}, 12.5, True)
    write_result(str(tmp_path), complete)
    assert read_result(str(tmp_path)) == complete and complete.is_complete


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"version": 3}, "is of version 3 of the format, 2 is expected"),
        ({"version": None}, "'version' is null"),
        (
            {"sources": {"learning_rate": 1.0}},
            "'digest' is not that of 'sources', which were edited",
        ),
        ({"metrics": {"f1": "high"}}, '\'metrics\' is {"f1": "high"}'),
        ({"degenerate": 0}, "'degenerate' is 0"),
    ],
)
def test_an_edited_result_is_refused_in_one_line(tmp_path, changes, message):
    write_result(str(tmp_path), Result(SOURCES))
    path = tmp_path / RESULT_FILE
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    assert_refused(lambda: read_result(str(tmp_path)), str(path), message)


def test_what_differs_is_named():
    assert not differences(SOURCES, json.loads(json.dumps(SOURCES)))
    assert differences(SOURCES, {**SOURCES, "learning_rate": 5e-5}) == [
        "learning_rate: 0.0001 → 5e-05"
    ]
