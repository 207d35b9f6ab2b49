import json
import pathlib
import shutil

import numpy as np
import pytest

from bert_common import json_files
from bert_tf.runs import run as driver
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.classification.task import ClassificationTask, run
from modeling.checkpoints.load import read_checkpoint
from tests.bert_tf.tasks.classification.toy_task import own_task, refused
from tests.bert_tf.training.hparams_page import read_hparams_page


@pytest.fixture(scope="module")
def selected(folder, tmp_path_factory) -> pathlib.Path:
    directory = tmp_path_factory.mktemp("selected") / "out"
    run(selection(folder, directory, do_eval=True, do_predict=True))
    return directory


def selection(folder: pathlib.Path, output_dir, **changes) -> ClassificationOptions:
    return own_task(
        folder,
        output_dir,
        **{
            **dict(do_train=True, num_train_epochs=2, sweep={"learning_rate": (1e-6, 0.003)}),
            **changes,
        },
    )


WORSE, BETTER = (f"lr{rate}_bs8_ep2_seed1" for rate in ("1e-06", "0.003"))


def test_a_selection_predicts_with_the_best(selected):
    found = json_files.read(str(selected / "selection.json"))
    assert [one["directory"] for one in found["runs"]] == [WORSE, BETTER]
    best = found["best"]
    assert best["learning_rate"] == 0.003 and best["directory"] == BETTER
    assert json_files.read(str(selected / WORSE / "flags.json"))["flags"]["learning_rate"] == 1e-6
    assert (
        json_files.read(str(selected / "eval_results.json"))["eval_accuracy"]
        == best["metrics"]["accuracy"]
    )
    np.testing.assert_array_equal(
        read_checkpoint(str(selected)).read("output_weights"),
        read_checkpoint(str(selected / BETTER)).read("output_weights"),
    )
    kept = json_files.read(str(selected / BETTER / "run_result.json"))
    assert kept["metrics"] == best["metrics"] and kept["seconds"] > 0 and not kept["degenerate"]
    assert kept["sources"]["learning_rate"] == 0.003
    assert {"train", "dev"} < json_files.read(str(selected / BETTER / "inputs.json"))[
        "made_from"
    ].keys()


def test_without_evaluations_the_last_weights_are_chosen_among(folder, tmp_path):
    run(selection(folder, tmp_path / "out", eval_steps=0, do_predict=True, num_train_epochs=1))
    assert (tmp_path / "out" / "predictions.jsonl").exists()
    for rate in ("1e-06", "0.003"):
        best = json_files.read(str(tmp_path / f"out/lr{rate}_bs8_ep1_seed1/best/best.json"))
        assert best["step"] == 26


class Killed(ClassificationTask):
    """Is killed in the second run of a selection."""

    def evaluate(self, run):
        if self.options.learning_rate == 0.003:
            raise KeyboardInterrupt
        return super().evaluate(run)


def test_a_selection_that_was_killed_resumes(folder, selected, tmp_path, capsys):
    options = selection(folder, tmp_path / "out", do_predict=True, save_checkpoints_steps=20)
    with pytest.raises(KeyboardInterrupt):
        driver.run(Killed, options)
    assert "seconds" in (tmp_path / "out" / BETTER / "run_result.json").read_text()
    # What was begun with other options is not resumed with these.
    refused(
        options.replace(weight_decay=0.5),
        f"the run in {tmp_path / 'out' / WORSE}",
        "weight_decay: 0.01 → 0.5",
    )
    capsys.readouterr()
    assert run(options) == 0
    output = capsys.readouterr().out
    assert output.count("finished already\n") == 1 and output.count("resuming from") == 1
    assert (tmp_path / "out" / "predictions.jsonl").read_bytes() == (
        selected / "predictions.jsonl"
    ).read_bytes()


def test_every_run_of_a_selection_is_recorded(selected):
    for directory in (selected, selected / BETTER, selected / WORSE):
        assert len(json_files.read(str(directory / "flags.json"))["starts"]) >= 1
        assert (directory / "README.md").read_text().startswith("<!-- Written by bert-tf")
    assert "`selection.json` has all of them" in (selected / "README.md").read_text()
    _, groups = read_hparams_page(selected)
    assert {group.sessions[0].name for group in groups} == {WORSE, BETTER}
    best = json_files.read(str(selected / "selection.json"))["best"]["metrics"]["accuracy"]
    assert best in [
        pytest.approx(value.value)
        for group in groups
        for value in group.sessions[0].metric_values
        if value.name.tag == "best/accuracy"
    ]


def test_runs_of_a_selection_leave_no_weights_in_memory(folder, tmp_path, monkeypatch):
    models, make = [], ClassificationTask.make_model
    monkeypatch.setattr(
        ClassificationTask,
        "make_model",
        lambda self, dtype: models.append(make(self, dtype)) or models[-1],
    )
    run(selection(folder, tmp_path / "out", num_train_epochs=0.1))
    assert len(models) == 2
    assert not sum(
        one.value.read_value().shape.num_elements() for model in models for one in model.variables
    )


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"warmup_proportion": 0.2}, "has other options (warmup_proportion: 0.1 → 0.2)"),
        (
            {"train_file": "{folder}/dev.csv"},
            "made from something else than now (other training data in {folder}/dev.csv)",
        ),
        (
            {"init_checkpoint": "{trained}", "bert_config_file": None},
            "start weights (--init_checkpoint) given",
        ),
    ],
)
def test_results_of_other_options_and_data_are_not_believed(
    folder, trained, selected, tmp_path, changes, message
):
    copy = shutil.copytree(selected, tmp_path / "out")
    changes = {
        name: value and str(value).format(folder=folder, trained=trained)
        if name != "warmup_proportion"
        else value
        for name, value in changes.items()
    }
    refused(
        selection(folder, copy, **changes),
        f"the run in {copy / WORSE}",
        message.format(folder=folder),
    )
    assert digests(copy) == digests(selected)


def test_a_result_of_an_earlier_version_is_not_believed(folder, selected, tmp_path, capsys):
    """It had no sources. The weights are evaluated again."""
    copy = shutil.copytree(selected, tmp_path / "out")
    (copy / "best" / "copied.json").unlink()
    found = json_files.read(str(copy / "selection.json"))
    for one in found["runs"]:
        (copy / one["directory"] / "run_result.json").unlink()
        (copy / one["directory"] / "inputs.json").unlink()
        (copy / one["directory"] / "result.json").write_text(
            json.dumps({**one, "metrics": {"accuracy": 2.0, "loss": 0}})
        )
    run(selection(folder, copy))
    output = capsys.readouterr().out
    assert output.count("training is finished") == 2
    again = json_files.read(str(copy / "selection.json"))
    assert [one["metrics"] for one in again["runs"]] == [one["metrics"] for one in found["runs"]]
    (copy / WORSE / "run_result.json").unlink()
    refused(selection(folder, copy, warmup_proportion=0.2), "warmup_proportion: 0.1 → 0.2")


def digests(directory: pathlib.Path) -> dict[str, bytes]:
    """Everything below a directory."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_a_selection_does_not_replace_what_is_not_its_own(folder, selected, trained, tmp_path):
    def kept(directory: pathlib.Path, message: str) -> None:
        before = digests(directory)
        refused(selection(folder, directory), message)
        assert digests(directory) == before

    shutil.copytree(trained, tmp_path / "single")
    kept(tmp_path / "single", "holds a single run: choose another directory for a selection")
    for path in (tmp_path / "single").glob("ckpt-*"):
        path.unlink()
    kept(tmp_path / "single", "is of no selection, whose best weights go there: move")
    (tmp_path / "notes" / "best").mkdir(parents=True)
    (tmp_path / "notes" / "best" / "thesis.txt").write_text("mine")
    kept(tmp_path / "notes", "best/thesis.txt is of no selection")
    copy = shutil.copytree(selected, tmp_path / "copy")
    (copy / "best" / "thesis.txt").write_text("mine")
    kept(copy, "best/thesis.txt is of no selection")
