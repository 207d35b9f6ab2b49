"""Compares runs: flags, data and versions that differ, scores side by side.

  # several runs
  python -m bert_tf.extras.compare run_a run_b

  # all runs in a directory, such as a sweep's
  python -m bert_tf.extras.compare runs

Runs that differ only in the seed are one column: mean ± standard deviation, intervals and p-values
of the differences. docs/monitoring.md shows an example.
"""

import dataclasses
import itertools
import os
import re
import string
from collections.abc import Mapping, Sequence

from bert_common import cli, files, json_files, options, outputs
from bert_common.errors import UserError, say
from bert_common.options import Options, option_class
from bert_tf import charts
from bert_tf.evaluation.significance import Difference, difference, holm
from bert_tf.plotting import names_of, with_runs_below
from bert_tf.report.numbers import last_evaluation
from bert_tf.report.own_results import note_of_results
from bert_tf.runs import provenance, results
from bert_tf.runs.evaluation import EVAL_RESULTS
from bert_tf.tables import named_table, shorten, show_mean
from data_gen.tokenization.settings import TOKENIZER_CONFIG_FILE
from modeling.checkpoints.companion_files import CONFIG_FILE, FLAGS_FILE, METRICS_FILE

_TEST_RESULTS = "test_results.json"
_MAX_CELL_LENGTH = 60
_DIGEST_LENGTH = 12
_UNKNOWN = "-"
# Flags that differ between repetitions of one setting.
_REPETITION_FLAGS = ("seed", "output_dir")
# Entries of the files of scores that measure no quality.
_NO_SCORES = ("global_step", "step", "split", "degenerate")


@option_class
class CompareOptions(Options):
    """Comparison."""

    sources: tuple[str, ...] = ()

    def check(self) -> None:
        super().check()
        outputs.check_standard_output("the comparison")
        if not self.sources:
            raise UserError(
                "nothing to compare: name two or more run directories, or one that they are in "
                "(--help explains)"
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ComparedRun:
    """A run to compare.

    Attributes:
      data: name of a file, the model or the vocabulary → digest.
      versions: package → version; devices, host and commit of the last start.
      scores: metric → value in the last evaluation.
    """

    path: str
    name: str
    seed: int
    flags: Mapping[str, object]
    data: Mapping[str, str]
    versions: Mapping[str, object]
    scores: Mapping[str, float]


@dataclasses.dataclass(frozen=True)
class Group:
    """Runs that differ only in the seed; the letter is the header of their column."""

    letter: str
    name: str
    runs: Sequence[ComparedRun]

    @property
    def seeds(self) -> str:
        """The seeds of all runs."""
        return ", ".join(str(run.seed) for run in self.runs)

    @property
    def flags(self) -> dict[str, object]:
        """The flags of all runs, with all seeds in place of one."""
        flags = dict(self.runs[0].flags)
        flags.pop("output_dir", None)
        if "seed" in flags:
            flags["seed"] = self.seeds
        return flags

    @property
    def data(self) -> Mapping[str, str]:
        """The digests of all runs."""
        return self.runs[0].data

    @property
    def versions(self) -> Mapping[str, object]:
        """The versions of the first run; the others' may differ."""
        return self.runs[0].versions

    def values(self, metric: str) -> dict[int, float]:
        """Returns seed → value for the runs that have the metric."""
        return {run.seed: run.scores[metric] for run in self.runs if metric in run.scores}


def run(compare_options: CompareOptions) -> None:
    """Prints the comparison; raises `UserError`, see `read_groups`."""
    groups = read_groups(compare_options.sources)
    rows = [["", "", "seeds", "directory"]]
    for group in groups:
        directories = ", ".join(run.path for run in group.runs)
        rows.append([group.letter, group.name, group.seeds, directories])
    sections = [
        f"Runs\n{_table(rows)}",
        _differences("Flags", groups, "flags"),
        _differences("Data and model", groups, "data"),
        _differences("Versions", groups, "versions"),
        _scores(groups),
    ]
    say("\n\n".join(sections))


def read_groups(sources: Sequence[str]) -> list[Group]:
    """Reads runs and groups them by their flags without the seed, in the order of their first run.

    If all runs are of one group, each is a group of its own.

    Args:
      sources: run directories, or directories with runs below.

    Raises:
      UserError: a source is no directory, holds no run, or there are fewer than two runs in all of
        them.
    """
    paths: list[str] = []
    for source in sources:
        if not files.is_directory(source):
            problem = "is a file" if files.exists(source) else "does not exist"
            raise UserError(f"{source} {problem}: a run directory is expected")
        paths += [os.path.normpath(path) for path in with_runs_below(source)]
    # A run may be named twice, by itself and by the directory it is in; the order of the command
    # line stays.
    paths = list(dict.fromkeys(paths))
    if len(paths) < 2:
        # A directory without a run is named as such.
        _read_run(paths[0], paths[0])
        raise UserError(f"{paths[0]} is the only run: name another one to compare it with")
    members: dict[str, list[ComparedRun]] = {}
    for path, name in zip(paths, names_of(paths), strict=True):
        run = _read_run(path, name)
        setting_key = _setting_key(run)
        # A second run with the same seed is no repetition.
        is_second = any(run.seed == other.seed for other in members.get(setting_key, ()))
        members.setdefault(path if is_second else setting_key, []).append(run)
    if len(members) == 1:
        # Who names repetitions of one setting wants to see them side by side.
        (repetitions,) = members.values()
        runs_of_groups = [[run] for run in repetitions]
    else:
        runs_of_groups = list(members.values())
    groups = []
    for number, runs in enumerate(runs_of_groups):
        name = runs[0].name
        if len(runs) > 1:
            # Sweeps name their runs "<setting>_seed<number>".
            setting = re.sub(r"[_-]?seed[_-]?\d+", "", name)
            name = f"{setting or name} ({len(runs)} seeds)"
        round_number, letter = divmod(number, 26)
        letters = string.ascii_uppercase[letter]
        if round_number:
            letters += str(round_number)
        groups.append(Group(letters, name, runs))
    return groups


def _setting_key(run: ComparedRun) -> str:
    """Returns a key that repetitions of a run share."""
    if not run.flags:
        return run.path
    # Values are compared as text, as earlier versions wrote lists of text.
    setting = {name: str(value) for name, value in run.flags.items()}
    setting.update(dict.fromkeys(_REPETITION_FLAGS, ""))
    return results.digest([setting, run.data])


def _read_run(path: str, name: str) -> ComparedRun:
    """Reads a run directory, also of an earlier version; raises `UserError` for any other."""
    if not {FLAGS_FILE, EVAL_RESULTS, METRICS_FILE} & set(files.list_directory(path)):
        raise UserError(
            f"{path} is no run directory: it has neither {FLAGS_FILE} nor {EVAL_RESULTS} nor "
            f"{METRICS_FILE}"
        )
    recorded = json_files.read_object(
        os.path.join(path, FLAGS_FILE),
        {"flags": dict | None, "versions": dict | None, "starts": list[dict] | None},
    )
    flags: dict[str, object] = {}
    if recorded.get("flags"):
        # Runs of different scripts differ in more than their flags.
        flags["script"] = recorded.get("script", "-")
        for flag, value in recorded["flags"].items():
            value = options.plain(value)
            # Earlier versions wrote some integers as floats.
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            flags[flag] = value
    seed = flags.get("seed")
    return ComparedRun(
        path=path,
        name=name,
        seed=seed if isinstance(seed, int) else 0,
        flags=flags,
        data=_read_data(path),
        versions=_read_versions(path, recorded),
        scores=_read_scores(path),
    )


def _read_data(path: str) -> dict[str, str]:
    """Reads the digests of data, model and vocabulary of a run."""
    # The files of these names may have changed since, so their recorded digests count.
    digests = {}
    inputs = provenance.read(path)
    for name, facts in {**inputs["made_from"], **inputs["evaluated_on"]}.items():
        digests[name] = str(facts["digest"])
    config = json_files.read_object(os.path.join(path, CONFIG_FILE))
    if config:
        digests["model"] = results.digest(config)
    tokenizer_config = json_files.read_object(os.path.join(path, TOKENIZER_CONFIG_FILE))
    if "vocab_sha256" in tokenizer_config:
        digests["vocabulary"] = str(tokenizer_config["vocab_sha256"])
    for name, digest in digests.items():
        digests[name] = digest.removeprefix("sha256:")[:_DIGEST_LENGTH]
    return digests


def _read_versions(path: str, recorded: Mapping) -> dict[str, object]:
    """Returns the versions, devices, host and commit of the last start in flags.json."""
    versions = dict(json_files.object_in(recorded, "versions"))
    if recorded.get("starts"):
        start = recorded["starts"][-1]
        fields = {"commit": dict | None, "versions": dict | None}
        json_files.check_object(start, fields, os.path.join(path, FLAGS_FILE))
        versions["devices"] = start.get("devices")
        versions["host"] = start.get("host")
        versions.update(json_files.object_in(start, "versions"))
        commit = json_files.object_in(start, "commit")
        # A commit is no version where the files were modified, which the "+" shows.
        versions["commit"] = str(commit.get("id", "-"))[:_DIGEST_LENGTH]
        if commit.get("modified"):
            versions["commit"] += "+"
    return versions


def _read_scores(path: str) -> dict[str, float]:
    """Returns metric → score of a run; scores of the test set begin with "test_".

    Only some tasks have scores of a test set.
    """
    test = {}
    if note_of_results(path, _TEST_RESULTS) is not None:
        test = json_files.read_object(os.path.join(path, _TEST_RESULTS))
    scores = {}
    for prefix, metrics in (("", last_evaluation(path)), ("test_", test)):
        for name, value in metrics.items():
            # The original writes "eval_accuracy", and files of test sets may have either prefix.
            metric = name.removeprefix("eval_").removeprefix(prefix)
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if is_number and metric not in _NO_SCORES:
                scores[prefix + metric] = float(value)
    return scores


def _differences(title: str, groups: Sequence[Group], attribute: str) -> str:
    """Formats a section with the entries of an attribute that differ between the groups."""
    values = [getattr(group, attribute) for group in groups]
    # Earlier versions recorded less: entries of a run without any are unknown, not different.
    recorded = [entries for entries in values if entries]
    rows = []
    partial = []
    for name in sorted(set().union(*recorded)):
        cells = [str(entries.get(name, _UNKNOWN)) for entries in values]
        if cells.count(_UNKNOWN) > len(values) - len(recorded):
            partial.append(name)
        elif len(set(cells) - {_UNKNOWN}) > 1:
            rows.append([name, *cells])
    lines = [title]
    if rows:
        lines.append(_table([["", *_letters(groups)], *rows]))
    elif len(recorded) > 1:
        lines.append("the same")
    else:
        lines.append("not recorded")
    if partial:
        lines.append(f"only some of the runs have: {', '.join(partial)}")
    return "\n".join(lines)


def _scores(groups: Sequence[Group]) -> str:
    """Formats the section with a column of scores for each group, and of differences to the first
    one for each other group."""
    metrics: dict[str, None] = {}
    for group in groups:
        for run in group.runs:
            metrics.update(dict.fromkeys(run.scores))
    if not metrics:
        return "Scores\nnone of the runs was evaluated"
    letters = _letters(groups)
    rows = [["", *letters, *(f"{letter} - {letters[0]}" for letter in letters[1:])]]
    differences: list[Difference | None] = []
    for metric in sorted(metrics, key=_metric_order):
        row = [metric]
        first_values = groups[0].values(metric)
        for group in groups:
            values = group.values(metric)
            row.append(show_mean(list(values.values())))
            if group is not groups[0]:
                is_known = bool(values) and bool(first_values)
                differences.append(difference(values, first_values) if is_known else None)
        rows.append(row)
    # Holm's correction is for all differences of the table, so their cells are filled afterwards.
    p_values = holm([change.p if change else None for change in differences])
    pairs = zip(differences, p_values, strict=True)
    cells = (_show_difference(change, p_value) for change, p_value in pairs)
    for row in rows[1:]:
        row += itertools.islice(cells, len(groups) - 1)
    lines = ["Scores", _table(rows)]
    if set(p_values) != {None}:
        lines.append(
            "mean ± standard deviation over seeds; of differences the 95% interval, and p (t-test, "
            "paired where the seeds are the same) with Holm's correction for all of them"
        )
    elif max(len(group.runs) for group in groups) == 1:
        lines.append(
            "one seed each: how much of a difference is chance is unknown; several values of "
            "--seed show it"
        )
    return "\n".join(lines)


def _metric_order(metric: str) -> tuple[bool, int]:
    """Sorts quality before losses and other metrics, and metrics of the test set last."""
    order = {charts.QUALITY: 0, charts.LOSS: 1}
    return metric.startswith("test_"), order.get(charts.find(metric).group, 2)


def _show_difference(change: Difference | None, p: float | None) -> str:
    """Formats a difference, e.g. "+0.1100 [+0.0200, +0.2000] p=0.030"."""
    if change is None:
        return _UNKNOWN
    parts = [f"{change.mean:+.4f}"]
    if change.low is not None:
        parts.append(f"[{change.low:+.4f}, {change.high:+.4f}]")
    if p is not None:
        parts.append(f"p={p:.3f}")
    return " ".join(parts)


def _letters(groups: Sequence[Group]) -> list[str]:
    return [group.letter for group in groups]


def _table(rows: Sequence[Sequence[str]]) -> str:
    shortened = []
    for row in rows:
        shortened.append([shorten(cell, _MAX_CELL_LENGTH) for cell in row])
    return named_table(shortened)


if __name__ == "__main__":
    cli.run(CompareOptions, "bert_tf.extras.compare:run", positional="sources")
