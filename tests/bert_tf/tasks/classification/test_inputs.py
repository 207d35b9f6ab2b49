"""Classification runs know what they were made from: others of the same name are refused or pointed
out."""

import json
import pathlib
import shutil

import pytest

from bert_common import json_files
from bert_tf.tasks.classification.task import run
from modeling.encoder import BertEncoder
from tests.bert_tf.tasks.classification.toy_task import MODEL, own_task, refused, write_csv


@pytest.fixture(scope="module")
def start(folder) -> str:
    BertEncoder(MODEL, seed=1).save_checkpoint(
        str(folder / "start"), vocab_file=f"{folder}/vocab.txt", do_lower_case=True
    )
    return f"{folder}/start"


@pytest.fixture
def begun(folder, trained, start, tmp_path):
    """Options that resume a run, whose data are copies that a test may exchange."""
    for name in ("train", "dev"):
        shutil.copy(folder / f"{name}.csv", tmp_path)
    options = own_task(
        tmp_path,
        tmp_path / "run",
        test_file=None,
        do_train=True,
        num_train_epochs=1,
        bert_config_file=None,
        init_checkpoint=start,
        teacher_checkpoint=(str(shutil.copytree(trained, tmp_path / "teacher")),),
    )
    assert run(options) == 0
    return options.replace(num_train_epochs=2)


def test_what_was_exchanged_since_is_refused(begun, tmp_path, capsys):
    record = json_files.read(str(tmp_path / "run/inputs.json"))
    assert {"train", "dev", "init_checkpoint", "teacher_checkpoint"} == record["made_from"].keys()
    before = (tmp_path / "run/flags.json").read_bytes()

    def exchanged(path: pathlib.Path, what: str) -> None:
        old = path.read_bytes()
        if path.suffix == ".csv":
            write_csv(path, 203 if path.stem == "train" else 45, 1, names=("yes", "no"))
        else:
            path.write_bytes(old[:-4] + b"\1\2\3\4")
        refused(
            begun,
            f"the run in {tmp_path}/run was made from something else than now (other {what}",
            "give what it was made from, or choose another directory",
        )
        refused(begun.replace(dry_run=True), what)
        path.write_bytes(old)

    exchanged(tmp_path / "train.csv", "training data")
    exchanged(tmp_path / "dev.csv", "development data")
    exchanged(next((tmp_path / "teacher/best").glob("*.data-*")), "teacher (--teacher_checkpoint)")
    refused(begun.replace(teacher_checkpoint=()), "teacher (--teacher_checkpoint) not given")
    refused(
        begun.replace(init_checkpoint=str(tmp_path / "teacher")),
        "other start weights (--init_checkpoint) in",
    )
    assert (tmp_path / "run/flags.json").read_bytes() == before
    # The same contents anywhere, and weights that are not given again.
    (tmp_path / "other").mkdir()
    shutil.move(tmp_path / "train.csv", tmp_path / "other/data.csv")
    capsys.readouterr()
    assert run(begun.replace(train_file=f"{tmp_path}/other/data.csv", init_checkpoint=None)) == 0
    assert "resuming from" in capsys.readouterr().out
    assert (
        json_files.read(str(tmp_path / "run/inputs.json"))["made_from"].keys()
        == record["made_from"].keys()
    )


def test_a_run_of_an_earlier_version_resumes_and_gets_a_record(begun, tmp_path):
    (tmp_path / "run/inputs.json").unlink()
    write_csv(tmp_path / "dev.csv", 30, 7)
    assert run(begun) == 0
    assert (
        json_files.read(str(tmp_path / "run/inputs.json"))["made_from"]["dev"]["files"][0][0]
        == f"{tmp_path}/dev.csv"
    )


def test_an_evaluation_of_other_weights_in_the_directory_of_a_run(
    folder, trained, start, tmp_path, capsys
):
    copy = shutil.copytree(trained, tmp_path / "a")
    evaluated = own_task(
        folder, copy, do_eval=True, train_file=None, test_file=None, bert_config_file=None
    )
    for other in (start, next(str(path)[:-6] for path in copy.glob("ckpt-*.index"))):
        refused(
            evaluated.replace(init_checkpoint=other),
            f"--init_checkpoint={other} and --output_dir={copy} contradict each other",
            "begun with random ones",
        )
    # The other data are recorded, and what the run was made from stays.
    made_from = json_files.read(str(copy / "inputs.json"))["made_from"]
    write_csv(tmp_path / "dev.csv", 20, 9)
    assert run(evaluated.replace(dev_file=f"{tmp_path}/dev.csv", init_checkpoint=str(copy))) == 0
    assert f"{copy}/best/ckpt-" in capsys.readouterr().out
    record = json_files.read(str(copy / "inputs.json"))
    assert (
        record["made_from"] == made_from
        and record["evaluated_on"]["dev"]["files"][0][0] == f"{tmp_path}/dev.csv"
    )
    # Weights that the run began with may be given again.
    flags = json.loads((copy / "flags.json").read_text())
    flags["flags"]["init_checkpoint"] = start
    (copy / "flags.json").write_text(json.dumps(flags))
    assert run(evaluated.replace(init_checkpoint=start)) == 0
