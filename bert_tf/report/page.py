"""The page of a report: one file without scripts, images or requests."""

import os
import pathlib
from collections.abc import Mapping, Sequence

from bert_common import files
from bert_tf import charts
from bert_tf.report import pictures
from bert_tf.report.numbers import Numbers, Table
from bert_tf.report.pictures import escape

REPORT_FILE = "report.html"
# Charts come in this order; others follow.
_GROUPS = (charts.LOSS, charts.QUALITY, charts.OPTIMIZER, charts.SPEED)
_LONGEST_TEXT = 300
_STYLE_SHEET = pathlib.Path(__file__).with_name("style.css")


def write(directory: str, numbers: Numbers) -> str:
    """Writes the page into a run's directory in one step; returns its path."""
    path = os.path.join(directory, REPORT_FILE)
    with files.atomic_write(path) as file:
        file.write(render(numbers))
    return path


def render(numbers: Numbers) -> str:
    """Returns the page of one run."""
    sections = []
    if numbers.warning:
        sections.append(f'<p class="warning">{escape(numbers.warning)}</p>')
    if numbers.scores:
        sections.append(_scores(numbers))
    drawings = _curves(numbers.curves)
    if drawings:
        sections.append(f'<h2>Curves</h2><div class="pictures">{drawings}</div>')
    drawings = _answers(numbers)
    if drawings:
        sections.append(f'<h2>Predictions</h2><div class="pictures">{drawings}</div>')
    for table in numbers.tables:
        if table.rows:
            sections.append(f"<h2>{escape(table.title)}</h2>{_table(table)}")
    if numbers.notes:
        items = "".join(f"<li>{escape(note)}</li>" for note in numbers.notes)
        sections.append(f"<h2>Data</h2><ul>{items}</ul>")
    facts = [(name, value) for name, value in numbers.facts.items() if value]
    sections.append(f"<h2>Run</h2>{_table(Table('', ('', ''), facts))}")
    return _document(numbers.name, sections)


def _document(name: str, sections: Sequence[str]) -> str:
    name = escape(name)
    style = _STYLE_SHEET.read_text("utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}</title><style>{style}</style></head><body><h1>{name}</h1>"
        f"{''.join(sections)}</body></html>\n"
    )


def _scores(numbers: Numbers) -> str:
    rows = []
    for score in numbers.scores:
        interval = f"{score.low:.4f} to {score.high:.4f}"
        if score.baseline is not None:
            baseline = f"{score.baseline:.4f}"
        else:
            baseline = ""
        count = f"{score.num_examples:,}"
        rows.append((score.name, f"{score.value:.4f}", interval, baseline, count))
    header = ("score", "value", "95 % interval", "always the same answer", "examples")
    return f"<h2>Scores</h2>{_table(Table('', header, rows))}"


def _curves(curves: Mapping[str, Mapping[str, Sequence]]) -> str:
    """Returns the drawings of all metrics, group by group."""
    drawings = []
    for group in _GROUPS:
        for metric, splits in curves.items():
            chart = charts.find(metric)
            if chart.group == group and max(len(points) for points in splits.values()) > 1:
                drawings.append(pictures.lines(metric, splits, chart.unit))
    return "".join(drawings)


def _answers(numbers: Numbers) -> str:
    drawings = []
    if numbers.confusion is not None:
        confusion = numbers.confusion
        title = "True classes in rows, predicted ones in columns"
        drawings.append(pictures.matrix(title, confusion.names, confusion.matrix))
    if numbers.reliability:
        title = "Accuracy by predicted probability; larger dots are more examples"
        drawings.append(pictures.reliability(title, numbers.reliability))
    for title, series in numbers.lines.items():
        drawings.append(pictures.lines(title, series))
    return "".join(drawings)


def _table(table: Table) -> str:
    head = ""
    if any(table.header):
        cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.header)
        head = f"<thead><tr>{cells}</tr></thead>"
    body = ""
    for row in table.rows:
        body += f"<tr>{''.join(_cell(value) for value in row)}</tr>"
    return f'<div class="scroll"><table>{head}<tbody>{body}</tbody></table></div>'


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f'<td class="number">{value:.4g}</td>'
    if isinstance(value, int):
        return f'<td class="number">{value:,}</td>'
    text = str(value)
    if len(text) > _LONGEST_TEXT:
        text = text[:_LONGEST_TEXT] + "…"
    return f"<td>{escape(text)}</td>"
