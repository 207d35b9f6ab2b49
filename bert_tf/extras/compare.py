"""Compares runs: flags, data and versions that differ, scores side by side.

  python -m bert_tf.extras.compare run_a run_b                           # prints tables
  python -m bert_tf.extras.compare runs                                  # all runs in a directory,
  as of a selection

Runs that differ in the seed only are one column: mean ± standard deviation, intervals and p-values
of the differences. docs/monitoring.md shows an example.
"""

import dataclasses
import os
import re
import string
from collections.abc import Mapping, Sequence

from bert_common import cli, files, json_files, options
from bert_common.errors import UserError
from bert_common.options import Options
from bert_tf import charts
from bert_tf.evaluation.significance import difference, holm
from bert_tf.plotting import names_of, with_runs_below
from bert_tf.runs import provenance, results
from bert_tf.runs.evaluation import EVAL_RESULTS
from bert_tf.tables import named_table, shorten, show_mean
from data_gen.tokenization.vocabulary import TOKENIZER_CONFIG_FILE
from modeling.checkpoints.companion_files import CONFIG_FILE, FLAGS_FILE, METRICS_FILE

# Of a value in a table on the console.
_LONGEST_VALUE = 60
# Neither flags of a setting nor scores of a model.
_OF_A_SEED, _NO_SCORES = ("seed", "output_dir"), {"global_step", "step", "split", "degenerate"}
# Digits of a digest that are shown.
_DIGITS = 12


@dataclasses.dataclass(frozen=True, kw_only=True)
class CompareOptions(Options):
    """Comparison."""

    sources: tuple[str, ...] = ()

    def check(self) -> None:
        super().check()
        if not self.sources:
            raise UserError(
                "nothing to compare: name two or more run directories, or one that they are in (--help explains)"
            )


@dataclasses.dataclass(frozen=True)
class ComparedRun:
    """A run: its flags, the digests of its data, versions, and the scores of its last evaluation by
    metric."""

    path: str
    name: str
    seed: int
    flags: Mapping[str, object]
    data: Mapping[str, str]
    versions: Mapping[str, str]
    scores: Mapping[str, float]


@dataclasses.dataclass(frozen=True)
class Group:
    """Runs that differ in the seed only, or one run; the letter is the head of its column."""

    letter: str
    name: str
    runs: Sequence[ComparedRun]

    def values(self, metric: str) -> dict[int, float]:
        """Seed → value, of the runs that have the metric."""
        return {run.seed: run.scores[metric] for run in self.runs if metric in run.scores}


def run(given: CompareOptions) -> None:
    """Prints the comparison; raises `UserError` see `read_groups`."""
    groups = read_groups(given.sources)
    # Title → lines and tables, whose first row is the header.
    sections: dict[str, list] = {
        "Runs": [
            [
                ["", "", "seeds", "directory"],
                *(
                    [
                        group.letter,
                        group.name,
                        ", ".join(str(run.seed) for run in group.runs),
                        ", ".join(run.path for run in group.runs),
                    ]
                    for group in groups
                ),
            ]
        ]
    }
    flags = [
        {name: value for name, value in group.runs[0].flags.items() if name not in _OF_A_SEED}
        | (
            {"seed": ", ".join(str(run.seed) for run in group.runs)}
            if "seed" in group.runs[0].flags
            else {}
        )
        for group in groups
    ]
    # What all runs have in common is left out.
    for title, values in (
        ("Flags", flags),
        ("Data and model", [group.runs[0].data for group in groups]),
        ("Versions", [group.runs[0].versions for group in groups]),
    ):
        known = [one for one in values if one]
        names = sorted({name for one in known for name in one})
        shared = [name for name in names if all(name in one for one in known)]
        rows = [
            [name, *(str(one.get(name, "-")) for one in values)]
            for name in shared
            if len({str(one[name]) for one in known}) > 1
        ]
        partly = ", ".join(name for name in names if name not in shared)
        unknown = ", ".join(
            group.letter for group, one in zip(groups, values, strict=True) if not one
        )
        sections[title] = [
            *(
                [[["", *(group.letter for group in groups)], *rows]]
                if rows
                else ["the same"]
                if len(known) > 1
                else []
            ),
            *(
                f"{what}: {one}"
                for what, one in (("not recorded", unknown), ("only some of the runs have", partly))
                if one
            ),
        ]
    sections["Scores"] = _scores(groups)
    print(
        "\n\n".join(
            "\n".join(
                [
                    title,
                    *(
                        part
                        if isinstance(part, str)
                        else named_table(
                            [[shorten(cell, _LONGEST_VALUE) for cell in row] for row in part]
                        )
                        for part in parts
                    ),
                ]
            )
            for title, parts in sections.items()
        ),
        flush=True,
    )


def read_groups(sources: Sequence[str]) -> list[Group]:
    """The runs in the sources, each a run directory or one with runs below, grouped by their flags
    without the seed.

    Groups are in the order of the first run of each; where all runs are of one group, each is one.

    Raises:
      UserError: a source is no directory, holds no run, or there are fewer than two runs in all of
        them.
    """
    for source in sources:
        if not files.is_directory(source):
            raise UserError(
                f"{source} {'is a file' if files.exists(source) else 'does not exist'}: a run directory is "
                "expected"
            )
    paths = list(
        dict.fromkeys(
            os.path.normpath(path) for source in sources for path in with_runs_below(source)
        )
    )
    for path in paths:
        if not any(
            files.exists(os.path.join(path, name))
            for name in (FLAGS_FILE, EVAL_RESULTS, METRICS_FILE)
        ):
            raise UserError(
                f"{path} is no run directory: it has neither {FLAGS_FILE} nor {EVAL_RESULTS} nor "
                f"{METRICS_FILE}"
            )
    if len(paths) < 2:
        raise UserError(f"{paths[0]} is the only run: name another one to compare it with")
    found: dict[str, list[ComparedRun]] = {}
    for number, one in enumerate(map(_read_run, paths, names_of(paths))):
        setting = {name: str(value) for name, value in one.flags.items() if name not in _OF_A_SEED}
        # Runs whose flags are unknown, or whose seed is there already, are groups of their own.
        key = results.digest([setting, one.data]) if one.flags else str(number)
        is_repeated = any(one.seed == other.seed for other in found.get(key, ()))
        found.setdefault(f"{key} {number}" if is_repeated else key, []).append(one)
    members = (
        list(found.values())
        if len(found) > 1
        else [[one] for runs in found.values() for one in runs]
    )
    groups = []
    for number, runs in enumerate(members):
        names = [run.name for run in runs]
        # Of several without their seeds.
        without = {re.sub(r"[_-]?seed[_-]?\d+", "", name) for name in names}
        common = without.pop() if len(without) == 1 else os.path.commonprefix(names).rstrip("_-/.")
        name = names[0] if len(runs) == 1 else f"{common or names[0]} ({len(runs)} seeds)"
        groups.append(
            Group(f"{string.ascii_uppercase[number % 26]}{number // 26 or ''}", name, runs)
        )
    return groups


def _read_run(path: str, name: str) -> ComparedRun:
    def read(file: str, **fields: object) -> dict:
        return json_files.read_object(os.path.join(path, file), fields)

    recorded = read(FLAGS_FILE, flags=dict | None, versions=dict | None, starts=list[dict] | None)
    # Versions differ in which of their flags are whole numbers.
    flags = {
        flag: int(value) if isinstance(value, float) and value.is_integer() else value
        for flag, value in (
            (flag, options.plain(value)) for flag, value in (recorded.get("flags") or {}).items()
        )
    }
    versions = dict(recorded.get("versions") or {})
    if starts := recorded.get("starts"):
        last = starts[-1]
        json_files.check_object(
            last, {"commit": dict | None, "versions": dict | None}, os.path.join(path, FLAGS_FILE)
        )
        commit = last.get("commit") or {}
        versions |= {
            "devices": last.get("devices"),
            "host": last.get("host"),
            **(last.get("versions") or {}),
            "commit": f"{str(commit.get('id', '-'))[:_DIGITS]}{'+' if commit.get('modified') else ''}",
        }
    data = {
        name: str(one["digest"])
        for part in provenance.read(path).values()
        for name, one in part.items()
    }
    config, vocabulary = read(CONFIG_FILE), read(TOKENIZER_CONFIG_FILE).get("vocab_sha256")
    data |= ({"model": results.digest(config)} if config else {}) | (
        {"vocabulary": str(vocabulary)} if vocabulary else {}
    )
    reports = json_files.read_objects(os.path.join(path, METRICS_FILE), {"step": int, "split": str})
    scores = (
        read(EVAL_RESULTS)
        or read(results.RESULT_FILE, metrics=dict | None).get("metrics")
        or next((line for line in reversed(reports) if line["split"] == "eval"), {})
    )
    named = {
        **{key.removeprefix("eval_"): value for key, value in scores.items()},
        **{
            f"test_{key.removeprefix('test_')}": value
            for key, value in read("test_results.json").items()
        },
    }
    seed = flags.get("seed")
    return ComparedRun(
        path,
        name,
        seed if isinstance(seed, int) else 0,
        {"script": recorded.get("script", "-"), **flags} if flags else {},
        {key: value.removeprefix("sha256:")[:_DIGITS] for key, value in data.items()},
        versions,
        {
            metric: float(value)
            for metric, value in named.items()
            if metric.removeprefix("test_") not in _NO_SCORES
            and isinstance(value, (int, float))
            and not isinstance(value, bool)
        },
    )


def _scores(groups: Sequence[Group]) -> list:
    """A table with a column for each group, and for each but the first its difference to that one;
    and what it means."""
    order = {charts.QUALITY: 0, charts.LOSS: 1}
    metrics = sorted(
        dict.fromkeys(metric for group in groups for run in group.runs for metric in run.scores),
        key=lambda metric: (metric.startswith("test_"), order.get(charts.find(metric).group, 2)),
    )
    if not metrics:
        return ["none of the runs was evaluated"]
    first, others = groups[0], groups[1:]
    found = [
        [
            difference(other.values(metric), first.values(metric))
            if other.values(metric) and first.values(metric)
            else None
            for other in others
        ]
        for metric in metrics
    ]
    corrected = iter(holm([one.p if one else None for row in found for one in row]))
    table = [
        [
            "",
            *(group.letter for group in groups),
            *(f"{other.letter} - {first.letter}" for other in others),
        ]
    ]
    for metric, row in zip(metrics, found, strict=True):
        table.append(
            [metric, *(show_mean(list(group.values(metric).values())) for group in groups)]
        )
        for one, p in zip(row, corrected, strict=False):
            interval = (
                "" if one is None or one.low is None else f" [{one.low:+.4f}, {one.high:+.4f}]"
            )
            table[-1].append(
                "-"
                if one is None
                else f"{one.mean:+.4f}{interval}{'' if p is None else f' p={p:.3f}'}"
            )
    if any(one is not None and one.p is not None for row in found for one in row):
        return [
            table,
            "mean ± standard deviation over seeds; of differences the 95% interval, and p (t-test, paired where "
            "the seeds are the same) with Holm's correction for all of them",
        ]
    if all(len(group.runs) == 1 for group in groups):
        return [
            table,
            "one seed each: how much of a difference is chance is unknown; several values of --seed show it",
        ]
    return [table]


if __name__ == "__main__":
    cli.run(CompareOptions, "bert_tf.extras.compare:run", positional="sources")
