"""Runs with wrong input, in this process: some of the commands without a graph, or `FUZZ_RUNS=300` of all commands."""

import dataclasses
import os
import pathlib
import random
import re

import pytest

from bert_common.errors import UserError
from tests.fuzz.inputs import ACCEPTED, DAMAGE, GOOD, REFUSED, TRACEBACK, Case, make_case, not_finite, run_case
from tests.fuzz.workspace import COMMANDS, make_workspace

# Those that need no graph.
_QUICK = tuple(one for one in COMMANDS if one.script.startswith(("data_gen", "make_glue", "convert_")))
_RUNS = int(os.environ.get("FUZZ_RUNS", 0))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory) -> pathlib.Path:
  folder = tmp_path_factory.mktemp("workspace")
  make_workspace(folder)
  return folder


def test_the_commands_are_right_as_they_are(workspace):
  for command in COMMANDS if _RUNS else _QUICK:
    ending = run_case(Case(command, ""), workspace)
    assert ending.kind == ACCEPTED, (command.script, ending.text)


@pytest.mark.parametrize("number", range(_RUNS or 20))
def test_wrong_input_is_accepted_or_refused_in_one_line(workspace, number):
  case = make_case(COMMANDS if _RUNS else _QUICK, 5, number)
  ending = run_case(case, workspace)
  assert ending.kind in GOOD, f"{case.command.script}, {case.change}: {ending.text}"


@pytest.mark.parametrize("accepted", [True, False])
def test_findings(workspace, monkeypatch, accepted):
  """A traceback, and a file that is changed and must stay."""
  def write(options):
    pathlib.Path(options.output_file).write_text("changed")
    if not accepted:
      raise UserError("no")

  monkeypatch.setattr("data_gen.text.corpus_preparation.run", write)
  command = _QUICK[0]
  assert run_case(Case(command, ""), workspace).kind == (ACCEPTED if accepted else REFUSED)
  other = dataclasses.replace(command, arguments={**command.arguments, "output_file": "table.csv"})
  ending = run_case(Case(other, "", kept=("table.csv",)), workspace)
  assert ending.kind == DAMAGE and ending.text == ("" if accepted else "no") + "\nchanged: table.csv"
  monkeypatch.setattr("data_gen.text.corpus_preparation.run", lambda options: 1 / 0)
  ending = run_case(Case(command, ""), workspace)
  assert ending.kind == TRACEBACK and "ZeroDivisionError" in ending.text


@pytest.mark.parametrize("name", ["encoder/ckpt-0.index", "huggingface/model.safetensors"])
def test_weights_that_are_not_finite_are_refused_by_their_name(workspace, name):
  (command,) = (one for one in _QUICK if name in one.inputs)
  ending = run_case(Case(command, "", lambda folder: not_finite(folder / name, random.Random(1))), workspace)
  assert ending.kind == REFUSED and re.search("(nan|inf|finite)", ending.text)
