"""Whole experiments at toy scale, on small files of every kind: every sort of job is run for real,
in this process."""

import contextlib
import dataclasses
import gzip
import json
import os
import pathlib
import pkgutil
import traceback

import pytest

from bert_common import cli
from bert_common.errors import UserError
from bert_common.gpus import read_driver
from experiments.runner.experiment import (
    Comparison,
    Experiment,
    ExperimentOptions,
    Model,
    Row,
)
from experiments.runner.jobs import Job
from experiments.runner.run import PlannedExperiment, make_plan, run, write_results
from tests.conftest import PROJECT
from tests.experiments.test_jobs import Fake
from tests.fuzz.workspace import Command

TABLE = Experiment(
    name="table",
    title="A table of everything",
    about="The usual jobs.",
    rows=(
        Row("both ways", Model(), (86.7,)),
        Row(
            "left to right",
            Model(next_sentence=False, left_to_right=True),
            (77.5,),
            bilstm=True,
        ),
    ),
    columns=("mrpc", "qqp"),
)
WORDS = Experiment(
    name="words",
    title="Words and choices",
    about="The other kinds of columns.",
    rows=(Row("last", Model(), (94.9,)),),
    columns=("ner_features", "perplexity", "ner", "swag", "squad"),
)
CURVE = Experiment(
    name="curve",
    title="A curve",
    about="Checkpoints of a pre-training.",
    rows=(Row("half", Model(), at=0.5),),
    columns=("mnli",),
)


def launch(command: list[str], log_file: str) -> Fake:
    """Does in this process, where TensorFlow is imported once, what the job's would do; its output
    goes to the log."""
    with (
        open(log_file, "a") as log,
        contextlib.redirect_stdout(log),
        contextlib.redirect_stderr(log),
    ):
        try:
            options, target, _ = Command(command[0], {}, ()).entry
            status = cli.status_of(
                lambda: pkgutil.resolve_name(target)(cli.parse(options, command))
            )
        except Exception:
            traceback.print_exc()
            status = 1
    if command[0].startswith("run_"):
        import keras

        keras.backend.clear_session()
    return Fake(status)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Directories of small files in the layouts of GLUE, SQuAD, SWAG and WNUT, and a text."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "text.txt").write_bytes(
        gzip.decompress((PROJECT / "samples" / "corpus.txt.gz").read_bytes())[:60_000]
    )
    names = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"
    mrpc = [
        f"{number % 2}\t1\t2\tThe array {number} is sorted.\tA list of {number} is returned."
        for number in range(24)
    ]
    mnli = "\t".join(
        [
            *(
                "index promptID pairID genre sentence1_binary_parse sentence2_binary_parse sentence1_parse "
                "sentence2_parse sentence1 sentence2 label1 label2 label3 label4 label5 gold_label".split()
            )
        ]
    )
    labels = ("neutral", "entailment", "contradiction")
    pairs = [
        "\t".join(
            [
                *"-" * 8,
                f"Premise {number // 3} is here.",
                f"And {number} follows.",
                *"-" * 5,
                labels[number % 3],
            ]
        )
        for number in range(30)
    ]
    for path, lines in (
        ("glue/MRPC/train.tsv", [names, *mrpc]),
        ("glue/MRPC/dev.tsv", [names, *mrpc[:8]]),
        ("glue/MNLI/train.tsv", [mnli, *pairs]),
        ("glue/MNLI/dev_matched.tsv", [mnli, *pairs[:6]]),
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("\n".join(lines) + "\n")
    for split, name in (("train", "questions_train.json"), ("dev", "questions_dev.json")):
        questions = json.loads((PROJECT / "samples" / name).read_text())
        questions["data"] = questions["data"][:2]
        (folder / "squad").mkdir(exist_ok=True)
        (folder / "squad" / f"{split}-v1.1.json").write_text(json.dumps(questions))
        rows = "".join(
            f"{number},v,{number},The sun. It,The sun.,It,gold,rises.,sets.,sings.,sleeps.,{number % 4}\n"
            for number in range(6)
        )
        (folder / "swag").mkdir(exist_ok=True)
        (folder / "swag" / f"{'val' if split == 'dev' else split}.csv").write_text(
            ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label\n"
            + rows
        )
        (folder / "ner").mkdir(exist_ok=True)
        (folder / "ner" / f"{split}.conll").write_text(
            "Ada\tB-person\nwrote\tO\nit\tO\n\nOslo\tB-place\n\n" * 6
        )
    return folder


def make_options(data, output_dir, **changes) -> ExperimentOptions:
    return ExperimentOptions(
        **{
            "scale": "toy",
            "output_dir": str(output_dir),
            "corpus": str(data / "text.txt"),
            "glue_dir": str(data / "glue"),
            "squad_dir": str(data / "squad"),
            "swag_dir": str(data / "swag"),
            "ner_dir": str(data / "ner"),
            "jobs": 1,
            "seeds": (1,),
            **changes,
        }
    )


@pytest.fixture(scope="module")
def results(data, tmp_path_factory):
    """An output directory with all four experiments, and what was printed."""
    folder = tmp_path_factory.mktemp("results")
    with open(folder / "printed.txt", "w") as printed, contextlib.redirect_stdout(printed):
        assert run([TABLE, WORDS, CURVE], make_options(data, folder), launch) == 0
    return folder


def rows_of(results, name: str) -> list[dict]:
    return json.loads((results / f"{name}.json").read_text())["rows"]


def test_every_number_is_that_of_its_job(results):
    for row, name in zip(
        rows_of(results, "table"),
        ("mrpc-L1-H16-A2-seed1-run1", "mrpc-L1-H16-A2-ltr-no_next_sentence-seed1-run1-bilstm"),
        strict=True,
    ):
        written = json.loads((results / "jobs" / name / "eval_results.json").read_text())
        assert row["columns"]["mrpc"]["seeds"] == {"1": 100 * written["eval_accuracy"]}
    assert rows_of(results, "table")[0]["columns"]["mrpc"]["paper"] == 86.7
    (row,) = rows_of(results, "words")
    assert set(row["columns"]) == {"perplexity", "ner", "ner_features", "swag", "squad"}
    assert row["columns"]["perplexity"]["seeds"]["1"] > 1
    assert row["columns"]["perplexity"]["paper"] is None
    assert all(len(cell["seeds"]) == 1 for cell in row["columns"].values())


def test_the_table_for_people(results):
    text = (results / "table.md").read_text()
    assert text.startswith("# A table of everything\n") and "(86.7) |" in text
    assert "- QQP F1 is left out: " in text
    assert "(77.5) |" in text and "Not complete" not in text


def test_left_to_right_is_what_is_pretrained_and_fine_tuned(results):
    runs = [
        name
        for name in os.listdir(results / "jobs")
        if "-ltr" in name and not name.startswith("config")
    ]
    assert len(runs) == 2
    for name in runs:
        config = json.loads((results / "jobs" / name / "bert_config.json").read_text())
        assert config["is_decoder"] is True
    pretraining = results / "jobs" / "pretrain-L1-H16-A2-ltr-no_next_sentence-seed1"
    metrics = json.loads((pretraining / "eval_results.json").read_text())
    assert "next_token_loss" in metrics and "next_sentence_loss" not in metrics


def test_a_point_of_a_curve_is_a_checkpoint_of_the_pretraining(results):
    path = results / "jobs" / "mnli-L1-H16-A2-seed1-at2-run1" / "flags.json"
    assert "pretrain-L1-H16-A2-seed1/ckpt-2" in path.read_text()


def test_again_nothing_is_run_and_the_report_is_the_same(results, data, capsys):
    before = (results / "table.md").read_bytes()

    def refuse(command: list[str], log_file: str):
        raise AssertionError(f"{command} was run again")

    assert run([TABLE, WORDS, CURVE], make_options(data, results), refuse) == 0
    assert (results / "table.md").read_bytes() == before
    assert "table: " in capsys.readouterr().out


def test_a_row_of_fixed_activations_is_found_in_the_selection(tmp_path):
    """One run measures all rows of table 7."""
    runs = [
        {
            "others": {"layers": layers, "combine": "concat"},
            "metrics": {"f1": f1},
            "degenerate": layers == "-1",
        }
        for layers, f1 in (("-2", 0.5), ("-1", 0.25))
    ]
    (tmp_path / "selection.json").write_text(json.dumps({"runs": runs}))
    job = Job("features", str(tmp_path), "run_ner.py", {}, "selection.json")
    row = Row("last", Model(), (94.9,), layers="last")
    experiment = Experiment(name="x", title="x", about="x", rows=(row,), columns=("ner_features",))
    plan = PlannedExperiment(
        experiment, ("ner_features",), {("last", "ner_features"): {1: job, 2: job, 3: job}}, ()
    )
    options = ExperimentOptions(output_dir=str(tmp_path))
    path = write_results(plan, options, frozenset({"features"}))
    text = pathlib.Path(path).read_text()
    assert "25.0 ± 0.0 † (94.9)" in text and "3 values, of runs that predict the same" in text


def _job(folder: pathlib.Path, name: str, files: dict[str, dict]) -> Job:
    (folder / name).mkdir()
    for file, results in files.items():
        (folder / name / file).write_text(json.dumps(results))
    return Job(name, str(folder / name), "run_ner.py", {}, "eval_results.json")


def test_averages_the_best_and_published_values(tmp_path):
    results = {}
    for number, scores in enumerate([(0.5, 0.7), (0.6, 0.5)], start=1):
        for column, metric, score in zip(
            ("mnli", "mnli_mm"), ("accuracy", "mismatched_accuracy"), scores, strict=True
        ):
            job = _job(
                tmp_path, f"{column}{number}", {"eval_results.json": {f"eval_{metric}": score}}
            )
            results.setdefault(("ours", column), {})[number] = job
    rows = (Row("theirs", None, (None, 82.0, 81.0)), Row("ours", Model(), (84.6, 83.4, 84.0)))
    columns = ("mnli", "mnli_mm", "average")
    table = Experiment("x", "x", rows, columns, "x", shows_best=True)
    complete = frozenset(job.name for jobs in results.values() for job in jobs.values())
    options = ExperimentOptions(output_dir=str(tmp_path))
    path = write_results(PlannedExperiment(table, columns, results, ()), options, complete)
    lines = [line.split("|") for line in pathlib.Path(path).read_text().splitlines()]
    cells = {line[1].strip(): [cell.strip() for cell in line[2:-1]] for line in lines if line[1:]}
    assert cells["theirs"] == ["-", "(82.0)", "(81.0)"]
    # The seeds' means are 60 and 55; the best run of each task is another one.
    assert cells["ours"][2] == "57.5 ± 3.5 best 65.0 (84.0)"
    assert cells["ours"][0] == "55.0 ± 7.1 best 60.0 (84.6)"


def test_comparisons_that_were_chosen_beforehand(tmp_path):
    """Holm's correction counts those that could not be measured."""
    scores = {"a": (0.60, 0.63, 0.61), "b": (0.58, 0.60, 0.59), "c": (0.70, 0.72, 0.71)}
    results = {}
    for row, values in scores.items():
        jobs = {}
        for seed, value in enumerate(values, start=1):
            jobs[seed] = _job(
                tmp_path, f"{row}{seed}", {"eval_results.json": {"eval_accuracy": value}}
            )
        results[row, "qnli"] = jobs
    comparisons = tuple(
        Comparison(*pair) for pair in (("a", "b", "qnli"), ("a", "c", "qnli"), ("a", "b", "squad"))
    )
    table = Experiment(
        "x", "x", tuple(Row(row, Model()) for row in scores), ("qnli", "squad"), "x", comparisons
    )
    plan = PlannedExperiment(table, ("qnli",), results, ())
    options = ExperimentOptions(output_dir=str(tmp_path))
    complete = frozenset(job.name for jobs in results.values() for job in jobs.values())
    text = pathlib.Path(write_results(plan, options, complete)).read_text()
    first, second, third = (line for line in text.splitlines() if line.startswith("- "))
    # By hand: differences 2, 3, 2, so t = 7 with 2 degrees of freedom; twice its p.
    assert first.startswith("- a above b in QNLI: 2.33 ") and "p = 0.04," in first
    assert "beyond chance" in first and "other way" not in first
    assert second.startswith("- a above c in QNLI: -9.67 ") and "other way" in second
    assert third == "- a above b in SQuAD v1.1 F1: not tested"


def test_the_scale_of_a_gpu_needs_one(data, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("bert_common.gpus._DRIVER_FILE", str(tmp_path / "none"))
    read_driver.cache_clear()
    with pytest.raises(UserError, match="--scale=gpu"):
        run([TABLE], make_options(data, tmp_path, scale="gpu"), launch)
    assert not any(tmp_path.iterdir())
    read_driver.cache_clear()


def test_a_test_set_has_a_column_where_it_has_labels(tmp_path):
    evaluation = {"eval_results.json": {"eval_f1": 0.5}}
    jobs = {
        1: _job(tmp_path, "labeled", {**evaluation, "test_results.json": {"f1": 0.4}}),
        2: _job(tmp_path, "unlabeled", evaluation),
    }
    columns = ("ner_dev", "ner_test")
    table = Experiment("x", "x", (Row("ours", Model()),), columns, "x")
    plan = PlannedExperiment(table, columns, {("ours", name): jobs for name in columns}, ())
    options = ExperimentOptions(output_dir=str(tmp_path))
    path = write_results(plan, options, frozenset({"labeled", "unlabeled"}))
    assert "50.0 ± 0.0 | 40.0" in pathlib.Path(path).read_text()


def test_rows_and_averages_without_their_data_are_left_out(data, tmp_path):
    rows = (Row("one", Model()), Row("two stages", Model(), triviaqa=True))
    table = Experiment("x", "x", rows, ("squad", "rte", "average"), "x")
    _, (plan,) = make_plan([table], make_options(data, tmp_path))
    assert plan.columns == ("squad",) and set(plan.results) == {("one", "squad")}
    assert any("convert_triviaqa.py" in note for note in plan.notes)
    assert any(note.startswith("Average is left out") for note in plan.notes)


def test_nothing_to_measure(data, tmp_path):
    table = dataclasses.replace(TABLE, columns=("qqp", "rte"))
    with pytest.raises(
        UserError,
        match="nothing can be measured: QQP F1 .*QQP",
    ):
        run([table], make_options(data, tmp_path), launch)
    with pytest.raises(UserError, match="--squad_dir"):
        run(
            [dataclasses.replace(TABLE, columns=("squad",))],
            make_options(data, tmp_path, squad_dir=None),
            launch,
        )
