"""Drawings of a report in SVG, made of rectangles, lines and texts.

Colors are classes of the page's style sheet, so that they follow light, dark and printed pages.
Every drawing has a title, which screen readers read.
"""

import html
import math
from collections.abc import Mapping, Sequence

import numpy as np

from bert_common.errors import visible

_WIDTH = 340
_HEIGHT = 200
# Edges of the area of a chart.
_LEFT = 52
_RIGHT = _WIDTH - 10
_TOP = 12
_BOTTOM = _HEIGHT - 28
# More points than pixels are drawn as means of neighbors.
_MOST_POINTS = 300
# A line of few points gets dots.
_FEW_POINTS = 30
_NUM_COLORS = 4
_MOST_CLASSES = 20


def escape(text: object) -> str:
    """Returns a text of a user as HTML shows it: no markup, no control characters."""
    return html.escape(visible(str(text)))


class _Axis:
    """Maps values to places between two edges."""

    def __init__(self, low: float, high: float, first: float, last: float):
        # A single value stands in the middle.
        margin = 0.5 if low == high else 0.0
        self._low = float(low) - margin
        self._high = float(high) + margin
        self._first = first
        self._last = last

    def place(self, value: float) -> float:
        share = (value - self._low) / (self._high - self._low)
        return round(float(self._first + share * (self._last - self._first)), 1)

    def ticks(self) -> list[float]:
        """Returns some round values in the range."""
        extent = self._high - self._low
        step = 10.0 ** math.floor(math.log10(extent))
        for factor in (0.2, 0.5):
            if extent / (step * factor) <= 6:
                step *= factor
                break
        first = math.ceil(self._low / step)
        last = math.floor(self._high / step)
        return [round(number * step, 12) for number in range(first, last + 1)]


def lines(title: str, series: Mapping[str, Sequence[tuple[float, float]]], unit: str = "") -> str:
    """Returns a chart of named lines through points (x, y).

    Numbers that are not finite are left out; "" if nothing is left.
    """
    finite = {}
    for name, points in series.items():
        array = np.array(points, np.float64).reshape(-1, 2)
        array = array[np.isfinite(array).all(axis=1)]
        if len(array):
            finite[name] = _thinned(array)
    if not finite:
        return ""
    xs, ys = np.concatenate(list(finite.values())).T
    x_axis = _Axis(xs.min(), xs.max(), _LEFT, _RIGHT)
    y_axis = _Axis(ys.min(), ys.max(), _BOTTOM, _TOP)
    parts = []
    for value in y_axis.ticks():
        y = y_axis.place(value)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(_label(f"{value:.4g}", _LEFT - 4, y + 4, "end"))
    for value in x_axis.ticks():
        parts.append(_label(f"{value:.4g}", x_axis.place(value), _HEIGHT - 10))
    for number, (name, points) in enumerate(finite.items()):
        color = number % _NUM_COLORS
        line = ""
        for x, y in points:
            place = (x_axis.place(x), y_axis.place(y))
            line += f"{place[0]},{place[1]} "
            if len(points) < _FEW_POINTS:
                parts.append(_dot(*place, 2.5, color))
        parts.append(f'<polyline class="line{color}" points="{line}"/>')
        parts.append(_label(name, _LEFT + 6 + 90 * number, _TOP, "start", f"name{color}"))
    if unit:
        title += f" ({unit})"
    return _figure(title, parts, _WIDTH, _HEIGHT)


def _thinned(points: np.ndarray) -> np.ndarray:
    """Returns at most as many points [N, 2] as can be seen."""
    if len(points) <= _MOST_POINTS:
        return points
    return np.array([part.mean(axis=0) for part in np.array_split(points, _MOST_POINTS)])


def matrix(title: str, names: Sequence[str], counts: np.ndarray) -> str:
    """Returns a confusion matrix int [C, C], with darker cells for larger shares of a row."""
    if len(names) > _MOST_CLASSES:
        frequent = np.argsort(-counts.sum(axis=1), kind="stable")[:_MOST_CLASSES]
        rows = np.sort(frequent)
        names = [names[index] for index in rows]
        counts = counts[np.ix_(rows, rows)]
        title += f", the {_MOST_CLASSES} most frequent classes"
    size = min(max(300 // len(names), 22), 60)
    left = 90
    top = 20
    side = len(names) * size
    parts = [_label("predicted →", left, 12, "start")]
    for row, name in enumerate(names):
        y = top + row * size
        parts.append(_label(_short(name, 12), left - 4, y + size / 2 + 4, "end"))
        x = left + row * size + size / 2
        parts.append(_label(_short(name, size // 7), x, top + side + 14))
        total = max(int(counts[row].sum()), 1)
        for column, count in enumerate(counts[row].tolist()):
            kind = "right" if row == column else "wrong"
            parts.append(_cell(left + column * size, y, size, count, count / total, kind))
    return _figure(title, parts, left + side + 10, top + side + 20)


def _cell(x: float, y: float, size: int, count: int, share: float, kind: str) -> str:
    """Returns a cell of a matrix; a dark one has a light number."""
    rectangle = (
        f'<rect class="{kind}" x="{x}" y="{y}" width="{size - 1}" height="{size - 1}" '
        f'fill-opacity="{0.06 + 0.94 * share:.2f}"/>'
    )
    tone = "light" if share > 0.5 else "dark"
    return rectangle + _label(f"{count:,}", x + size / 2, y + size / 2 + 4, "middle", tone)


def reliability(title: str, bins: Sequence) -> str:
    """Returns accuracy by predicted probability; on the diagonal probabilities are true."""
    x_axis = _Axis(0, 1, _LEFT, _LEFT + 160)
    y_axis = _Axis(0, 1, _BOTTOM, _TOP)
    start = f'x1="{x_axis.place(0)}" y1="{y_axis.place(0)}"'
    end = f'x2="{x_axis.place(1)}" y2="{y_axis.place(1)}"'
    parts = [f'<line class="grid" {start} {end}/>']
    for value in (0, 0.5, 1):
        parts.append(_label(f"{value}", _LEFT - 4, y_axis.place(value) + 4, "end"))
        parts.append(_label(f"{value}", x_axis.place(value), _HEIGHT - 10))
    largest = max(group.count for group in bins)
    for group in bins:
        radius = 3 + 6 * math.sqrt(group.count / largest)
        parts.append(_dot(x_axis.place(group.probability), y_axis.place(group.accuracy), radius, 0))
    return _figure(title, parts, _LEFT + 180, _HEIGHT)


def _label(text: str, x: float, y: float, anchor: str = "middle", kind: str = "") -> str:
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def _dot(x: float, y: float, radius: float, color: int) -> str:
    return f'<circle class="dot{color}" cx="{x}" cy="{y}" r="{radius:.1f}"/>'


def _short(name: str, longest: int) -> str:
    longest = max(longest, 3)
    if len(name) > longest:
        return name[: longest - 1] + "…"
    return name


def _figure(title: str, parts: Sequence[str], width: float, height: float) -> str:
    title = escape(title)
    return (
        f'<figure><figcaption>{title}</figcaption><svg viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{title}" style="max-width:{width}px"><title>{title}</title>{"".join(parts)}'
        "</svg></figure>"
    )
