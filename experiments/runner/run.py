"""The way of an experiment: plan → check → run what is not complete → measure → report."""

from collections.abc import Sequence

from bert_common import cli, files, locks, parallel
from bert_common.errors import UserError
from experiments.runner.experiment import Experiment, ExperimentOptions
from experiments.runner.jobs import Launch, Outcome, Plan, State, launcher, run_jobs
from experiments.runner.recipes import Recipes, available
from experiments.runner.report import Planned, describe, measure, write_report
from experiments.runner.scales import Scale, find_scale


def main(*experiments: Experiment) -> None:
    """The work of the scripts in `experiments/`, with the flags of the command line."""
    cli.run(ExperimentOptions, lambda options: run(experiments, options))


def run(
    experiments: Sequence[Experiment], options: ExperimentOptions, launch: Launch | None = None
) -> int:
    """Plans, runs and reports experiments, whose common jobs are run once; returns the exit status.

    Args:
      launch: starts a command; None for processes.

    Raises:
      UserError: nothing can be measured with the data that there is; a job has failed; the
        directory holds another scale, or is in use; the disk is full.
    """
    options.check()
    scale = find_scale(options.scale, options.given_models)
    plan, planned = make_plan(experiments, options, scale)
    plan.check()
    if options.print_plan:
        print(describe(plan, planned, scale))
        return 0
    files.make_output_directory(options.output_dir, "output_dir")
    with locks.directory_lock(
        options.output_dir,
        f"--output_dir={options.output_dir}: another experiment is writing "
        "there: wait for it or stop it, or choose another directory",
    ):
        state = State(plan, scale.name)
        for note in dict.fromkeys(note for one in planned for note in one.notes):
            print(f"note: {note}", flush=True)
        at_a_time = options.jobs or (
            max(1, parallel.default_num_workers() // scale.cores) if scale.cores else 1
        )
        if options.report_only:
            there = frozenset(name for name, job in plan.jobs.items() if state.has_result(job))
            outcome = Outcome(
                there, {}, tuple(name for name in plan.jobs if name not in there), interrupted=False
            )
        else:
            what = planned[0].experiment.name if len(planned) == 1 else "all"
            outcome = run_jobs(plan, state, at_a_time, launch or launcher(scale.cores), what)
        for one in planned:
            if outcome.complete & one.jobs():
                paths = write_report(
                    measure(one, plan, outcome.complete), plan, state, scale, outcome
                )
                print(f"{one.experiment.name}: {', '.join(paths)}", flush=True)
        if options.report_only and outcome.waiting:
            print(
                f"{len(outcome.waiting)} of {len(plan.jobs)} jobs have no result: {', '.join(outcome.waiting)}",
                flush=True,
            )
        return finish(plan, outcome)


def make_plan(
    experiments: Sequence[Experiment], options: ExperimentOptions, scale: Scale
) -> tuple[Plan, list[Planned]]:
    """All jobs, and which of them measure what.

    Raises:
      UserError: there is no data for any column, or no use for a given model.
    """
    plan = Plan(options.output_dir or "results")
    sizes = {
        model.size
        for one in experiments
        for row in one.rows_at(scale.name)
        for model in (row.model, row.teacher)
        if model
    }
    if unused := sorted(set(options.given_models) - sizes):
        raise UserError(
            f"--checkpoints={unused[0]}:…: nothing here is of this size: take one of "
            f"{', '.join(sorted(sizes))}"
        )
    recipes, planned = Recipes(plan, scale, options), []
    for one in experiments:
        found, notes = available(one.columns, options)
        rows = one.rows_at(scale.name)
        results = {
            (row.name, name): tuple(recipes.results(row, column, source))
            for row in rows
            for name, (column, source) in found.items()
        }
        if len(results) < len(rows) * len(found):
            raise ValueError(f"{one.name}: two rows have the same name")
        planned.append(Planned(one, rows, found, results, tuple(notes)))
    if not any(one.columns for one in planned):
        notes = dict.fromkeys(note for one in planned for note in one.notes)
        raise UserError(f"nothing can be measured: {'; '.join(notes)}")
    return plan, [one for one in planned if one.columns]


def finish(plan: Plan, outcome: Outcome) -> int:
    """The exit status: 0, also of an interrupted plan; raises `UserError` with the first job that
    has failed."""
    if outcome.interrupted:
        print(
            f"interrupted with {len(outcome.waiting)} of {len(plan.jobs)} jobs left: run the same command again to "
            "resume",
            flush=True,
        )
        return 0
    if outcome.failed:
        name, why = next(iter(outcome.failed.items()))
        raise UserError(
            f"{len(outcome.failed)} of {len(plan.jobs)} jobs failed and {len(outcome.waiting)} wait for "
            f"them; the first, {name}: {why}; what is complete is kept, the same command tries the rest again"
        )
    return 0
