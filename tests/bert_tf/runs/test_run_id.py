"""The id of a run: what carries another one is neither used nor shown."""

import glob
import os
import shutil

import pytest

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.extras.compare import read_groups
from bert_tf.inference.predictor import Predictor
from bert_tf.runs import model_card
from bert_tf.tasks.classification import task as classification
from modeling.checkpoints.load import read_checkpoint
from tests.bert_tf.tasks.classification.toy_task import own_task, write_csv, write_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two finished runs of one command in `a` and `b`."""
    folder = tmp_path_factory.mktemp("ids")
    write_model(folder)
    write_csv(folder / "train.csv", 40, 1)
    write_csv(folder / "dev.csv", 16, 2)
    write_csv(folder / "other.csv", 16, 3)
    for name in ("a", "b"):
        assert classification.run(options(folder, folder / name)) == 0
    return folder


def options(folder, directory, **changes):
    defaults = {"num_train_epochs": 1, "do_train": True, "do_eval": True, "test_file": None}
    return own_task(folder, directory, **{**defaults, **changes})


@pytest.fixture
def run(folder, tmp_path):
    return shutil.copytree(folder / "a", tmp_path / "run")


def forget_checkpoints(run):
    for path in glob.glob(f"{run}/ckpt-*"):
        os.remove(path)


def run_id(path) -> str:
    return json_files.read(str(path))["run_id"]


def test_every_beginning_has_its_own_and_the_same_results(folder):
    assert run_id(folder / "a/inputs.json") != run_id(folder / "b/inputs.json")
    for name in ("task.json", "best/task.json"):
        assert run_id(folder / "a" / name) == run_id(folder / "a/inputs.json")
    weights = [read_checkpoint(str(folder / name)) for name in ("a", "b")]
    for name in weights[0].tensors:
        assert (weights[0].read(name) == weights[1].read(name)).all()
    for name in ("eval_results.json", "eval_predictions.jsonl"):
        assert (folder / "a" / name).read_bytes() == (folder / "b" / name).read_bytes()


@pytest.mark.parametrize(
    "changes", [{"train_file": "other.csv"}, {"learning_rate": 1e-4}, {"dev_file": None}]
)
def test_a_run_that_begins_anew_beside_results_of_another_is_refused(folder, run, changes):
    forget_checkpoints(run)
    if "train_file" in changes:
        changes = {"train_file": str(folder / changes["train_file"])}
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    if changes == {"dev_file": None}:
        changes["do_eval"] = False
        # Nothing that chooses weights: the best ones of the other run would be taken.
        (run / "inputs.json").unlink()
        del before[run / "inputs.json"]
    with pytest.raises(UserError, match=r"--output_dir: .*(best, eval_|made from something else)"):
        classification.run(options(folder, run, **changes))
    assert {path: path.read_bytes() for path in before} == before


def test_the_same_run_without_its_checkpoints_is_made_again(folder, run):
    forget_checkpoints(run)
    assert classification.run(options(folder, run)) == 0
    assert run_id(run / "inputs.json") == run_id(folder / "a/inputs.json")
    assert (run / "eval_results.json").read_bytes() == (folder / "a/eval_results.json").read_bytes()


@pytest.mark.parametrize(
    "name", ["best", "best/ckpt-{}.index", "best/best.json", "task.json", "best/task.json"]
)
def test_what_is_of_another_run_is_not_used(folder, run, name):
    step = json_files.read(str(run / "best/best.json"))["step"]
    name = name.format(step)
    if name == "best":
        shutil.rmtree(run / name)
        shutil.copytree(folder / "b" / name, run / name)
    elif name.endswith(".index"):
        for path in glob.glob(f"{folder}/b/best/ckpt-{step}.*"):
            shutil.copy(path, run / "best")
    else:
        shutil.copy(folder / "b" / name, run / name)
    if name != "task.json":
        with pytest.raises(UserError, match="of another run than"):
            Predictor.from_checkpoint(str(run))
    with pytest.raises(UserError, match="of another run than"):
        classification.run(options(folder, run, num_train_epochs=2))


def test_results_of_another_run_are_not_shown(folder, run):
    assert model_card.score_tables(str(run))
    json_files.write(str(run / "eval_results.json"), {"eval_accuracy": 0.123})
    assert not model_card.score_tables(str(run))
    groups = read_groups([str(run), str(folder / "b")])
    assert 0.123 not in groups[0].runs[0].scores.values()


def test_the_card_names_the_file_of_its_scores(folder, run):
    card = run / "README.md"
    assert "`eval_results.json`, of `dev.csv`:" in card.read_text()
    other = {"do_train": False, "dev_file": str(folder / "other.csv"), "train_file": None}
    assert classification.run(options(folder, run, **other)) == 0
    assert "`eval_results.json`, of `other.csv`:" in card.read_text()
    # Further training without an evaluation at its end leaves the scores those of the other file.
    assert classification.run(options(folder, run, num_train_epochs=2, do_eval=False)) == 0
    assert "`eval_results.json`, of `other.csv`:" in card.read_text()
    # Results that nothing says to be of this run.
    inputs = json_files.read(str(run / "inputs.json"))
    json_files.write(str(run / "inputs.json"), {**inputs, "results": {}})
    assert classification.run(options(folder, run, num_train_epochs=2, do_eval=False)) == 0
    assert "eval_results.json" not in card.read_text()
