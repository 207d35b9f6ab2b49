"""docs/paper.md: every row has a test, every command is one that runs, every value one that was
measured."""

import dataclasses
import json
import pkgutil
import re
import shlex

import pytest

from bert_tf.tables import show_mean
from tests import promises, tiny
from tests.fuzz.workspace import COMMANDS, make_workspace
from tests.page_commands import PROJECT, run_script

PAGE = PROJECT / "docs/paper.md"


def _rows() -> list[list[str]]:
    """Returns the cells of the rows that have tests: statement, command, here, paper, tests."""
    rows = []
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 5 and promises.TEST.search(cells[4]):
            rows.append(cells)
    return rows


_ROWS = _rows()
_CODE = [code for row in _ROWS for code in re.findall(r"`([^`]+)`", row[1])]
_COMMANDS = sorted({code for code in _CODE if ".py" in code})
# Script → flags of its smallest form, beside those of the workspace; the commands of the page name
# files that are not here.
_SMALL = {
    "run_classifier.py": {"dev_file": "dev.csv", "test_file": "table.csv"},
    "run_squad.py": {"predict_file": "squad.json"},
    "run_swag.py": {"dev_file": "swag.csv", "test_file": "swag.csv"},
    "run_ner.py": {
        "init_checkpoint": "cased",
        "dev_file": "tags.conll",
        "test_file": "tags.conll",
    },
    "experiments/figures.py": {"init_checkpoint": "masked", "output_dir": "out"},
    "experiments/write_config.py": {"vocab_file": "vocab.txt", "output_dir": "out"},
}
# What the page gives stays, but for its data: a plan needs no small batches.
_KEPT = ("train_batch_size", "num_train_epochs", "learning_rate", "num_train_steps")
_ELSEWHERE = ("data_dir",)
_PHASES = "16:0.9:train.tfrecord,16:0.1:train.tfrecord"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper")
    make_workspace(folder)
    # Named entities need a cased model, table 7 four layers.
    config = dataclasses.replace(tiny.CONFIG, num_hidden_layers=4)
    (folder / "cased").mkdir()
    tiny.write_tiny(folder / "cased", config=config, do_lower_case=False)
    return folder


def _smallest(command: str) -> tuple[str, list[str]]:
    """Returns a script and its arguments with the workspace's files in place of the page's."""
    script, *words = shlex.split(command)
    given = {}
    for word in words:
        name, _, value = word.removeprefix("--").partition("=")
        given[name] = value or "true"
    small = dict(_SMALL.get(script, {}))
    for known in COMMANDS:
        if known.script == script:
            small = {**known.arguments, **small}
            break
    recipe = given.get("config", "")
    if recipe:
        given["config"] = str(PROJECT / recipe)
    if "do_eval" in given and script == "run_pretraining.py":
        small = {
            **small,
            "init_checkpoint": "masked",
            "do_train": "false",
            "eval_file": "train.tfrecord",
        }
    if "pretraining" in recipe:
        small = {**small, "phases": _PHASES, "eval_file": "train.tfrecord"}
        for name in ("input_file", "max_seq_length", "max_predictions_per_seq"):
            del small[name]
    flags = {name: value for name, value in given.items() if name not in _ELSEWHERE}
    for name, value in small.items():
        if name not in _KEPT or not recipe:
            flags[name] = value
    if script.startswith("run_"):
        flags["dry_run"] = "true"
    return script, [f"--{name}={value}" for name, value in flags.items()]


@pytest.mark.parametrize("command", _COMMANDS)
def test_a_command_runs_on_tiny_files_or_prints_its_plan(command, workspace, monkeypatch, tmp_path):
    for path in workspace.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    script, arguments = _smallest(command)
    printed = run_script(str(PROJECT / script), arguments)
    if script.startswith("run_"):
        assert "nothing was written: --dry_run" in printed and not (tmp_path / "out").exists()
    elif "--print_plan" in command:
        assert "jobs; pre-training:" in printed
    else:
        assert len(list(tmp_path.iterdir())) > len(list(workspace.iterdir()))


def test_a_class_is_there():
    classes = [code for code in _CODE if code.startswith("modeling.")]
    assert len(classes) > 10
    for name in classes:
        pkgutil.resolve_name(name.replace(".", ":", 1))


def test_every_row_is_whole():
    """Node ids are checked with those of the other pages, in tests/test_promises.py."""
    assert len(_ROWS) > 50
    for statement, command, here, paper, _ in _ROWS:
        assert statement and command.startswith("`") and here and paper


def test_a_value_is_in_a_file_or_held_by_a_test():
    for statement, _, here, _, tests in _ROWS:
        text = re.sub(r"\]\([^)]*\)", "", here)
        files = re.findall(r"\((results/\w+\.json)\)", here)
        if files:
            measured = {mean for file in files for mean in _means(json.loads(_read(file)))}
            values = re.findall(r"[\d.]+ ± [\d.]+", text)
            assert values and measured.issuperset(values), statement
        elif not text.startswith("not measured"):
            proofs = {promises.place(test)[0] for test in promises.TEST.findall(tests)}
            sources = "".join(path.read_text("utf-8") for path in proofs).replace("_", "")
            for number in re.findall(r"\d[\d,.]*", text):
                assert number.replace(",", "") in sources, statement


def _read(file: str) -> str:
    return (PROJECT / "docs" / file).read_text("utf-8")


def _means(results: dict) -> list[str]:
    means = []
    for row in results["rows"]:
        for cell in row["columns"].values():
            means.append(show_mean(list(cell["seeds"].values()), results["decimals"]))
    return means


def test_the_grid_of_appendix_a_has_18_runs(workspace, monkeypatch, tmp_path):
    monkeypatch.chdir(workspace)
    (command,) = [code for code in _COMMANDS if "glue_grid" in code and "task_name=rte" in code]
    script, arguments = _smallest(command)
    assert "18 runs" in run_script(str(PROJECT / script), arguments)
