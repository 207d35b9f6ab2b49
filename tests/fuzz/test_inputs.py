"""A few of the runs with wrong input, in this process; `inputs.py` says how to run many."""

import dataclasses
import pathlib
import random
import re
import shutil

import pytest

from bert_common.errors import UserError
from tests.fuzz.inputs import ACCEPTED, DAMAGE, GOOD, REFUSED, SILENT, TRACEBACK, run_case
from tests.fuzz.mutations import ROADS, Case, exchange, make_case, not_finite
from tests.fuzz.workspace import COMMANDS, Command, make_workspace

# Those that need no graph.
_QUICK = tuple(
    one for one in COMMANDS if one.script.startswith(("data_gen", "make_glue", "convert_"))
)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("workspace")
    make_workspace(folder)
    return folder


def test_the_commands_are_right_as_they_are(workspace):
    for command in _QUICK:
        assert run_case(Case(command, ""), workspace).kind == ACCEPTED, command.script


@pytest.mark.parametrize("number", range(20))
def test_wrong_input_is_accepted_or_refused_in_one_line(workspace, number):
    case = make_case(_QUICK, 5, number)
    ending = run_case(case, workspace)
    assert ending.kind in GOOD, f"{case.command.script}, {case.change}: {ending.text}"


def test_what_comes_before_a_command_must_succeed_and_may_be_lost(workspace):
    command = next(one for one in _QUICK if one.lost)
    wrong = {**command.arguments, "vocab_file": "missing.txt"}
    with pytest.raises(ValueError, match="a run before data_gen/.* has failed: .*missing.txt"):
        run_case(Case(dataclasses.replace(command, before=(wrong,)), ""), workspace)
    there = []
    case = Case(command, "", lambda folder: there.append((folder / command.lost[0]).exists()))
    assert run_case(case, workspace).kind == ACCEPTED and there == [False]


def test_a_case_follows_from_its_number():
    first, again = make_case(COMMANDS, 1, 7), make_case(COMMANDS, 1, 7)
    assert (first.command, first.change) == (again.command, again.change)
    assert len({make_case(COMMANDS, 1, number).change for number in range(100)}) > 60


def _instead_of_a_run(monkeypatch, function) -> Command:
    monkeypatch.setattr("data_gen.text.corpus_preparation.run", function)
    return _QUICK[0]


def test_a_traceback_is_a_finding(workspace, monkeypatch):
    ending = run_case(Case(_instead_of_a_run(monkeypatch, lambda options: 1 / 0), ""), workspace)
    assert ending.kind == TRACEBACK and "ZeroDivisionError" in ending.text


@pytest.mark.parametrize("accepted", [True, False])
def test_a_file_that_is_changed_and_must_stay_is_a_finding(workspace, monkeypatch, accepted):
    def write(options):
        pathlib.Path(options.output_file).write_text("changed")
        if not accepted:
            raise UserError("no")

    command = _instead_of_a_run(monkeypatch, write)
    assert run_case(Case(command, ""), workspace).kind == (ACCEPTED if accepted else REFUSED)
    command = dataclasses.replace(
        command, arguments={**command.arguments, "output_file": "table.csv"}
    )
    ending = run_case(Case(command, "", kept=("table.csv",)), workspace)
    assert (
        ending.kind == DAMAGE and ending.text == ("" if accepted else "no") + "\nchanged: table.csv"
    )
    command = dataclasses.replace(command, own=("table.csv",))
    assert run_case(Case(command, ""), workspace).kind in GOOD


@pytest.mark.parametrize("made_anew", [True, False])
def test_inputs_of_another_run_that_are_taken_are_a_finding(workspace, monkeypatch, made_anew):
    command = _instead_of_a_run(
        monkeypatch, lambda options: made_anew and pathlib.Path("table.csv").write_text("anew")
    )
    assert run_case(exchange(command, ("table.csv",)), workspace).kind == (
        ACCEPTED if made_anew else SILENT
    )


@pytest.mark.parametrize(("opening", "kind"), [(1, SILENT), (2, ACCEPTED)])
def test_an_input_that_is_another_one_when_it_is_opened_is_a_finding(
    workspace, monkeypatch, opening, kind
):
    command = _instead_of_a_run(
        monkeypatch, lambda options: pathlib.Path("table.csv").read_text() and None
    )
    ending = run_case(Case(command, "", while_read=("table.csv", opening)), workspace)
    assert ending.kind == kind


@pytest.mark.parametrize("target", ["encoder/ckpt-0.index", "table.csv", "sentences"])
def test_every_road_leads_to_the_input(tmp_path, target):
    (tmp_path / target).parent.mkdir(exist_ok=True)
    (tmp_path / "evidence").mkdir()
    if target == "sentences":
        (tmp_path / target).mkdir()
    else:
        (tmp_path / target).touch()
    paths = set()
    for number, road in enumerate(ROADS.values()):
        folder = shutil.copytree(tmp_path, tmp_path.with_name(f"{tmp_path.name}-{number}"))
        path, lay = road(target)
        lay(folder)
        paths.add(path)
        assert (folder / path).samefile(folder / target)
    assert len(paths) == len(ROADS)


@pytest.mark.parametrize("name", ["encoder/ckpt-0.index", "huggingface/model.safetensors"])
def test_weights_that_are_not_finite_are_refused_by_their_name(workspace, name):
    command = next(one for one in _QUICK if name in one.inputs)
    ending = run_case(
        Case(command, "", lambda folder: not_finite(folder / name, random.Random(1))), workspace
    )
    assert ending.kind == REFUSED and re.search("(nan|inf|finite)", ending.text)
