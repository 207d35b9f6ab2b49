"""Figures of matplotlib in files, in TensorBoard and on any machine: no display, no formulas in texts."""

import contextlib
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def new_figure(width: float, height: float, dpi: int = 100) -> Iterator:
  """A `matplotlib.figure.Figure` of that many inches; what is drawn, saved or made pixels of it is so in the block."""
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
  return text if len(text) <= longest else f"{text[:half - 1]}…{text[-half:]}"
