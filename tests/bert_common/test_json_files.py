import pytest

from bert_common import json_files
from bert_common.errors import UserError

FIELDS = {"step": int, "metrics": dict[str, float], "labels": list[str] | None, "pair": bool | None}


def test_json_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "windows.json"
    path.write_text('{"a": "é"}', encoding="utf-8-sig")
    assert json_files.read(str(path)) == {"a": "é"}


@pytest.mark.parametrize(
    "content, message",
    [
        ('{\n"a": 1,\n "b" 2}', r"broken.json:3: not JSON: Expecting ':' delimiter at column 6"),
        ("", "broken.json is empty"),
        (" \n", "broken.json is empty"),
        ("[" * 200_000, "broken.json: not JSON: "),
        ("1" * 10_000, "broken.json: not JSON: "),
    ],
    ids=["colon", "nothing", "space", "deep", "long"],
)
def test_broken_json_names_its_place(tmp_path, content, message):
    path = tmp_path / "broken.json"
    path.write_text(content)
    with pytest.raises(UserError, match=message):
        json_files.read(str(path))


@pytest.mark.parametrize(
    "text, message",
    [
        ("[1]", "x.json: a JSON object is expected"),
        ("{}", "there is no 'step', a whole number is expected"),
        ('{"step": "4", "metrics": {}}', "'step' is \"4\", a whole number is expected"),
        (
            f'{{"step": {2**63}, "metrics": {{}}}}',
            "'step' is 9223372036854775808, a whole number is",
        ),
        (
            f'{{"step": 4, "metrics": {{"f1": {10**400}}}}}',
            "an object, each of them a number, is expected",
        ),
        ('{"step": true, "metrics": {}}', "'step' is true"),
        ('{"step": 4.5, "metrics": {}}', "'step' is 4.5"),
        ('{"step": 4, "metrics": {}, "labels": [1]}', "'labels' is \\[1\\]"),
        ('{"step": 4, "metrics": {}, "pair": 0}', "'pair' is 0, true or false is expected"),
    ],
)
def test_objects_of_another_shape_are_refused(tmp_path, text, message):
    path = tmp_path / "x.json"
    assert json_files.read_object(str(path), FIELDS) == {}
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        json_files.read_object(str(path), FIELDS)
    path.write_text('{"step": 4, "metrics": {"f1": 1, "loss": 0.5}, "other": 1}')
    assert json_files.read_object(str(path), FIELDS)["step"] == 4


@pytest.mark.parametrize(
    "text, message",
    [
        ('{"best": 1}', "'best' is 1, an object is expected"),
        ("{}", "there is no 'best'"),
        ('{"best": {"f1": true}}', "'best.f1' is true"),
        ('{"best": {"f1": 1}}', "there is no 'runs'"),
        (
            '{"best": {"f1": 1}, "runs": [3]}',
            "'runs' is \\[3\\], a list, each of them an object, is expected",
        ),
        (
            '{"best": {"f1": 1}, "runs": [{"f1": 1}, {}]}',
            "there is no 'runs\\[1\\].f1', a number is expected",
        ),
    ],
)
def test_fields_of_objects_in_objects_and_lists(tmp_path, text, message):
    path = tmp_path / "x.json"
    path.write_text(text)
    fields = {"best": {"f1": float}, "runs": [{"f1": float}]}
    with pytest.raises(UserError, match=f"x.json: {message}"):
        json_files.read_object(str(path), fields)
    path.write_text('{"best": {"f1": 1}, "runs": [{"f1": 0.5, "more": []}]}')
    assert json_files.read_object(str(path), fields)["runs"][0]["f1"] == 0.5


@pytest.mark.parametrize(
    "damage",
    [b'{"step": 2\n', b'{"step": "2"}\n', b"\xff\xfe\n", b"[2]\n", b"\n", b'{"step": 2}{\n'],
)
def test_lines_of_another_shape_are_refused_but_half_a_last_one_is_left_out(tmp_path, damage):
    path = tmp_path / "x.jsonl"
    assert json_files.read_objects(str(path)) == []
    path.write_bytes(b'{"step": 1}\n{"step": 3}\n' + damage[:-1])
    assert json_files.read_objects(str(path), {"step": int}) == [{"step": 1}, {"step": 3}]
    path.write_bytes(b'{"step": 1}\n' + damage + b'{"step": 3}\n')
    with pytest.raises(UserError, match="x.jsonl:2: ") as error:
        json_files.read_objects(str(path), {"step": int})
    assert "\n" not in str(error.value)


def test_half_a_surrogate_pair_is_no_text():
    with pytest.raises(UserError, match=r"^here: half a surrogate pair \(.udcff\), no text$"):
        json_files.check_text({"file": "ü\udcff"}, "here: ")
