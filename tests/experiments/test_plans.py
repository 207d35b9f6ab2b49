import dataclasses

import pytest

from bert_common import cli
from bert_common.errors import UserError
from experiments import all as every
from experiments import distillation, masks_and_schedules, table2, table5
from experiments.runner.experiment import Experiment, ExperimentOptions, Model, Row
from experiments.runner.jobs import Given, Made, Plan, options_class
from experiments.runner.report import describe
from experiments.runner.run import make_plan
from experiments.runner.scales import find_scale

SMALL = Experiment(
    name="small",
    title="Small",
    about="Of a pre-training.",
    rows=(Row("base", Model()),),
    columns=("perplexity",),
)


def planned(scale: str, experiments, **changes):
    options = ExperimentOptions(scale=scale, print_plan=True, **changes)
    options.check()
    return *make_plan(experiments, options, find_scale(scale, options.given_models)), options


@pytest.mark.parametrize("scale", ["paper", "laptop", "toy"])
def test_every_command_of_every_experiment_parses(scale):
    """And every file that is read is given, or made by an earlier job: `Plan.add` refuses anything
    else."""
    plan, experiments, _ = planned(
        scale, (*every.EXPERIMENTS, distillation.EXPERIMENT), seeds=(1, 2)
    )
    plan.check()
    assert len(experiments) == len(every.EXPERIMENTS) + 1 == 11 and len(plan.jobs) > 100
    # Flags that name files name none that is neither a job's nor the user's.
    for job in plan.jobs.values():
        for name, value in job.flags.items():
            if name.endswith(("_file", "_dir")) or name in (
                "init_checkpoint",
                "teacher_checkpoint",
                "ensemble",
            ):
                values = value if isinstance(value, tuple) else (value,)
                assert all(isinstance(one, (Made, Given)) for one in values), (job.name, name)
        # Windows have room for questions and contexts: what only a run that has begun would say.
        if job.script == "run_squad.py" and "train_file" in job.flags:
            cli.parse(options_class(job.script), plan.command(job)).check_room()
    # What is shown is what there is.
    for one in experiments:
        assert {jobs.job for found in one.results.values() for jobs in found} <= set(plan.jobs)
        # No two points of a curve are the same checkpoint, where there are enough jobs.
        if one.experiment.x and scale != "toy":
            for name in one.columns:
                points = [result.job for row in one.rows for result in one.results[row.name, name]]
                assert len(set(points)) == len(points) == 2 * len(one.rows)


def test_commands_of_masks_and_schedules():
    plan, options = (
        Plan("out"),
        masks_and_schedules.MasksOptions(
            input_file="train",
            held_out="dev",
            glue_dir="glue",
            output_dir="out",
            results_file="results.json",
        ),
    )
    masks_and_schedules.add_jobs(plan, options, seed=1)
    plan.check()
    assert len(plan.jobs) == 8 + 4 + 4 + 2 * (6 + 4)


def test_the_settings_of_the_paper():
    plan, _, _ = planned("paper", every.EXPERIMENTS, seeds=(1,))
    run = plan.jobs["pretrain-L12-H768-A12-seed1"]
    heading = {
        name: run.flags[name]
        for name in ("train_batch_size", "learning_rate", "num_train_steps", "num_warmup_steps")
    }
    assert heading == {
        "train_batch_size": 256,
        "learning_rate": 1e-4,
        "num_train_steps": 1_000_000,
        "num_warmup_steps": 10_000,
    }
    assert run.examples == 256_000_000
    (phases,) = [word for word in plan.command(run) if word.startswith("--phases=")]
    assert phases == (
        "--phases=128:0.9:results/jobs/records-train-128-80_10_10/train.tfrecord-*-of-*,"
        "512:0.1:results/jobs/records-train-512-80_10_10/train.tfrecord-*-of-*"
    )
    # Table 1, table 5, table 6 and figure 5 share their model; the members of the ensemble have
    # seeds of their own.
    assert sum(name.startswith("pretrain-L12-H768-A12-seed") for name in plan.jobs) == 1
    assert sum(name.startswith("pretrain-L24-H1024-A16-seed") for name in plan.jobs) == 7


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
    "table8": {"run_classifier.py": _GLUE, "run_ner.py": _NER},
    "figure5": {"run_classifier.py": _GLUE},
}


@pytest.mark.parametrize("name", PAPER)
def test_fine_tuning_as_in_the_paper(name):
    plan, _, _ = planned(
        "paper", [one for one in every.EXPERIMENTS if one.name == name], seeds=(1,)
    )
    found = {
        (
            job.script,
            *(
                job.flags[name]
                for name in ("num_train_epochs", "train_batch_size", "learning_rate")
            ),
        )
        for job in plan.jobs.values()
        if job.script != "run_pretraining.py"
        and "do_train" in job.flags
        and "feature_based" not in job.flags
    }
    assert found == {(script, *settings) for script, settings in PAPER[name].items()}


def test_a_plan_for_people():
    measured = dataclasses.replace(SMALL, expect={"paper": "Little."})
    plan, experiments, _ = planned("paper", [measured], corpus="mine/*.txt")
    text = describe(plan, experiments, find_scale("paper"))
    assert "# pretrain-L12-H768-A12-seed1: 256,000,000 examples, 2.4e+19 FLOP" in text
    assert (
        "python run_pretraining.py \\\n    --do_train" in text
        and "hours, of training alone" in text
    )
    # A million steps of BERT-Base are the four days of the paper.
    assert "16 TPU v2 chips           96" in text
    assert "'--input_file=mine/*.txt'" in text and "\n  expect: Little.\n" in text
    names = list(plan.jobs)
    assert all(
        set(job.needs()) <= set(names[:number]) for number, job in enumerate(plan.jobs.values())
    )


@pytest.mark.parametrize(
    "changes, message",
    [
        ({}, "--output_dir must be given"),
        ({"output_dir": "a,b"}, "commas"),
        ({"output_dir": "x", "checkpoints": ("base:one", "base:two")}, "each size once"),
    ],
)
def test_options(changes, message):
    with pytest.raises(UserError, match=message):
        ExperimentOptions(**changes).check()


def test_the_papers_scale_needs_a_text_where_it_pretrains(tmp_path):
    with pytest.raises(UserError, match="--scale=paper needs --corpus"):
        make_plan(
            [SMALL], ExperimentOptions(scale="paper", output_dir=str(tmp_path)), find_scale("paper")
        )


GIVEN = (
    "8-512:samples/tiny_books",
    "2-128:samples/tiny_books",
    "4-256:samples/tiny_books",
    "4-512:samples/tiny_books",
)


def test_given_checkpoints_are_not_pretrained():
    """Random weights have the shape and the vocabulary of the checkpoint, so that nothing else
    differs."""
    plan, _, _ = planned("laptop", [distillation.EXPERIMENT], seeds=(1,), checkpoints=GIVEN)
    plan.check()
    assert {job.script for job in plan.jobs.values()} == {"run_classifier.py"}
    tuned = plan.jobs["sst-2-L2-H128-A2-given-run1-student"]
    assert tuned.flags["init_checkpoint"] == Given("samples/tiny_books")
    random = plan.jobs["sst-2-L2-H128-A2-given-random-run1-student"].flags
    assert random["bert_config_file"] == Given("samples/tiny_books/bert_config.json")
    assert random["vocab_file"] == Given("samples/tiny_books/vocab.txt")
    # Each stage of a student takes the better of two rates, and counts as two runs.
    taught = plan.jobs["distil-sst-2-L2-H128-A2-given-run1-student"]
    assert taught.flags["learning_rate"] == tuned.flags["learning_rate"] == (3e-4, 1e-4)
    assert (tuned.examples, taught.examples) == (2 * 3 * 1_000, 2 * (67_349 + 1_000))
    plan, _, _ = planned(
        "laptop",
        [table2.EXPERIMENT],
        seeds=(1,),
        checkpoints=("base:samples/tiny_books", "large:samples/tiny_books"),
    )
    assert all("-given" in name for name in plan.jobs)


@pytest.mark.parametrize(
    "experiment, given, message",
    [
        (SMALL, "base:samples/tiny_books", "measures the size's pre-training"),
        (table5.EXPERIMENT, "base:samples/tiny_books", "trains it in other ways"),
        (SMALL, "2-128:samples/tiny_books", "nothing here is of this size: take one of base"),
        (SMALL, "huge:samples/tiny_books", "has no such size: take one of"),
    ],
)
def test_given_checkpoints_that_do_not_fit(experiment, given, message):
    with pytest.raises(UserError, match=message):
        planned("laptop", [experiment], checkpoints=(given,))
