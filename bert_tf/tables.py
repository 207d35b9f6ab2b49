"""Tables and figures for people, and the means in them."""

import contextlib
import math
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from bert_common.errors import visible


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float | None]:
    """Returns mean and sample standard deviation; the deviation of a single value is None."""
    mean = float(np.mean(values))
    if len(values) == 1:
        return mean, None
    return mean, float(np.std(values, ddof=1))


def show_mean(values: Sequence[float], decimals: int = 4) -> str:
    """Formats mean ± sample standard deviation; "-" for no values, "diverged" for any that is not
    finite."""
    if not values:
        return "-"
    if not all(math.isfinite(value) for value in values):
        return "diverged"
    mean, deviation = mean_and_deviation(values)
    if deviation is None:
        return f"{mean:.{decimals}f}"
    return f"{mean:.{decimals}f} ± {deviation:.{decimals}f}"


def columns(text: str) -> int:
    """Returns the width of a text on a terminal."""
    # Chinese characters are wide (W), and take two columns, as do full-width (F) ones.
    return len(text) + sum(unicodedata.east_asian_width(letter) in ("W", "F") for letter in text)


def pad(
    rows: Sequence[Sequence[str]], align: Callable[[str, int], str] = str.rjust
) -> list[list[str]]:
    """Pads the cells of a table to the width of their column."""
    widths = []
    for column in zip(*rows, strict=True):
        widths.append(max(columns(cell) for cell in column))
    padded = []
    for row in rows:
        cells = []
        for cell, width in zip(row, widths, strict=True):
            # `align` counts characters, some of which are two columns wide.
            cells.append(align(cell, width + len(cell) - columns(cell)))
        padded.append(cells)
    return padded


def table(rows: Sequence[Sequence[str]]) -> str:
    """Formats a table for the console, one line per row, its columns aligned on the right."""
    return "\n".join("  ".join(row).rstrip() for row in pad(rows))


def named_table(rows: Sequence[Sequence[str]]) -> str:
    """Formats a table whose rows begin with a name, aligned on the left."""
    # `table` aligns on the right, which has no effect on names of equal width.
    names = pad([row[:1] for row in rows], str.ljust)
    named_rows = []
    for name, row in zip(names, rows, strict=True):
        named_rows.append([*name, *row[1:]])
    return table(named_rows)


@contextlib.contextmanager
def new_figure(width: float, height: float, dpi: int = 100) -> Iterator:
    """Yields a `matplotlib.figure.Figure` of that many inches, which needs no display.

    Draw, save and rasterize it within the block: its settings end there.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Names may contain dollar signs, which matplotlib would take for formulas.
    with matplotlib.rc_context({"text.parse_math": False}), warnings.catch_warnings():
        # Characters that the font lacks are drawn as boxes; the warnings would fill the console.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure = Figure(figsize=(width, height), dpi=dpi, layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def shorten(text: str, longest: int) -> str:
    """Cuts the middle out of a long text."""
    text = " ".join(text.split())
    if len(text) <= longest:
        return text
    # Long names often differ only at their end, so it stays.
    half = longest // 2
    return f"{text[: half - 1]}…{text[-half:]}"


def readable_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Formats a Markdown table; texts are code, so that no markup in them is interpreted."""
    lines = [header, ["---"] * len(header)]
    for row in rows:
        lines.append([code(cell) for cell in row])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(value: object) -> str:
    """Formats a text as a code span for a Markdown table; other values stay plain."""
    # Backticks and bars would end the code and the cell.
    text = one_line(value).replace("`", "'").replace("|", "\\|")
    return f"`{text}`" if text and isinstance(value, str) else text


def one_line(value: object) -> str:
    """Returns a value as text without line breaks or other characters that a terminal obeys."""
    return visible(" ".join(str(value).split()))


def markdown_text(value: object) -> str:
    """Returns a value as one line of Markdown in which no markup is interpreted."""
    return re.sub(r"([\\`*\[\]<>|~$!#&])", r"\\\1", one_line(value))
