"""Whole experiments at toy scale, on small files of every kind: every sort of job is run for real,
in this process."""

import contextlib
import dataclasses
import gzip
import json
import os
import pkgutil
import shutil
import traceback

import pytest

from bert_common import cli
from bert_common.errors import UserError
from experiments.runner.experiment import Experiment, ExperimentOptions, Model, Row
from experiments.runner.run import run
from tests.conftest import PROJECT
from tests.experiments.test_jobs import Fake
from tests.fuzz.workspace import Command

_LEFT_TO_RIGHT = Model(next_sentence=False, left_to_right=True)
TABLE = Experiment(
    name="table",
    title="A table of everything",
    about="What every kind of job makes.",
    rows=(
        Row("both ways", Model(), (86.7,)),
        Row("left to right", _LEFT_TO_RIGHT, (77.5,), bilstm=True),
    ),
    columns=("mrpc", "qqp"),
)
WORDS = Experiment(
    name="words",
    title="Words and choices",
    about="The other kinds.",
    rows=(Row("last", Model(), (94.9,)),),
    columns=("ner_features", "perplexity", "ner", "swag", "squad"),
)
CURVE = Experiment(
    name="curve",
    title="A curve",
    about="Checkpoints on the way.",
    rows=(Row("half", Model(), at=0.5, curve="both ways"),),
    columns=("mnli",),
    x="flops",
    published=(("another", 1e9, 60.0),),
    orders_rows=False,
)

STUDENTS = Experiment(
    name="students",
    title="Students",
    about="Distillation before fine-tuning.",
    rows=(
        Row("random start", Model("2-128"), pretrained=False),
        Row("distillation", Model("2-128"), pretrained=False, teacher=Model()),
        Row("pre-trained distillation", Model("2-128"), teacher=Model()),
    ),
    columns=("mrpc",),
    orders_rows=False,
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
        (folder / "ner" / f"small_{split}.conll").write_text(
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
        assert run([TABLE, WORDS, CURVE, STUDENTS], make_options(data, folder), launch) == 0
    return folder


def report(results, name: str) -> dict:
    return json.loads((results / f"{name}.json").read_text())


def test_every_number_and_where_it_comes_from(results):
    found = report(results, "table")
    assert found["columns"] == {"mrpc": "MRPC"}
    for row in found["rows"]:
        for cell in row["columns"].values():
            (job,) = cell["jobs"]
            written = json.loads((results / "jobs" / job["job"] / "eval_results.json").read_text())
            assert (
                cell["mean"] == cell["seeds"]["1"] == pytest.approx(100 * written["eval_accuracy"])
            )
            assert cell["standard_deviation"] is None and cell["degenerate_runs"] == (
                "degenerate" in written
            )
    assert found["rows"][0]["columns"]["mrpc"]["paper"] == 86.7
    words = report(results, "words")["rows"][0]["columns"]
    assert words["perplexity"]["mean"] > 1 and words["perplexity"]["paper"] is None
    assert set(words) == {"perplexity", "ner", "ner_features", "swag", "squad"}
    assert all(cell["mean"] is not None for cell in words.values())


def test_the_report_for_people(results):
    text = (results / "table.md").read_text()
    assert text.startswith("# A table of everything\n") and "(86.7)" in text
    assert "- QQP F1 is left out: " in text
    assert (
        "run_pretraining.py --do_train" in text
        and "--bilstm_units=16" in text
        and "Seeds: 1." in text
    )
    assert (results / "curve-mnli.png").stat().st_size > 1000
    assert "![curve-mnli.png](curve-mnli.png)" in (results / "curve.md").read_text()
    assert (
        "- MRPC: " in text
        and "of 1 pairs of rows are in the paper's order; beyond chance: none" in text
    )
    assert "note: small_train.conll instead of CoNLL-2003" in (results / "printed.txt").read_text()


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
    found = json.loads(
        (
            results
            / "jobs"
            / next(name for name in runs if "pretrain" in name)
            / "eval_results.json"
        ).read_text()
    )
    assert "next_token_loss" in found and "next_sentence_loss" not in found


def test_a_point_of_a_curve_is_a_checkpoint_on_the_way(results):
    (row,) = report(results, "curve")["rows"]
    (job,) = row["columns"]["mnli"]["jobs"]
    assert job["examples"] == 8 and job["flops"] > 0
    flags = json.loads((results / "jobs" / job["job"] / "flags.json").read_text())
    assert "pretrain-L1-H16-A2-seed1/ckpt-2" in json.dumps(flags)


def test_students_are_taught_before_they_are_fine_tuned(results):
    """By a teacher that was fine-tuned on the task; one of them from random weights, the other from
    pre-trained ones."""
    random, pretrained = (
        results / "jobs" / f"distil-mrpc-L1-H8-A1-{start}-run1" for start in ("random", "seed1")
    )
    # The better of two learning rates is what is fine-tuned.
    assert [len(list(one.glob("lr*"))) for one in (random, pretrained)] == [2, 2]
    flags = [
        json.loads((one / "best" / "flags.json").read_text())["flags"]
        for one in (random, pretrained)
    ]
    assert [one["init_checkpoint"] is None for one in flags] == [True, False]
    for one in flags:
        assert one["teacher_checkpoint"][0].endswith("mrpc-L1-H16-A2-seed1-run1-teacher")
        assert one["distillation_weight"] == 1.0
        assert (
            one["transfer_file"].endswith("MRPC/train.tsv") and one["text_b_column"] == "#2 String"
        )
    for row in report(results, "students")["rows"]:
        assert row["columns"]["mrpc"]["mean"] is not None
    tuned = json.loads(
        (results / "jobs" / "mrpc-L1-H8-A1-seed1-run1-taught" / "flags.json").read_text()
    )["flags"]
    assert tuned["init_checkpoint"] == str(pretrained) and not tuned["teacher_checkpoint"]


def test_again_nothing_is_run_and_the_report_is_the_same(results, data, capsys):
    before = {
        path.name: path.read_bytes() for path in results.glob("*.*") if path.name != "printed.txt"
    }
    assert len(before) > 6

    def refuse(command: list[str], log_file: str):
        raise AssertionError(f"{command} was run again")

    assert run([TABLE, WORDS, CURVE], make_options(data, results), refuse) == 0
    assert {
        path.name: path.read_bytes() for path in results.glob("*.*") if path.name != "printed.txt"
    } == before
    assert "table: " in capsys.readouterr().out


def test_a_report_of_jobs_that_were_run_elsewhere(results, data, tmp_path, capsys):
    """By make say, which leaves no state here."""
    shutil.copytree(results / "jobs", tmp_path / "jobs")
    shutil.rmtree(tmp_path / "jobs" / "mrpc-L1-H16-A2-seed1-run1")
    for path in tmp_path.glob("jobs/*/run_result.json"):
        path.unlink()
    assert run([TABLE], make_options(data, tmp_path, report_only=True), None) == 0
    text = (tmp_path / "table.md").read_text()
    assert (
        "run elsewhere" in text
        and "| both ways     | - (86.7)" in text
        and "**Not complete**: mrpc-L1-H16" in text
    )
    assert "1 of 12 jobs have no result: mrpc-L1-H16-A2-seed1-run1\n" in capsys.readouterr().out
    before, after = (
        json.loads((folder / "table.json").read_text())["rows"][1]["columns"]["mrpc"]["mean"]
        for folder in (results, tmp_path)
    )
    assert before == after


def test_nothing_to_measure(data, tmp_path):
    table = dataclasses.replace(TABLE, columns=("qqp", "rte"))
    with pytest.raises(
        UserError,
        match="nothing can be measured: QQP F1 is left out: .*QQP has no train.tsv and dev",
    ):
        run([table], make_options(data, tmp_path), launch)
    with pytest.raises(UserError, match="--squad_dir was not given"):
        run(
            [dataclasses.replace(TABLE, columns=("squad",))],
            make_options(data, tmp_path, squad_dir=None),
            launch,
        )
