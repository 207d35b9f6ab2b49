"""Tables of results in the pages follow from the numbers of every run, which are kept beside them.

A comment names the file of a table: `<!-- docs/results/table5.json -->`. The files are in the format that the reports
of `experiments/` write, without the jobs.
"""

import json
import re

import pytest

from bert_tf.evaluation.significance import holm, paired_p
from bert_tf.tables import show_mean
from tests.conftest import PROJECT

_TABLE = re.compile(r"<!-- (docs/results/\w+\.json) -->\n((?:\|.*\n)+)")
_PAGES = (PROJECT / "README.md", *sorted(PROJECT.glob("docs/*.md")))
_TABLES = [(str(page.relative_to(PROJECT)), *match.groups()) for page in _PAGES
           for match in _TABLE.finditer(page.read_text("utf-8"))]


def _cells(line: str) -> list[str]:
  return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _seeds(cell: dict) -> dict[int, float]:
  return {int(seed): value for seed, value in cell["seeds"].items()}


@pytest.mark.parametrize(("page", "file", "table"), _TABLES, ids=[f"{page} {file}" for page, file, _ in _TABLES])
def test_means_and_deviations_are_those_of_the_runs(page, file, table):
  found = json.loads((PROJECT / file).read_text("utf-8"))
  header, _, *lines = map(_cells, table.splitlines())
  rows = {row["name"]: row["columns"] for row in found["rows"]}
  titles = {title: name for name, title in found["columns"].items()}
  assert [line[0] for line in lines] == list(rows)
  for name, *cells in lines:
    for title, cell in zip(header[1:], cells, strict=True):
      values = list(_seeds(rows[name][titles[title]]).values())
      assert cell.startswith(show_mean(values, found["decimals"])), (page, name, title)


@pytest.mark.parametrize(("page", "file"), sorted({(page, file) for page, file, _ in _TABLES}))
def test_p_values_are_those_of_the_runs(page, file):
  found = json.loads((PROJECT / file).read_text("utf-8"))
  rows = {row["name"]: row["columns"] for row in found["rows"]}
  pairs = [tuple(pair) for pair in found["compared"]]
  values = holm([paired_p(_seeds(rows[one][column]), _seeds(rows[other][column])) for one, other, column in pairs])
  text = (PROJECT / page).read_text("utf-8")
  for pair, value in zip(pairs, values, strict=True):
    assert f"p = {value:.2g}" in text, pair


def test_there_are_tables():
  assert _TABLES
