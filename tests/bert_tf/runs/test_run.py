import dataclasses
import os
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_common import cli, files, json_files, leases, locks
from bert_common.errors import UserError
from bert_tf.inference.predictor import Predictor
from bert_tf.runs import run as driver
from bert_tf.runs.evaluation import Evaluation
from bert_tf.tasks.classification import task as classification
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.classification.task import ClassificationTask
from bert_tf.tasks.pretraining import task as pretraining
from bert_tf.tasks.pretraining.options import PretrainingOptions
from bert_tf.tasks.question_answering import task as question_answering
from bert_tf.tasks.question_answering.options import SquadOptions
from bert_tf.training.run_directory import read_metrics
from modeling.checkpoints.load import read_checkpoint
from modeling.checkpoints.weights import original_name
from tests.bert_tf.tasks.classification.toy_task import WORDS, own_task, write_csv, write_model
from tests.bert_tf.training.common import LENGTH, PREDICTIONS, write_records
from tests.bert_tf.training.hparams_page import read_hparams_page
from tests.processes import best_record, curve
from tests.refusals import assert_refused


def fine_tuning(folder, output_dir, **changes) -> ClassificationOptions:
    return own_task(
        folder, output_dir, **{**dict(num_train_epochs=2, do_train=True, test_file=None), **changes}
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_model(folder)
    write_csv(folder / "train.csv", 40, 1)
    write_csv(folder / "dev.csv", 16, 2)
    return folder


def test_a_run_on_another_file_system(folder):
    """Pre-trained, resumed, fine-tuned, asked: nothing of it on this machine's disk."""
    ram = "ram://runs"
    files.make_directories(ram)
    for name in ("train.csv", "dev.csv", "vocab.txt", "bert_config.json"):
        files.copy(str(folder / name), f"{ram}/{name}")
    write_records(f"{ram}/records-0", 12, vocab_size=len(WORDS))
    write_records(f"{ram}/records-1", 9, 12, vocab_size=len(WORDS))
    pretrain = PretrainingOptions(
        input_file=f"{ram}/records-*",
        bert_config_file=f"{ram}/bert_config.json",
        output_dir=f"{ram}/pre",
        max_seq_length=LENGTH,
        max_predictions_per_seq=PREDICTIONS,
        do_train=True,
        do_eval=True,
        train_batch_size=4,
        num_train_steps=2,
        num_warmup_steps=0,
        save_checkpoints_steps=2,
        max_eval_steps=2,
    )
    assert pretraining.run(pretrain) == 0
    assert pretraining.run(pretrain.replace(num_train_steps=4)) == 0
    assert [line["step"] for line in read_metrics(f"{ram}/pre") if line["split"] == "train"][
        -1
    ] == 4
    options = fine_tuning(
        ram,
        f"{ram}/fine",
        init_checkpoint=f"{ram}/pre",
        bert_config_file=None,
        num_train_epochs=1,
        do_eval=True,
        do_predict=True,
        test_file=f"{ram}/dev.csv",
    )
    assert classification.run(options) == 0
    assert {
        "best",
        "checkpoint",
        "eval_results.json",
        "metrics.jsonl",
        "task.json",
        "test_results.tsv",
        "train",
    } <= set(files.list_directory(f"{ram}/fine"))
    assert leases.NAME not in files.list_directory(f"{ram}/fine")
    assert any("tfevents" in name for name in files.list_directory(f"{ram}/fine/train"))
    with (
        leases.holding(f"{ram}/fine", "", leases.Intervals(renewal=0.1, settling=0.1)),
        pytest.raises(UserError, match="--output_dir=ram://runs/fine: another run is writing"),
    ):
        classification.run(options)
    (answer,) = Predictor.from_checkpoint(f"{ram}/fine")(["the film was good"])
    assert set(answer["probabilities"]) == {"no", "yes"}


@pytest.fixture(scope="module")
def first(folder, tmp_path_factory) -> str:
    options = fine_tuning(folder, tmp_path_factory.mktemp("first") / "run", num_train_epochs=1)
    assert classification.run(options) == 0
    return options.output_dir


@pytest.mark.parametrize(
    "changes, frozen",
    [
        ({"freeze_embeddings": True}, ["bert/embeddings/"]),
        ({"freeze_layers": 1}, ["bert/encoder/layer_0/"]),
    ],
)
def test_frozen_weights_stay_as_they_are(folder, first, tmp_path, changes, frozen, capsys):
    second = fine_tuning(
        folder,
        tmp_path / "second",
        init_checkpoint=first,
        bert_config_file=None,
        num_train_epochs=1,
        seed=2,
        **changes,
    )
    assert classification.run(second) == 0
    assert "of them frozen" in capsys.readouterr().out
    before, after = read_checkpoint(first), read_checkpoint(str(tmp_path / "second"))
    for name in before.tensors:
        same = np.array_equal(before.read(name), after.read(name))
        assert same == name.startswith(tuple(frozen)), name
    # They have no slots either.
    slots = {
        original_name(key.removeprefix("optimizer/m/").removesuffix("/.ATTRIBUTES/VARIABLE_VALUE"))
        for key in tf.train.load_checkpoint(str(tmp_path / "second")).get_variable_to_shape_map()
        if key.startswith("optimizer/m/")
    }
    assert slots == {name for name in before.tensors if not name.startswith(tuple(frozen))}


@pytest.fixture(scope="module")
def whole(folder, tmp_path_factory) -> ClassificationOptions:
    """Options of a run that was not stopped."""
    options = fine_tuning(
        folder,
        tmp_path_factory.mktemp("whole") / "run",
        save_checkpoints_steps=5,
        iterations_per_loop=5,
    )
    assert classification.run(options) == 0
    assert [
        line["step"] for line in read_metrics(options.output_dir) if line["split"] == "eval"
    ] == [5, 10]
    return options


@pytest.mark.parametrize("lost_step", [5, 10])
def test_an_evaluation_that_was_due_is_made_up(whole, tmp_path, lost_step):
    """A run that was stopped between a checkpoint and its evaluation, on the way and at the end."""
    stopped = whole.replace(output_dir=str(tmp_path))

    class Interrupted(ClassificationTask):
        """Is killed when it should evaluate."""

        def evaluate(self, run):
            if run.step == lost_step:
                raise KeyboardInterrupt
            return super().evaluate(run)

    with pytest.raises(KeyboardInterrupt):
        driver.run(Interrupted, stopped)
    assert os.path.exists(tmp_path / f"ckpt-{lost_step}.index")
    assert classification.run(stopped) == 0
    found, expected = (
        [line for line in curve(one.output_dir) if line["split"] == "eval"]
        for one in (stopped, whole)
    )
    assert found == expected
    assert best_record(stopped.output_dir) == best_record(whole.output_dir)


class Scripted(ClassificationTask):
    """Has the scores that a test says; is killed when it should evaluate the step `killed_at`."""

    scores = {1: 0.5, 2: 0.7, 3: 0.6, 4: 0.7, 5: 0.9}
    killed_at: int | None = None

    def evaluate(self, run):
        if run.step == self.killed_at:
            raise KeyboardInterrupt
        return Evaluation(run.step, {"accuracy": self.scores[run.step], "loss": 1.0})


def test_a_run_that_gets_no_better_ends_early_and_at_the_same_step_when_it_was_killed(
    folder, tmp_path, capsys
):
    options = fine_tuning(
        folder,
        tmp_path,
        num_train_epochs=1,
        eval_steps=1,
        iterations_per_loop=1,
        early_stopping_patience=2,
    )
    # There is no checkpoint yet: the run begins again, below the step of its best weights.
    with pytest.raises(KeyboardInterrupt):
        driver.run(type("Killed", (Scripted,), {"killed_at": 4}), options)
    assert json_files.read(str(tmp_path / "best" / "best.json"))["step"] == 2
    for what in ("trained to step 4", "training is finished: "):
        assert driver.run(Scripted, options) == 0
        output = capsys.readouterr().out
        assert (
            what in output
            and "early stopping at step 4 of 5: accuracy was best at step 2" in output
        )
    evaluations = [
        (line["step"], line["accuracy"])
        for line in read_metrics(str(tmp_path))
        if line["split"] == "eval"
    ]
    assert evaluations == [(step, Scripted.scores[step]) for step in (1, 2, 3, 4)]
    assert json_files.read(str(tmp_path / "best" / "best.json"))["step"] == 2


def test_early_stopping_without_a_development_set(folder, tmp_path):
    with pytest.raises(UserError, match="--early_stopping_patience needs something with labels"):
        classification.run(fine_tuning(folder, tmp_path, dev_file=None, early_stopping_patience=2))


def test_a_run_directory_is_a_record(folder, tmp_path, capsys):
    options = fine_tuning(folder, tmp_path / "run", num_train_epochs=1)
    for epochs in (1, 2):
        classification.run(options.replace(num_train_epochs=epochs))
    directory = tmp_path / "run"
    assert "changed since the last run" in capsys.readouterr().out
    assert [
        start["devices"] for start in json_files.read(str(directory / "flags.json"))["starts"]
    ] == ["1 x CPU (no distribution), float32"] * 2
    assert "starts" not in json_files.read(str(directory / "best" / "flags.json"))
    card = (directory / "README.md").read_text()
    assert (
        f'| `--train_file` | `"{folder}/train.csv"` |' in card
        and "| `--num_train_epochs` | `2` | `3.0` |" in card
    )
    # Of the directory above: TensorBoard finds no metrics of a row that is all there is.
    _, (group,) = read_hparams_page(tmp_path)
    assert (
        group.hparams["seed"].number_value == 1
        and group.hparams["learning_rate"].number_value == 0.003
    )
    assert not {"weight_decay", "train_file"} & set(group.hparams)
    assert {"quality/accuracy", "best/accuracy"} <= {
        value.name.tag for value in group.sessions[0].metric_values
    }


def test_a_second_run_in_one_directory_is_refused(folder, tmp_path):
    with (
        locks.directory_lock(str(tmp_path), ""),
        pytest.raises(UserError, match=f"--output_dir={tmp_path}: another run is writing there"),
    ):
        classification.run(fine_tuning(folder, tmp_path))
    assert os.listdir(tmp_path) == []


def test_the_best_weights_are_not_evaluated_again(folder, tmp_path):
    """The results are those of the evaluation that found them, and so is the confusion matrix."""
    seen = []

    class Declining(ClassificationTask):
        """Gets worse from epoch to epoch."""

        def evaluate(self, run):
            evaluation = super().evaluate(run)
            seen.append(
                dataclasses.replace(
                    evaluation, metrics=evaluation.metrics | {"accuracy": 1.0 - run.step / 100}
                )
            )
            return seen[-1]

        def write_evaluation(self, run, evaluation):
            assert run.weights.step == 5 and evaluation is seen[0]
            super().write_evaluation(run, evaluation)

    outcome = driver.start(Declining, fine_tuning(folder, tmp_path / "out", do_eval=True))
    assert [one.step for one in seen] == [5, 10]
    assert outcome.evaluation is seen[0] and outcome.test_metrics is None
    assert json_files.read(str(tmp_path / "out/eval_results.json"))["global_step"] == 5


class TooLarge(ClassificationTask):
    """Raises TensorFlow's error in a training step, or in an evaluation."""

    def loss(self, model):
        raise tf.errors.ResourceExhaustedError(
            None, None, "OOM when allocating tensor with shape[64,4194304]"
        )

    def answer(self, run, split):
        self.loss(run.weights.model)


def test_too_little_memory_is_one_line(folder, first, tmp_path):
    assert_refused(
        lambda: driver.start(TooLarge, fine_tuning(folder, tmp_path / "train")),
        "out of memory: a step of --train_batch_size=8 does not fit ",
        "--gradient_accumulation_steps=2",
        "--recompute",
        "--max_seq_length",
        "nvidia-smi",
    )
    with pytest.raises(
        UserError, match="^out of memory: a batch of --predict_batch_size=64 does not fit"
    ):
        driver.start(
            TooLarge,
            fine_tuning(
                folder, tmp_path / "train", do_train=False, do_eval=True, init_checkpoint=first
            ),
        )


def test_a_run_of_an_earlier_version_resumes(project, tmp_path):
    """The command and the weights it ends with are in tests/fixtures/README.md."""
    fixture = project / "tests/fixtures/run_directories/pretraining"
    run, config = shutil.copytree(fixture / "run", tmp_path / "run"), tmp_path / "bert_config.json"
    # Without dropout, whose masks are others since then.
    for path in (config, run / "bert_config.json"):
        path.write_text(
            (fixture / "bert_config.json")
            .read_text()
            .replace('dropout_prob": 0.1', 'dropout_prob": 0.0')
        )
    assert (
        pretraining.run(
            PretrainingOptions(
                input_file=str(fixture / "records.tfrecord.gz"),
                bert_config_file=str(config),
                vocab_file=str(fixture / "vocab.txt"),
                do_lower_case=True,
                output_dir=str(run),
                max_seq_length=12,
                max_predictions_per_seq=2,
                do_train=True,
                do_eval=True,
                train_batch_size=8,
                learning_rate=1e-2,
                num_train_steps=8,
                num_warmup_steps=2,
                save_checkpoints_steps=4,
                max_eval_steps=2,
                eval_batch_size=8,
                iterations_per_loop=2,
                jit_compile="false",
                keep_checkpoint_max=0,
                seed=7,
            )
        )
        == 0
    )
    lines = read_metrics(str(run))
    assert [line["step"] for line in lines if line["split"] == "train"][-2:] == [6, 8]
    resumed = read_checkpoint(str(run / "ckpt-8"))
    with np.load(fixture / "weights_at_step_8.npz") as expected:
        assert set(expected.files) == set(resumed.tensors)
        for name in expected.files:
            np.testing.assert_allclose(
                resumed.read(name), expected[name], rtol=0, atol=1e-6, err_msg=name
            )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("metrics.jsonl", "[]\n", "metrics.jsonl:1: a JSON object is expected"),
        ("best/best.json", "{}", "best/best.json: there is no 'step'"),
        ("eval", "", "eval is a file"),
    ],
)
def test_a_run_that_is_refused_changes_nothing(project, tmp_path, name, content, message):
    run = (
        shutil.copytree(project / "tests/fixtures/run_directories/classification", tmp_path / "all")
        / "run"
    )
    (run / name).write_text(content)
    contents = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with pytest.raises(UserError, match=message):
        classification.run(
            ClassificationOptions(
                task_name="custom",
                train_file=f"{run.parent}/train.csv",
                dev_file=f"{run.parent}/dev.csv",
                text_a_column="review",
                label_column="verdict",
                bert_config_file=f"{run.parent}/bert_config.json",
                vocab_file=f"{run.parent}/vocab.txt",
                output_dir=str(run),
                do_train=True,
                do_eval=True,
                max_seq_length=12,
                num_train_epochs=4,
                train_batch_size=8,
            )
        )
    assert {path: path.read_bytes() for path in contents} == contents


def test_finished_runs_of_an_earlier_version_predict_as_they_did(project, tmp_path):
    fixture = project / "tests/fixtures/run_directories/question_answering"
    run = shutil.copytree(fixture / "run", tmp_path / "run")
    assert (
        question_answering.run(
            SquadOptions(
                output_dir=str(run), do_predict=True, predict_file=str(fixture / "dev.json")
            )
        )
        == 0
    )
    for name in ("predictions.json", "eval_results.json"):
        assert json_files.read(str(run / name)) == json_files.read(str(fixture / "run" / name)), (
            name
        )
    fixture = project / "tests/fixtures/run_directories/classification"
    run = shutil.copytree(fixture / "run", tmp_path / "classification")
    assert (
        classification.run(
            ClassificationOptions(
                task_name="custom",
                dev_file=str(fixture / "dev.csv"),
                text_a_column="review",
                label_column="verdict",
                output_dir=str(run),
                do_eval=True,
                max_seq_length=12,
            )
        )
        == 0
    )
    found, expected = (
        json_files.read(str(one / "eval_results.json")) for one in (run, fixture / "run")
    )
    # That it predicts one class for everything is reported since.
    assert "all 8 examples of dev are predicted as" in found.pop("degenerate")
    # Metrics that came later are beside them.
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "script", "options", "run", "shown"),
    [
        (
            "classification",
            "run_classifier.py",
            ClassificationOptions,
            classification.run,
            "training     steps 8 to 36",
        ),
        (
            "question_answering",
            "run_squad.py",
            SquadOptions,
            question_answering.run,
            "training     steps",
        ),
        (
            "pretraining",
            "run_pretraining.py",
            PretrainingOptions,
            pretraining.run,
            "ahead    8 steps of 8 examples",
        ),
    ],
)
def test_dry_runs_of_runs_of_an_earlier_version(
    project, tmp_path, monkeypatch, capsys, name, script, options, run, shown
):
    """With the flags.json of the run as the configuration; nothing is written, here and in a new
    directory."""
    folder = shutil.copytree(project / "tests/fixtures/run_directories" / name, tmp_path / "all")
    contents = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
    monkeypatch.chdir(folder)
    more = {"pretraining": "--num_train_steps=12"}.get(name, "--num_train_epochs=9")
    for flags in (["--output_dir=new"], []):
        assert (
            run(cli.parse(options, [script, "--config=run/flags.json", "--dry_run", more, *flags]))
            == 0
        )
        assert {
            path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")
        } == contents
        lines = capsys.readouterr().out.splitlines()
        assert {"model", "time", "memory", "reads", "writes"} <= {line.split()[0] for line in lines}
        assert "nothing was written: --dry_run" in lines
    assert any(line.startswith("resuming from run/ckpt-") for line in lines)
    assert any(line.startswith(shown) for line in lines), lines


def test_a_dry_run_of_a_selection_and_of_an_evaluation(folder, tmp_path, capsys):
    options = fine_tuning(folder, tmp_path / "out", sweep={"seed": (1, 2)}, dry_run=True)
    assert classification.run(options) == 0 and not (tmp_path / "out").exists()
    lines = capsys.readouterr().out.splitlines()
    runs = ["lr0.003_bs8_ep2_seed1", "lr0.003_bs8_ep2_seed2"]
    assert f"2 runs, one after the other: {', '.join(runs)}; the first:" in lines
    assert any(
        line.startswith(f"writes       {tmp_path}/out/{runs[0]}: a checkpoint of about ")
        for line in lines
    )
    classification.run(fine_tuning(folder, tmp_path / "out"))
    before = sorted(tmp_path.rglob("*"))
    capsys.readouterr()
    assert (
        classification.run(
            fine_tuning(folder, tmp_path / "out", do_train=False, do_eval=True, dry_run=True)
        )
        == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert (
        f"writes       {tmp_path}/out: results" in lines and sorted(tmp_path.rglob("*")) == before
    )
    # A run of its own stays.
    with pytest.raises(UserError, match="holds a single run"):
        classification.run(options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(train_file="none.csv"), "none.csv does not exist"),
        (dict(freeze_layers=9), "layers can.t be frozen"),
        (dict(output_dir="{folder}/train.csv/out"), "can't write in .*: Not a directory"),
        (dict(do_train=False, do_eval=True), "holds no trained model"),
        (dict(train_batch_size=2**31 - 1), "needs at least .* of memory"),
    ],
)
def test_a_dry_run_refuses_what_a_run_refuses(folder, tmp_path, changes, message):
    changes = {
        name: value.format(folder=folder) if isinstance(value, str) else value
        for name, value in changes.items()
    }
    for dry_run in (True, False):
        with pytest.raises(UserError, match=message):
            classification.run(
                fine_tuning(folder, **{"output_dir": tmp_path / "out", **changes}, dry_run=dry_run)
            )
        assert not dry_run or not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["train.csv", "start/best/ckpt-*.index"])
def test_a_run_whose_input_is_exchanged_while_it_is_read_is_refused(folder, first, tmp_path, name):
    """Nothing is recorded, and nothing is trained."""
    shutil.copytree(folder, tmp_path / "data")
    shutil.copytree(first, tmp_path / "data/start")

    def make_task(options):
        task = ClassificationTask(options)
        (path,) = (tmp_path / "data").glob(name)
        path.rename(f"{path}.old")
        shutil.copy2(f"{path}.old", path)
        return task

    options = fine_tuning(tmp_path / "data", tmp_path / "out")
    options = options.replace(init_checkpoint=f"{tmp_path}/data/start", bert_config_file=None)
    with pytest.raises(UserError, match=r"(csv|index) has changed while it was read"):
        driver.start(make_task, options)
    assert os.listdir(tmp_path / "out") == []


def test_any_name_of_a_directory_holds_a_run(folder, tmp_path):
    for name in ("run[1]", "a*b ?ä", "x" * 240):
        options = fine_tuning(folder, tmp_path / name, num_train_epochs=1)
        assert driver.run(ClassificationTask, options) == 0
        assert read_checkpoint(options.output_dir).directory == f"{options.output_dir}/best"
        # It is found again.
        trainer = driver.start(ClassificationTask, options.replace(num_train_epochs=2.0))
        assert trainer.is_finished() and trainer.step == 10
