import importlib

import pytest

from bert_common import cli
from bert_common.errors import UserError
from bert_common.options import Options
from experiments import all as every
from experiments import table2, table5
from experiments.runner.experiment import Experiment, ExperimentOptions, Model, Row
from experiments.runner.jobs import Job
from experiments.runner.run import describe, make_plan

SMALL = Experiment(
    name="small",
    title="Small",
    about="Of a pre-training.",
    rows=(Row("base", Model()),),
    columns=("perplexity",),
)


def plan_of(scale: str, experiments, **changes):
    options = ExperimentOptions(scale=scale, print_plan=True, **changes)
    options.check()
    return make_plan(experiments, options)


def options_of(job: Job) -> Options:
    """Parses a command with the options that its script imports."""
    module = importlib.import_module(job.script.removesuffix(".py").replace("/", "."))
    (options_class,) = (
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Options) and value is not Options
    )
    return cli.parse(options_class, job.command())


@pytest.mark.parametrize("scale", ["paper", "laptop", "gpu", "toy"])
def test_every_command_of_every_experiment_parses(scale):
    jobs, planned = plan_of(scale, every.EXPERIMENTS, seeds=(1, 2))
    assert len(planned) == len(every.EXPERIMENTS) and len(jobs) > 50
    before = set()
    for job in jobs.values():
        options = options_of(job)
        # Windows have room for questions and contexts: what only a run that has begun would say.
        if job.script == "run_squad.py" and "train_file" in job.flags:
            options.check_room()
        assert before.issuperset(job.needs)
        # The directories of other jobs in the command are those of the jobs it needs.
        text = " ".join(job.command())
        for name in jobs:
            if name != job.name and any(
                f"results/jobs/{name}{end}" in f"{text} " for end in ("/", ",", " ")
            ):
                assert name in job.needs, (job.name, name)
        before.add(job.name)
    for plan in planned:
        assert plan.result_jobs() <= set(jobs)
        # No two points of a curve are the same checkpoint, where there are enough of them.
        if plan.experiment.name == "figure5" and scale != "toy":
            assert len(plan.result_jobs()) == 2 * len(plan.experiment.rows)


def test_the_settings_of_the_paper():
    jobs, _ = plan_of("paper", every.EXPERIMENTS, seeds=(1,))
    run = jobs["pretrain-L12-H768-A12-seed1"]
    assert run.flags["train_batch_size"] == 256
    assert run.flags["learning_rate"] == 1e-4
    assert run.flags["num_train_steps"] == 1_000_000
    assert run.flags["num_warmup_steps"] == 10_000
    assert run.sequences == 256_000_000
    (phases,) = [word for word in run.command() if word.startswith("--phases=")]
    assert phases == (
        "--phases=128:0.9:results/jobs/records-train-128-80_10_10/train.tfrecord-*-of-*,"
        "512:0.1:results/jobs/records-train-512-80_10_10/train.tfrecord-*-of-*"
    )
    # Table 1, table 5, table 6 and figure 5 share their model; the members of the ensemble have
    # seeds of their own.
    assert sum(name.startswith("pretrain-L12-H768-A12-seed") for name in jobs) == 1
    assert sum(name.startswith("pretrain-L24-H1024-A16-seed") for name in jobs) == 7


# Epochs, batch size, learning rates, of several the best: sections 4.1 to 4.4 of the paper,
# appendix A.3 for named entities, whose section 5.3 names none.
_GLUE, _SQUAD = (3, 32, (5e-5, 4e-5, 3e-5, 2e-5)), (3, 32, 5e-5)
_NER = (3, 32, (5e-5, 3e-5, 2e-5))
PAPER = {
    "table1": {"run_classifier.py": _GLUE},
    "table2": {"run_squad.py": _SQUAD},
    "table3": {"run_squad.py": (2, 48, 5e-5)},
    "table4": {"run_swag.py": (3, 16, 2e-5)},
    "table5": {"run_classifier.py": _GLUE, "run_squad.py": _SQUAD},
    "table6": {"run_classifier.py": _GLUE},
    "table7": {"run_ner.py": _NER},
    "table8": {"run_classifier.py": _GLUE, "run_ner.py": _NER},
    "figure5": {"run_classifier.py": _GLUE},
}


@pytest.mark.parametrize("name", PAPER)
def test_fine_tuning_as_in_the_paper(name):
    jobs, _ = plan_of("paper", [one for one in every.EXPERIMENTS if one.name == name], seeds=(1,))
    found = {
        (
            job.script,
            *(
                job.flags[name]
                for name in ("num_train_epochs", "train_batch_size", "learning_rate")
            ),
        )
        for job in jobs.values()
        if job.script != "run_pretraining.py"
        and "do_train" in job.flags
        and "feature_based" not in job.flags
    }
    assert found == {(script, *settings) for script, settings in PAPER[name].items()}


def test_published_values_are_whole():
    """A value too few or too many would stand in another column."""
    for experiment in every.EXPERIMENTS:
        for row in experiment.rows:
            assert len(row.paper) <= len(experiment.columns), (experiment.name, row.name)
    (table,) = [one for one in every.EXPERIMENTS if one.name == "table1"]
    average = table.columns.index("average")
    for row in table.rows:
        # The paper's averages are of unrounded scores.
        assert row.paper[average] == pytest.approx(sum(row.paper[:average]) / average, abs=0.1)


def test_triviaqa_comes_first():
    jobs, (plan,) = plan_of("paper", [table2.EXPERIMENT], seeds=(1,))
    (result,) = plan.results["BERT-Large + TriviaQA", "squad"].values()
    stage = jobs["triviaqa-L24-H1024-A16-seed1-run1"]
    assert stage.flags["train_file"] == "squad_dir/triviaqa.json"
    assert result.flags["init_checkpoint"] == stage.directory and stage.name in result.needs
    (ensemble,) = plan.results["BERT-Large + TriviaQA, ensemble", "squad"].values()
    assert len(ensemble.needs) == 7 and result.name in ensemble.needs
    assert all("triviaqa" in name for name in ensemble.needs)


def test_a_plan_for_people():
    text = describe(*plan_of("paper", [SMALL], corpus="mine/*.txt"))
    assert "# pretrain-L12-H768-A12-seed1: 256,000,000 sequences, 2.4e+19 FLOP" in text
    assert "python run_pretraining.py \\\n    --do_train" in text
    # A million steps of BERT-Base are the four days of the paper.
    assert "16 TPU v2 chips         96." in text or "16 TPU v2 chips         95." in text
    assert "'--input_file=mine/*.txt'" in text


@pytest.mark.parametrize(
    "changes, message",
    [
        ({}, "--output_dir"),
        ({"output_dir": "a,b"}, "--output_dir=a,b"),
        ({"output_dir": "x", "checkpoints": ("base",)}, "--checkpoints=base"),
        ({"output_dir": "x", "seeds": (1, 2, 1)}, "--seeds=1,2,1"),
    ],
)
def test_options(changes, message):
    with pytest.raises(UserError, match=message):
        ExperimentOptions(**changes).check()


def test_a_text_is_needed_where_it_pretrains(tmp_path):
    with pytest.raises(UserError, match="--corpus"):
        make_plan([SMALL], ExperimentOptions(output_dir=str(tmp_path)))


def test_given_checkpoints_are_not_pretrained():
    jobs, _ = plan_of(
        "laptop",
        [table2.EXPERIMENT],
        seeds=(1,),
        checkpoints=("base:samples/tiny_books", "large:samples/tiny_books"),
    )
    assert {job.script for job in jobs.values()} == {"run_squad.py"}
    assert jobs["v1.1-base-given-run1"].flags["init_checkpoint"] == "samples/tiny_books"


@pytest.mark.parametrize(
    "experiment, given, message",
    [
        (SMALL, "base:samples/tiny_books", "measures the size's pre-training"),
        (table5.EXPERIMENT, "base:samples/tiny_books", "trains it in other ways"),
        (SMALL, "huge:samples/tiny_books", "use one of base"),
    ],
)
def test_given_checkpoints_that_do_not_fit(experiment, given, message):
    with pytest.raises(UserError, match=message):
        plan_of("laptop", [experiment], checkpoints=(given,))
