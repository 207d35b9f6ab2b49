"""Runs experiments: plans their jobs, runs those without a result, writes a table for each.

Output: `<name>.md`, a Markdown table of means and deviations beside the paper's values, and
`<name>.json`, the value of every seed.
"""

import dataclasses
import os
import shlex
import statistics
from collections.abc import Mapping, Sequence

from bert_common import cli, files, gpus, json_files, locks, parallel
from bert_common.errors import UserError
from bert_tf.evaluation.significance import LEVEL, Difference, difference, holm
from bert_tf.tables import pad, show_mean
from bert_tf.tasks.token_classification.options import TABLE_7
from experiments.runner.experiment import (
    AVERAGE,
    COLUMNS,
    GPU,
    Experiment,
    ExperimentOptions,
    Row,
)
from experiments.runner.jobs import Job, Launch, Outcome, process_launcher, run_jobs
from experiments.runner.recipes import Recipes, find_data, row_problem
from experiments.runner.scales import find_scale

# Follows the value of a run that predicts the same for every example.
_DEGENERATE = " †"
# FLOP/s of matrix products in training, and their source. Small models reach less.
_DEVICES = {
    "one core": (4.6e10, "a server's, float32: 242 sequences/s of 64 tokens with BERT-Tiny"),
    "A100 80 GB": (1.17e14, "NVIDIA's BERT-Large in TensorFlow 2, float16: 485.6 sequences/s"),
    "H100 80 GB": (2.38e14, "this project's BERT-Base, bfloat16: 3,407 sequences/s"),
    "H200 141 GB": (2.94e14, "this project's BERT-Base, bfloat16: 4,204 sequences/s"),
    "H200, small": (7.35e13, "L4-H256, 4,864,000 sequences in 190 s, start and input included"),
    "16 TPU v2 chips": (6.9e13, "the paper, appendix A.2: BERT-Base in 4 days"),
}


@dataclasses.dataclass(frozen=True)
class PlannedExperiment:
    """An experiment with the jobs that measure it.

    Attributes:
      experiment: the table or figure.
      columns: columns whose data was found.
      results: the job of each repetition by its seed, by (row's name, column).
      notes: which columns are left out, and why.
    """

    experiment: Experiment
    columns: tuple[str, ...]
    results: Mapping[tuple[str, str], Mapping[int, Job]]
    notes: tuple[str, ...]

    def result_jobs(self) -> set[str]:
        """Returns the names of the jobs with its results."""
        names = set()
        for jobs in self.results.values():
            names.update(job.name for job in jobs.values())
        return names


def main(*experiments: Experiment) -> None:
    """Runs experiments with the flags of the command line."""
    cli.run(ExperimentOptions, lambda options: run(experiments, options))


def run(
    experiments: Sequence[Experiment],
    options: ExperimentOptions,
    launch: Launch | None = None,
) -> int:
    """Runs experiments; returns the exit status.

    Args:
      experiments: experiments; they share jobs.
      options: options of the command.
      launch: function that starts a command; None for processes.

    Raises:
      UserError: no column can be measured; the scale needs a GPU and there is none; a job has
        failed; the output directory is in use or was made with other settings; the disk is full.
    """
    options.check()
    jobs, planned = make_plan(experiments, options)
    if options.print_plan:
        print(describe(jobs, planned))
        return 0
    if options.scale == GPU and not gpus.read_driver():
        raise UserError(
            "--scale=gpu: this machine has no GPU: give --scale=laptop, or --print_plan to see the "
            "commands"
        )
    for plan in planned:
        for note in plan.notes:
            print(f"note: {note}", flush=True)
    cores = find_scale(options.scale, {}).cores
    if options.jobs is not None:
        at_a_time = options.jobs
    elif cores is not None:
        at_a_time = max(1, parallel.default_num_workers() // cores)
    else:
        # A job that uses all cores or devices must run alone.
        at_a_time = 1
    # Two processes would run the same jobs in the same directories.
    files.make_output_directory(options.output_dir, "output_dir")
    busy = (
        f"--output_dir={options.output_dir}: another experiment is writing there: wait for it or "
        "stop it, or choose another directory"
    )
    with locks.directory_lock(options.output_dir, busy):
        if launch is None:
            launch = process_launcher(cores)
        outcome = run_jobs(jobs, at_a_time, launch)
        for plan in planned:
            # A table with some results is written, too: it lists the jobs that are missing.
            if outcome.complete & plan.result_jobs():
                path = write_results(plan, options, outcome.complete)
                print(f"{plan.experiment.name}: {path}", flush=True)
    return _exit_status(len(jobs), outcome)


def _exit_status(num_jobs: int, outcome: Outcome) -> int:
    """Returns 0; raises `UserError` if a job has failed."""
    num_left = num_jobs - len(outcome.complete) - len(outcome.failed)
    if outcome.interrupted:
        print(
            f"interrupted with {num_left} of {num_jobs} jobs left; the same command resumes",
            flush=True,
        )
    elif outcome.failed:
        name, error = next(iter(outcome.failed.items()))
        raise UserError(
            f"{len(outcome.failed)} of {num_jobs} jobs failed and {num_left} wait for them; the "
            f"first, {name}: {error}; the same command tries them again"
        )
    return 0


def make_plan(
    experiments: Sequence[Experiment], options: ExperimentOptions
) -> tuple[dict[str, Job], list[PlannedExperiment]]:
    """Plans experiments.

    Returns:
      All jobs by name, each after those that it needs, and the experiments that can be measured.

    Raises:
      UserError: no column has data, or a model of --checkpoints can't be used.
    """
    recipes = Recipes(find_scale(options.scale, options.checkpoint_directories), options)
    # An experiment without any data is no error as long as another one can be measured.
    planned = []
    all_notes = []
    for experiment in experiments:
        columns = []
        notes = []
        results = {}
        for name in experiment.columns:
            # Columns of the same run, such as F1 and EM, share its job.
            column = COLUMNS[name]
            data, problem = find_data(column, options)
            if problem:
                notes.append(f"{column.title} is left out: {problem}")
                continue
            if column.kind == AVERAGE and len(columns) < experiment.columns.index(name):
                notes.append(f"{column.title} is left out: it needs all columns before it")
                continue
            columns.append(name)
            for row in experiment.rows:
                problem = row_problem(row, column, options)
                if not problem:
                    results[row.name, name] = recipes.measure(row, column, data)
                elif problem != "-" and problem not in notes:
                    notes.append(problem)
        all_notes += notes
        if results:
            planned.append(PlannedExperiment(experiment, tuple(columns), results, tuple(notes)))
    if not planned:
        raise UserError(f"nothing can be measured: {'; '.join(dict.fromkeys(all_notes))}")
    return recipes.jobs, planned


def describe(jobs: Mapping[str, Job], planned: Sequence[PlannedExperiment]) -> str:
    """Returns every command, in an order that works, and the arithmetic of pre-training."""
    lines = []
    for plan in planned:
        experiment = plan.experiment
        titles = ", ".join(COLUMNS[name].title for name in plan.columns)
        lines += [
            f"{experiment.name}: {experiment.title}",
            f"  {experiment.about}",
            f"  {len(experiment.rows)} rows × {titles}",
        ]
    # Fine-tuning is not counted: it is a sixth of table 5 at the paper's scale.
    sequences = 0
    flops = 0.0
    for job in jobs.values():
        title = f"# {job.name}"
        if job.sequences:
            title += f": {job.sequences:,} sequences, {job.flops:.2g} FLOP"
            sequences += job.sequences
            flops += job.flops
        # One flag per line; it can be pasted into a shell, or into a script for a cluster.
        script, *arguments = job.command()
        words = [f"python {script}", *(shlex.quote(argument) for argument in arguments)]
        command = " \\\n    ".join(words)
        lines += ["", title, command]
    lines += [
        "",
        f"{len(jobs)} jobs; pre-training: {sequences:,} sequences, {flops:.2g} FLOP",
        "",
        "hours of pre-training alone",
    ]
    for name, (rate, source) in _DEVICES.items():
        lines.append(f"{name:16}{flops / rate / 3600:>12,.1f}   {source}")
    return "\n".join(lines)


def write_results(
    plan: PlannedExperiment, options: ExperimentOptions, complete: frozenset[str]
) -> str:
    """Writes the table and the values of an experiment; returns the path of the table."""
    experiment = plan.experiment
    table = [["", *(COLUMNS[name].title for name in plan.columns)]]
    rows = []
    num_degenerate = 0
    for row in experiment.rows:
        paper = dict(zip(experiment.columns, row.paper, strict=False))
        cells = [row.name]
        columns: dict[str, dict] = {}
        best: list[float] = []
        for name in plan.columns:
            jobs = plan.results.get((row.name, name), {})
            values, degenerate = _read_values(row, name, jobs, complete)
            num_degenerate += degenerate
            if COLUMNS[name].kind == AVERAGE:
                values = _average([column["seeds"] for column in columns.values()])
                best.append(statistics.mean(best))
            else:
                best.append(max(values.values(), default=0.0))
            columns[name] = {"paper": paper.get(name), "seeds": values}
            shown_best = best[-1] if experiment.shows_best else None
            mark = _DEGENERATE if degenerate else ""
            cells.append(_cell(COLUMNS[name].decimals, columns[name], mark, shown_best))
        table.append(cells)
        rows.append({"name": row.name, "columns": columns})
    notes = list(plan.notes)
    if num_degenerate:
        notes.append(
            f"†: {num_degenerate} values, of runs that predict the same for every example."
        )
    notes += _compare(plan, rows)
    missing = sorted(plan.result_jobs() - complete)
    if missing:
        notes.append(f"**Not complete**: {', '.join(missing)}. The same command resumes.")
    path = os.path.join(options.output_dir, f"{experiment.name}.md")
    with files.atomic_write(path) as file:
        file.write(_markdown(experiment, options.scale, table, notes))
    # Every seed's value, for other statistics than the table's.
    values_path = os.path.join(options.output_dir, f"{experiment.name}.json")
    json_files.write(
        values_path, {"name": experiment.name, "title": experiment.title, "rows": rows}
    )
    return path


def _compare(plan: PlannedExperiment, rows: Sequence[Mapping]) -> list[str]:
    """Returns a line for each comparison of an experiment: the difference and its test."""
    columns = {row["name"]: row["columns"] for row in rows}
    changes: list[Difference | None] = []
    for comparison in plan.experiment.comparisons:
        higher = columns[comparison.higher].get(comparison.column, {}).get("seeds")
        lower = columns[comparison.lower].get(comparison.column, {}).get("seeds")
        changes.append(difference(higher, lower) if higher and lower else None)
    # Holm's correction counts comparisons that were not measured, too.
    p_values = holm([change.p if change else None for change in changes])
    lines = []
    for comparison, change, p in zip(plan.experiment.comparisons, changes, p_values, strict=True):
        title = (
            f"{comparison.higher} above {comparison.lower} in {COLUMNS[comparison.column].title}"
        )
        if change is None or p is None:
            lines.append(f"{title}: not tested")
            continue
        verdict = "beyond chance" if p < LEVEL else "may be chance"
        if change.mean < 0:
            verdict += ", and the other way round"
        lines.append(
            f"{title}: {change.mean:.2f} (95% interval {change.low:.2f} to {change.high:.2f}), p = "
            f"{p:.2g}, {verdict}: t-test over the seeds, paired where both rows have the same, "
            f"Holm's correction for the {len(p_values)} comparisons chosen before the runs"
        )
    return lines


def _read_values(
    row: Row, column_name: str, jobs: Mapping[int, Job], complete: frozenset[str]
) -> tuple[dict[int, float], int]:
    """Reads the values of a row in a column by seed, and counts values of runs that always predict
    the same.

    Seeds whose job is not complete, or has no labels to score, are left out of mean and deviation.
    """
    values = {}
    num_degenerate = 0
    for seed, job in jobs.items():
        if job.name in complete and os.path.exists(_result_file(column_name, job)):
            values[seed], is_degenerate = _read_value(row, column_name, job)
            num_degenerate += is_degenerate
    return values, num_degenerate


def _cell(decimals: int, column: Mapping, mark: str, best: float | None) -> str:
    """Formats mean ± deviation, the best of several seeds if there is one, the published value."""
    values = list(column["seeds"].values())
    parts = []
    if values or column["paper"] is None:
        parts.append(show_mean(values, decimals) + mark)
    if best is not None and len(values) > 1:
        parts.append(f"best {best:.{decimals}f}")
    if column["paper"] is not None:
        parts.append(f"({column['paper']:.{decimals}f})")
    return " ".join(parts)


def _average(columns: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Returns the mean over columns of each seed that all of them have."""
    values = {}
    for seed in columns[0]:
        if all(seed in column for column in columns):
            values[seed] = statistics.mean(column[seed] for column in columns)
    return values


def _result_file(column_name: str, job: Job) -> str:
    return job.file(COLUMNS[column_name].file or job.result)


def _read_value(row: Row, column_name: str, job: Job) -> tuple[float, bool]:
    """Reads a job's value of a row and a column, in the paper's unit.

    Returns:
      The value, and whether the run predicts the same for every example.
    """
    column = COLUMNS[column_name]
    path = _result_file(column_name, job)
    if not row.layers:
        result = json_files.read_object(path, {column.metric: float})
        return column.factor * result[column.metric], "degenerate" in result
    # One job measures all rows of table 7: its selection has a run for each choice of layers.
    metric = column.metric.removeprefix("eval_")
    choice = TABLE_7[row.layers]
    combination = {"layers": ",".join(choice.layers), "combine": choice.combine}
    # The selection script names the options that were combined, as text.
    for result in json_files.read_object(path, {"runs": list})["runs"]:
        if result["others"] == combination:
            return column.factor * result["metrics"][metric], result["degenerate"]
    raise UserError(f"{path} has no run with {combination}: remove {job.directory}")


def _markdown(experiment: Experiment, scale: str, table: list[list[str]], notes: list[str]) -> str:
    lines = [f"# {experiment.title}", "", experiment.about, ""]
    for number, cells in enumerate(pad(table, str.ljust)):
        lines.append(f"| {' | '.join(cells)} |")
        if number == 0:
            # Markdown needs a line of dashes below the heading; it is as wide as the cells.
            rules = ["-" * (len(cell) + 2) for cell in cells]
            lines.append(f"|{'|'.join(rules)}|")
    lines += [
        "",
        f"Scale {scale}: mean ± standard deviation over the seeds, on development sets unless the "
        "column says otherwise; published values in parentheses.",
        "",
    ]
    lines += [f"- {note}" for note in notes]
    return "\n".join(lines) + "\n"
