"""Tables and figures for people, and the means in them."""

import contextlib
import math
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and sample standard deviation; no deviation of a single value."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


def show_mean(values: Sequence[float], decimals: int = 4) -> str:
    """Mean ± sample standard deviation; "-" of no values, "diverged" where one is not finite."""
    if not values or not all(map(math.isfinite, values)):
        return "diverged" if values else "-"
    mean, deviation = mean_and_deviation(values)
    return (
        f"{mean:.{decimals}f}"
        if deviation is None
        else f"{mean:.{decimals}f} ± {deviation:.{decimals}f}"
    )


def columns(text: str) -> int:
    """Columns that a text takes on a terminal; Chinese characters take two."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def pad(
    rows: Sequence[Sequence[str]], align: Callable[[str, int], str] = str.rjust
) -> list[list[str]]:
    """The cells of a table, all of a column as wide as the widest."""
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    return [
        [
            align(cell, width + len(cell) - columns(cell))
            for cell, width in zip(row, widths, strict=True)
        ]
        for row in rows
    ]


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table for the console, one line per row, its columns aligned on the right."""
    return "\n".join("  ".join(row).rstrip() for row in pad(rows))


def named_table(rows: Sequence[Sequence[str]]) -> str:
    """A table whose rows begin with a name, aligned on the left."""
    names = pad([row[:1] for row in rows], str.ljust)
    return table([name + list(row[1:]) for name, row in zip(names, rows, strict=True)])


@contextlib.contextmanager
def new_figure(width: float, height: float, dpi: int = 100) -> Iterator:
    """A `matplotlib.figure.Figure` of that many inches, for files and for TensorBoard on any
    machine: it has no display.

    What is drawn, saved or made pixels of it is so in the block.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Dollar signs in names are no formulas.
    with matplotlib.rc_context({"text.parse_math": False}), warnings.catch_warnings():
        # Characters that the font lacks are drawn as boxes.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure = Figure(figsize=(width, height), dpi=dpi, layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def shorten(text: str, longest: int) -> str:
    """Cuts the middle out of a long text: long names often differ only at their end."""
    text = " ".join(text.split())
    half = longest // 2
    return text if len(text) <= longest else f"{text[: half - 1]}…{text[-half:]}"


def readable_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table that can be read as it is, too: texts are code, in which nothing means
    anything."""
    lines = [header, ["---"] * len(header), *([code(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(value: object) -> str:
    """A code span for a Markdown table; numbers and nothing as they are."""
    text = one_line(value).replace("`", "'").replace("|", "\\|")
    return f"`{text}`" if text and isinstance(value, str) else text


def one_line(value: object) -> str:
    """A value as text without line breaks."""
    return " ".join(str(value).split())
