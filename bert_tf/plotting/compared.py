"""What `compare.py` knows of runs, and which of them are one group: those that differ in the seed only.

Input: run directories of this version and earlier ones. Output: flags, data, versions and scores of each.
"""

import dataclasses
import math
import os
import re
import string
from collections.abc import Mapping, Sequence

from bert_common import charts, files, json_files, options, run_results
from bert_common.errors import UserError
from bert_tf.plotting.picture import names_of
from bert_tf.plotting.runs import with_runs_below
from bert_tf.tasks.eval_results import EVAL_RESULTS
from data_gen.tokenization.tokenizer_config import TOKENIZER_CONFIG_FILE
from modeling.checkpoints.companion_files import CONFIG_FILE, FLAGS_FILE

# What a value is that a run has not recorded.
UNKNOWN = "-"
_TEST_RESULTS = "test_results.json"
# Not of the model: when it was evaluated, and whether it may be believed.
_NO_SCORES = {"global_step", "step", "split", "degenerate"}
# Flags that runs of one setting may differ in.
_OF_A_GROUP = ("seed", "output_dir")
# Digits of a digest that are shown.
_DIGITS = 12


@dataclasses.dataclass(frozen=True)
class ComparedRun:
  """A run.

  Attributes:
    name: short, no two alike.
    flags, data, versions: name → value.
    scores: metric → value; of the last evaluation, and of the test set as `test_<metric>`.
  """

  path: str
  name: str
  flags: Mapping[str, object]
  data: Mapping[str, str]
  versions: Mapping[str, str]
  scores: Mapping[str, float]

  @property
  def seed(self) -> int:
    seed = self.flags.get("seed")
    return int(seed) if isinstance(seed, (int, float)) and math.isfinite(seed) else 0


@dataclasses.dataclass(frozen=True)
class Group:
  """Runs that differ in the seed only, or one run.

  Attributes:
    letter: A, B, ..., for the heads of tables.
  """

  letter: str
  name: str
  runs: Sequence[ComparedRun]

  def values(self, metric: str) -> dict[int, float]:
    """Seed → value, of the runs that have the metric."""
    return {run.seed: run.scores[metric] for run in self.runs if metric in run.scores}


def read_runs(sources: Sequence[str]) -> list[ComparedRun]:
  """The runs in the sources, each a run directory or one with runs below.

  Raises:
    UserError: a source does not exist, or there are fewer than two runs in all of them.
  """
  paths = []
  for source in sources:
    if not files.is_directory(source):
      raise UserError(f"{source} {'is a file' if files.exists(source) else 'does not exist'}: a run directory is "
                      "expected")
    paths += with_runs_below(source)
  paths = list(dict.fromkeys(map(os.path.normpath, paths)))
  for path in paths:
    if not _is_run(path):
      raise UserError(f"{path} is no run directory: it has neither {FLAGS_FILE} nor {EVAL_RESULTS} nor "
                      f"{charts.METRICS_FILE}")
  if len(paths) < 2:
    raise UserError(f"{paths[0]} is the only run: name another one to compare it with")
  return [_read(path, name) for path, name in zip(paths, names_of(paths), strict=True)]


def groups_of(runs: Sequence[ComparedRun]) -> list[Group]:
  """The runs by their flags without the seed, in the order of the first of each; each alone where all are alike."""
  found: dict[str, list[ComparedRun]] = {}
  for number, run in enumerate(runs):
    setting = {name: str(value) for name, value in run.flags.items() if name not in _OF_A_GROUP}
    # Of what is unknown nothing can be said to be equal.
    key = run_results.digest([setting, run.data]) if run.flags else str(number)
    others = found.setdefault(key, [])
    if any(run.seed == other.seed for other in others):
      key = f"{key} {number}"
    found.setdefault(key, []).append(run)
  members = list(found.values()) if len(found) > 1 else [[run] for run in runs]
  return [Group(_letter(number), _group_name(one), one) for number, one in enumerate(members)]


def differing(values: Sequence[Mapping[str, object]]) -> tuple[list[list[str]], list[str]]:
  """What several mappings differ in.

  Returns:
    rows of a name and the value in each, of the names that all have; and the names that only some have.
  """
  known = [one for one in values if one]
  names = sorted({name for one in known for name in one})
  shared = [name for name in names if all(name in one for one in known)]
  rows = [[name, *(str(one.get(name, UNKNOWN)) for one in values)] for name in shared
          if len({str(one[name]) for one in known}) > 1]
  return rows, [name for name in names if name not in shared]


def common_flags(group: Group) -> dict[str, object]:
  """The flags of a group without the directory, its seeds as a list."""
  flags = {name: value for name, value in group.runs[0].flags.items() if name != "output_dir"}
  return flags | ({"seed": ", ".join(str(run.seed) for run in group.runs)} if "seed" in flags else {})


def metrics_of(groups: Sequence[Group]) -> list[str]:
  """The metrics of any group: those of quality, then losses, then those of the test set."""
  there = dict.fromkeys(name for group in groups for run in group.runs for name in run.scores)
  order = {charts.QUALITY: 0, charts.LOSS: 1}
  return sorted(there, key=lambda name: (name.startswith("test_"), order.get(charts.find(name).group, 2)))


def _is_run(path: str) -> bool:
  return any(files.exists(os.path.join(path, name)) for name in (FLAGS_FILE, EVAL_RESULTS, charts.METRICS_FILE))


def _read(path: str, name: str) -> ComparedRun:
  fields = {"flags": dict | None, "versions": dict | None, "starts": list[dict] | None}
  flags_path = os.path.join(path, FLAGS_FILE)
  found = json_files.read_object(flags_path, fields)
  flags = {flag: _whole(options.plain(value)) for flag, value in (found.get("flags") or {}).items()}
  versions = dict(found.get("versions") or {})
  if starts := found.get("starts"):
    last = starts[-1]
    json_files.check_object(last, {"commit": dict | None, "versions": dict | None}, flags_path)
    commit = last.get("commit") or {}
    versions |= {"devices": last.get("devices"), "host": last.get("host"), **(last.get("versions") or {}),
                 "commit": f"{str(commit.get('id', UNKNOWN))[:_DIGITS]}{'+' if commit.get('modified') else ''}"}
  return ComparedRun(path, name, {"script": found.get("script", UNKNOWN), **flags} if flags else {}, _data(path, flags),
                     versions, _scores(path))


def _whole(value: object) -> object:
  """3.0 as 3: versions differ in which of their flags are whole numbers."""
  return int(value) if isinstance(value, float) and value.is_integer() else value


def _data(path: str, flags: Mapping[str, object]) -> dict[str, str]:
  """Digests of the data: those that a selection has kept, else those of the named files as they are today."""
  sources = json_files.read_object(os.path.join(path, run_results.RESULT_FILE), {"sources": dict | None}
                                   ).get("sources") or {}
  found = {name: str(value) for name, value in sources.items() if name.endswith(" data")}
  for name, value in flags.items() if not found else ():
    if name.endswith("_file") and isinstance(value, str) and files.is_file(value):
      found[f"content of --{name}"] = run_results.file_digest(value)
  model = os.path.join(path, CONFIG_FILE)
  if files.exists(model):
    found["model"] = run_results.digest(json_files.read_object(model))
  vocabulary = json_files.read_object(os.path.join(path, TOKENIZER_CONFIG_FILE)).get("vocab_sha256")
  found |= {"vocabulary": str(vocabulary)} if vocabulary else {}
  return {name: value.removeprefix("sha256:")[:_DIGITS] for name, value in found.items()}


def _scores(path: str) -> dict[str, float]:
  """Of the last evaluation: its file, or what a selection has kept, or the last report."""
  found = json_files.read_object(os.path.join(path, EVAL_RESULTS))
  found = found or json_files.read_object(os.path.join(path, run_results.RESULT_FILE), {"metrics": dict | None}
                                          ).get("metrics") or {}
  if not found:
    lines = json_files.read_objects(os.path.join(path, charts.METRICS_FILE), {"step": int, "split": str})
    found = next((line for line in reversed(lines) if line["split"] == "eval"), {})
  test = json_files.read_object(os.path.join(path, _TEST_RESULTS))
  named = {**{name.removeprefix("eval_"): value for name, value in found.items()},
           **{f"test_{name.removeprefix('test_')}": value for name, value in test.items()}}
  return {name: float(value) for name, value in named.items()
          if name.removeprefix("test_") not in _NO_SCORES and isinstance(value, (int, float))
          and not isinstance(value, bool)}


def _letter(number: int) -> str:
  """A, ..., Z, A1, ..."""
  return f"{string.ascii_uppercase[number % 26]}{number // 26 or ''}"


def _group_name(runs: Sequence[ComparedRun]) -> str:
  """The name of a run, of several without their seeds."""
  if len(runs) == 1:
    return runs[0].name
  without = {re.sub(r"[_-]?seed[_-]?\d+", "", run.name) for run in runs}
  name = without.pop() if len(without) == 1 else os.path.commonprefix([run.name for run in runs]).rstrip("_-/.")
  return f"{name or runs[0].name} ({len(runs)} seeds)"
